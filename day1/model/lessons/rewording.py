"""Whether one lesson says the same as another in other words, and may replace it. Pure.

Vectors alone do not tell: "PostgreSQL over MySQL" and "MySQL over PostgreSQL" have a cosine of
nearly 1, as "waits 30 s" and "waits 60 s" have. So words decide too, and they are strict: a lesson
that is stored twice can be consolidated later, one that was overwritten is missed.
"""

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Final

from day1.model.lessons.experience import Experience
from day1.model.search.grouping import at_odds

ALIKE: Final = 0.95
"""The cosine above which each part of two lessons must be."""

_WORD = re.compile(r"[^\W_]+(?:[-._/:@+'\u2019][^\W_]+)*")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SILENT: Final = _set(
    "a an the is are was were be been being am has have had that which so very just"
)
"""Words that a wording may add or drop; not so "on", "before" and "from"."""
_TURNING: Final = _set(
    """
    against avoid avoided cannot despite disable disabled except fail failed fails instead lacks
    least less more neither never no none nor not only rather revert reverted stop stopped unless
    until without wrong
    """
)
"""Words whose insertion reverses or narrows the meaning."""
_ENDINGS: Final = frozenset({"", "e", "s", "es", "d", "ed", "ing", "ly"})
_Y_ENDINGS: Final = frozenset({"y", "ies", "ied", "ying"})
_SHORTEST: Final = 4
"""The number of first letters that two forms of a word must share."""


def same_in_words(one: Experience, other: Experience) -> bool:
    """Whether each part differs by insertions or inflection only, and nothing contradicts.

    All insertions are on one side: a lesson with a word more in its context and one with a word
    more in its result are two.
    """
    if at_odds(one.text, other.text):
        return False
    word_lists_of_parts = [
        (_words(one_part), _words(other_part))
        for one_part, other_part in zip(one.parts, other.parts, strict=True)
    ]
    return all(
        _within(one_part, other_part) for one_part, other_part in word_lists_of_parts
    ) or all(_within(other_part, one_part) for one_part, other_part in word_lists_of_parts)


def same_text_in_words(one: str, other: str) -> bool:
    """Whether two texts differ by insertions or inflection only, and nothing contradicts."""
    return same_in_words(Experience(one, "", ""), Experience(other, "", ""))


def rewording_of(text: str) -> Callable[[str], bool]:
    """Build the test whether another text says the same as this one (`same_text_in_words`).

    Nearly all texts lack the beginnings of too many words, and are not compared word by word: of
    the words of one text at least two thirds stand in the other.
    """
    word_beginnings = [word[:_SHORTEST] for word in _words(text)]

    def same(other: str) -> bool:
        folded_text = other.casefold().replace("\u2019", "'")
        shared_count = sum(word_beginning in folded_text for word_beginning in word_beginnings)
        return 3 * shared_count >= 2 * len(word_beginnings) and same_text_in_words(text, other)

    return same


def _words(text: str) -> list[str]:
    """Return the words that carry meaning, in order, in lower case."""
    words = (word.casefold().replace("\u2019", "'") for word in _WORD.findall(text))
    return [word for word in words if word not in _SILENT]


def _within(fewer: Sequence[str], more: Sequence[str]) -> bool:
    """Whether `more` is `fewer`, perhaps inflected, with few and harmless words inserted.

    At most one word is inserted for two of `fewer`, and none that turns the meaning or has a digit.
    """
    fewer_index, inserted_words = 0, []
    for word in more:
        if fewer_index < len(fewer) and _one_word(fewer[fewer_index], word):
            fewer_index += 1
        else:
            inserted_words.append(word)
    if fewer_index < len(fewer) or len(inserted_words) * 2 > len(fewer):
        return False
    return not any(
        word in _TURNING or any(character.isdigit() for character in word)
        for word in inserted_words
    )


def _one_word(one: str, other: str) -> bool:
    """Whether two words are forms of one word."""
    if one == other:
        return True
    shared_length = 0
    for one_letter, other_letter in zip_longest(one, other):
        if one_letter != other_letter:
            break
        shared_length += 1
    if shared_length < _SHORTEST or not (one.isalpha() and other.isalpha()):
        return False
    endings = {one[shared_length:], other[shared_length:]}  # "cach" of "cache" and "caching"
    return endings <= _ENDINGS or endings <= _Y_ENDINGS  # "retr" of "retry" and "retries"
