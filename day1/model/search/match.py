"""What texts are looked up by: words, phrases, and combinations of them.

Each index says a match in its own query language (`adapters.index.words` in that of FTS5), so a
word of a match is never an operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Match:
    """A condition on the words of a text: a phrase, or all or any of several conditions."""

    how: Literal["phrase", "all", "any"]
    words: str = ""
    """Of a phrase: one or more words, parted by spaces, which follow one another."""
    parts: tuple[Match, ...] = ()
    """Of `all` and `any`: two or more conditions."""


def phrase(words: str) -> Match:
    """Match texts in which these words follow one another."""
    return Match("phrase", words)


def all_of(*parts: Match | str) -> Match:
    """Match texts that meet every condition; a string is a phrase."""
    return _joined("all", parts)


def any_of(*parts: Match | str) -> Match:
    """Match texts that meet at least one condition; a string is a phrase."""
    return _joined("any", parts)


def _joined(how: Literal["all", "any"], parts: tuple[Match | str, ...]) -> Match:
    conditions = tuple(phrase(one) if isinstance(one, str) else one for one in parts)
    return conditions[0] if len(conditions) == 1 else Match(how, parts=conditions)
