"""Compare two memories by their words, for rows without vectors. Pure.

Numbers and denials are left out: texts that differ only in these are about the same, and
`grouping.at_odds` tells that they contradict each other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import ceil

from day1.model.search.grouping import ALIKE_WORDS
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


def shared_words(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of words, 0 to 1."""
    in_both = len(one & other)
    return in_both / (len(one) + len(other) - in_both) if in_both else 0.0


def alike_in_words(words_by_id: Mapping[str, frozenset[str]]) -> Iterable[tuple[str, str]]:
    """List the pairs of texts, by id, that have most of their words in common.

    Only texts that share one of their rarest words are compared: texts that have most words in
    common share at least one of these.
    """
    frequency = Counter(word for row_words in words_by_id.values() for word in row_words)
    by_rarity = sorted(frequency, key=lambda word: (frequency[word], word))
    rarity = {word: place for place, word in enumerate(by_rarity)}
    ids_by_word: dict[str, list[str]] = {}
    for row_id, row_words in words_by_id.items():
        rarest = sorted(row_words, key=rarity.__getitem__)
        rarest = rarest[: len(row_words) - ceil(ALIKE_WORDS * len(row_words)) + 1]
        other_ids = dict.fromkeys(other for word in rarest for other in ids_by_word.get(word, ()))
        for other in other_ids:
            if shared_words(row_words, words_by_id[other]) >= ALIKE_WORDS:
                yield other, row_id
        for word in rarest:
            ids_by_word.setdefault(word, []).append(row_id)
