"""Compare two memories by their words, for rows without vectors. Pure.

Numbers and denials are left out: texts that differ only in these are about the same, and
`grouping.at_odds` tells that they contradict each other.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from day1.model.search.grouping import pairs_in_common
from day1.model.search.wording import content_words

_MAX_CACHED = 1_000
"""Texts of up to so many characters are compared often, and their words are cached."""
_LEFT_OUT = re.compile(r"\d.*|cannot|never|none|without")


def said_words(text: str) -> frozenset[str]:
    """Return the content words of a text, without numbers and denials, for comparisons."""
    return _said_words(text) if len(text) <= _MAX_CACHED else _said_words.__wrapped__(text)


@lru_cache(4_000)
def _said_words(text: str) -> frozenset[str]:
    return frozenset(word for word in content_words(text) if not _LEFT_OUT.fullmatch(word))


def alike_in_words(words_by_id: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
    """List the pairs of texts, by id, that have most of their words in common."""
    return [(one_id, other_id) for one_id, other_id, _ in pairs_in_common(words_by_id)]
