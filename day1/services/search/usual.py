"""What is usual in the memories of a state: words, names, and whether their order tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from day1.model.search.wording import Usual, subject, usual

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


class UsualCache:
    """What is usual in the states that a process searched; threads may share it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[ViewKey, tuple[int, Usual]] = {}

    def at(
        self, state: ViewKey, visible: CachedView | LiveQuery, index: Index, embedder: Embedder
    ) -> Usual:
        """What is usual in the visible memories, judged by a sample.

        Another sample is taken when there are a tenth more or fewer rows than then.
        """
        key, rows = (*state, *visible.key), len(visible)
        known = self._known.get(key)
        if known is None or abs(known[0] - rows) * 10 > known[0]:
            if len(self._known) > _STATES_JUDGED:
                self._known.clear()
            texts = index.words.texts(visible.kind, visible.sample(_SAMPLE))
            known = rows, usual(list(texts.values()))
        if known[1].ordered is None:
            pairs = visible.beside(_SAMPLE)
            contents = index.words.texts(visible.kind, [text for pair in pairs for text in pair])
            named = {
                number: opening
                for number, text in contents.items()
                if (opening := subject(text)) in known[1].names
            }
            ordered = _ordered(pairs, named, index, embedder)
            known = known[0], replace(known[1], ordered=ordered)
        self._known[key] = known
        return known[1]


def _ordered(
    pairs: Sequence[tuple[TextId, TextId]],
    named: Mapping[TextId, str | None],
    index: Index,
    embedder: Embedder,
) -> bool | None:
    """Whether consecutive memories are more alike than any two; None: too few have vectors yet.

    Any two means a memory and the follower of another, which opens with the same name as its own
    follower: where two speakers take turns, two memories of one of them are alike by her name.
    """
    if len(pairs) < _FEWEST_PAIRS:
        return False
    followers: dict[str | None, list[TextId]] = {}
    for _, second in pairs:
        followers.setdefault(named.get(second), []).append(second)
    half_apart = {name: chain(some[len(some) // 2 :], some) for name, some in followers.items()}
    apart = [(first, next(half_apart[named.get(second)])) for first, second in pairs]
    beside = index.vectors.likeness(embedder, pairs)
    any_two = index.vectors.likeness(embedder, apart)
    if min(len(beside), len(any_two)) < _FEWEST_PAIRS:
        return None
    return fmean(beside) - fmean(any_two) > _MORE_ALIKE
