"""What is usual in the memories of a state: words, names, and whether their order tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from day1.model.search.wording import Usual, likeness_by_words, subject, usual

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.index import Index, TextId
    from day1.services.search.live_query import LiveQuery
    from day1.services.search.views import CachedView, ViewKey

_SAMPLE = 400
"""Texts, and pairs of texts, by which a state is judged; a share of a quarter is known to 2 %."""
_STATES_JUDGED = 400
"""Of so many states it is remembered what is usual there; then all are forgotten."""
_FEWEST_PAIRS = 50
_MORE_ALIKE = 0.04
"""So much more alike than any two are consecutive memories where their order means something.

It is .05 to .21 in memories as they were written, and below .03 when the same are shuffled: there,
to count the words of neighbours costs 2 to 3 points of recall.
"""
_MORE_WORDS_SHARED = 0.0125
"""The same by words, which decide until enough have vectors: .017 to .085, and below .01."""


class UsualCache:
    """What is usual in the states that a process searched; threads may share it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[ViewKey, tuple[int, Usual, bool]] = {}
        """By state: the number of rows, what is usual, and whether vectors judged the order."""

    def at(
        self, state: ViewKey, visible: CachedView | LiveQuery, index: Index, embedder: Embedder
    ) -> Usual:
        """What is usual in the visible memories, judged by a sample.

        Another sample is taken when there are a tenth more or fewer rows than then.
        """
        key, rows = (*state, *visible.key), len(visible)
        known = self._known.get(key)
        if known is not None and abs(known[0] - rows) * 10 <= known[0]:
            rows, found, sure = known
            if sure:
                return found
        else:
            if len(self._known) > _STATES_JUDGED:
                self._known.clear()
            texts = index.words.texts(visible.kind, visible.sample(_SAMPLE))
            found, sure, known = usual(list(texts.values())), False, None
        pairs = visible.beside(_SAMPLE)
        contents = index.words.texts(visible.kind, [text for pair in pairs for text in pair])
        pairs = [pair for pair in pairs if contents.keys() >= set(pair)]
        apart = _apart(
            pairs, {n: s for n, t in contents.items() if (s := subject(t)) in found.names}
        )
        near, far = (index.vectors.likeness(embedder, some) for some in (pairs, apart))
        if min(len(near), len(far)) >= _FEWEST_PAIRS:
            found, sure = replace(found, ordered=fmean(near) - fmean(far) > _MORE_ALIKE), True
        elif known is None:
            found = replace(found, ordered=_share_words(pairs, apart, contents, found.names))
            sure = len(pairs) < _FEWEST_PAIRS
        self._known[key] = rows, found, sure
        return found


def _apart(
    pairs: Sequence[tuple[TextId, TextId]], named: Mapping[TextId, str | None]
) -> list[tuple[TextId, TextId]]:
    """As many pairs of any two: a memory and the follower of another.

    That one opens with the same name as its own follower: where two speakers take turns, two
    memories of one of them are alike by her name.
    """
    followers: dict[str | None, list[TextId]] = {}
    for _, second in pairs:
        followers.setdefault(named.get(second), []).append(second)
    half_apart = {name: chain(some[len(some) // 2 :], some) for name, some in followers.items()}
    return [(first, next(half_apart[named.get(second)])) for first, second in pairs]


def _share_words(
    pairs: Sequence[tuple[TextId, TextId]],
    apart: Sequence[tuple[TextId, TextId]],
    contents: Mapping[TextId, str],
    names: frozenset[str],
) -> bool:
    """Whether consecutive memories share more words than any two."""
    if len(pairs) < _FEWEST_PAIRS:
        return False
    told = [(contents[one], contents[other]) for one, other in chain(pairs, apart)]
    alike = likeness_by_words(told, names)
    return fmean(alike[: len(pairs)]) - fmean(alike[len(pairs) :]) > _MORE_WORDS_SHARED
