"""Compare two memories by their words, for rows without vectors. Pure.

Numbers and denials are left out: texts that differ only in these are about the same, and
`grouping.at_odds` tells that they contradict each other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil

from day1.model.search.grouping import ALIKE_WORDS
from day1.model.search.wording import content_words

_LEFT_OUT = re.compile(r"\d.*|cannot|never|none|without")


def said_words(text: str) -> frozenset[str]:
    """Return the content words of a text, without numbers and denials, for comparisons."""
    return frozenset(word for word in content_words(text) if not _LEFT_OUT.fullmatch(word))


def shared_words(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of words, 0 to 1."""
    return len(one & other) / len(one | other) if one and other else 0.0


def alike_in_words(words: Mapping[str, frozenset[str]]) -> Iterable[tuple[str, str]]:
    """List the pairs of texts, by id, that have most of their words in common.

    Only texts that share one of their rarest words are compared: texts that have most words in
    common share at least one of these.
    """
    frequency = Counter(word for own in words.values() for word in own)
    ids_by_word: dict[str, list[str]] = {}
    for row_id, own in words.items():
        rarest = sorted(own, key=lambda word: (frequency[word], word))
        rarest = rarest[: len(own) - ceil(ALIKE_WORDS * len(own)) + 1]
        near = dict.fromkeys(other for word in rarest for other in ids_by_word.get(word, ()))
        for other in near:
            if shared_words(own, words[other]) >= ALIKE_WORDS:
                yield other, row_id
        for word in rarest:
            ids_by_word.setdefault(word, []).append(row_id)
