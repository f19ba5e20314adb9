"""What is usual in the memories of a state: words, names, and whether their order tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

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


class _Judged(NamedTuple):
    """What is usual in a state, as it was judged."""

    rows: int
    """The number of rows in the state when a sample was taken."""
    usual: Usual
    is_final: bool
    """Whether more vectors would not change how the order was judged."""


class UsualCache:
    """What is usual in the states that a process searched; threads may share it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[ViewKey, _Judged] = {}

    def at(
        self, state: ViewKey, visible: CachedView | LiveQuery, index: Index, embedder: Embedder
    ) -> Usual:
        """What is usual in the visible memories, judged by a sample.

        Another sample is taken when there are a tenth more or fewer rows than then.
        """
        key, rows = (*state, *visible.key), len(visible)
        known = self._known.get(key)
        is_new = known is None or abs(known.rows - rows) * 10 > known.rows
        if known is None or is_new:
            if len(self._known) > _STATES_JUDGED:
                self._known.clear()
            texts = index.words.texts(visible.kind, visible.sample(_SAMPLE))
            known = _Judged(rows, usual(list(texts.values())), is_final=False)
        if not known.is_final:
            known = _with_order(known, visible, index, embedder, by_words=is_new)
            self._known[key] = known
        return known.usual


def _with_order(
    known: _Judged,
    visible: CachedView | LiveQuery,
    index: Index,
    embedder: Embedder,
    *,
    by_words: bool,
) -> _Judged:
    """Judge the order of memories by their vectors; until enough have one, `by_words` or not."""
    names, ordered, is_final = known.usual.names, known.usual.ordered, True
    pairs = visible.beside(_SAMPLE)
    contents = index.words.texts(visible.kind, [text for pair in pairs for text in pair])
    pairs = [pair for pair in pairs if contents.keys() >= set(pair)]
    if len(pairs) < _FEWEST_PAIRS:
        ordered = False
    else:
        named = {n: s for n, t in contents.items() if (s := subject(t)) in names}
        apart = _apart(pairs, named)
        near, far = (index.vectors.likeness(embedder, some) for some in (pairs, apart))
        if min(len(near), len(far)) >= _FEWEST_PAIRS:
            ordered = fmean(near) - fmean(far) > _MORE_ALIKE
        else:
            is_final = False
            ordered = _share_words(pairs, apart, contents, names) if by_words else ordered
    return _Judged(known.rows, replace(known.usual, ordered=ordered), is_final)


def _apart(
    pairs: Sequence[tuple[TextId, TextId]], named: Mapping[TextId, str | None]
) -> list[tuple[TextId, TextId]]:
    """Pair each memory with the follower of another one.

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
    told = [(contents[one], contents[other]) for one, other in chain(pairs, apart)]
    alike = likeness_by_words(told, names)
    return fmean(alike[: len(pairs)]) - fmean(alike[len(pairs) :]) > _MORE_WORDS_SHARED
