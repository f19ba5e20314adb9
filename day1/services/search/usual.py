"""Judging what is usual in a state's memories: words, names, and whether order matters."""

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
"""Texts, and pairs of texts, in a sample; it tells a share of a quarter within 2 %."""
_STATES_JUDGED = 400
"""States whose usual words and names are cached, at most; then the cache is emptied."""
_FEWEST_PAIRS = 50
_MORE_ALIKE = 0.04
"""Order matters if consecutive memories are more similar than any two by this cosine.

The difference is .05 to .21 in memories as written, and below .03 in shuffled ones, where counting
the words of neighbours costs 2 to 3 points of recall.
"""
_MORE_WORDS_SHARED = 0.0125
"""Order matters if they share more words by this much (while vectors are missing).

The difference is .017 to .085 in memories as written, and below .01 in shuffled ones."""


class _Judged(NamedTuple):
    """The judgement of what is usual in a state, and what it is based on."""

    rows: int
    """The number of rows in the state when a sample was taken."""
    usual: Usual
    is_final: bool
    """Whether `usual.ordered` stands; False while too few texts have vectors to judge it."""


class UsualCache:
    """A cache of what is usual in the searched states; threads may share it."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._known: dict[ViewKey, _Judged] = {}

    def at(
        self, state: ViewKey, visible: CachedView | LiveQuery, index: Index, embedder: Embedder
    ) -> Usual:
        """Return what is usual in the visible memories, judged by a sample.

        A new sample is taken when the number of rows has changed by a tenth.
        """
        key, rows = (*state, *visible.key), len(visible)
        judgement = self._known.get(key)
        is_new = judgement is None or abs(judgement.rows - rows) * 10 > judgement.rows
        if judgement is None or is_new:
            if len(self._known) > _STATES_JUDGED:
                self._known.clear()
            texts = index.words.texts(visible.kind, visible.sample(_SAMPLE))
            judgement = _Judged(rows, usual(list(texts.values())), is_final=False)
        if not judgement.is_final:
            judgement = _with_order(judgement, visible, index, embedder, by_words=is_new)
            self._known[key] = judgement
        return judgement.usual


def _with_order(
    judgement: _Judged,
    visible: CachedView | LiveQuery,
    index: Index,
    embedder: Embedder,
    *,
    by_words: bool,
) -> _Judged:
    """Judge whether order matters, by vectors; by words if too few have one and `by_words`."""
    names, is_ordered, is_final = judgement.usual.names, judgement.usual.ordered, True
    pairs = visible.beside(_SAMPLE)
    contents = index.words.texts(visible.kind, [text for pair in pairs for text in pair])
    pairs = [pair for pair in pairs if contents.keys() >= set(pair)]
    if len(pairs) < _FEWEST_PAIRS:
        is_ordered = False
    else:
        name_by_text = {n: s for n, t in contents.items() if (s := subject(t)) in names}
        apart = _apart(pairs, name_by_text)
        near, far = (index.vectors.likeness(embedder, some) for some in (pairs, apart))
        if min(len(near), len(far)) >= _FEWEST_PAIRS:
            is_ordered = fmean(near) - fmean(far) > _MORE_ALIKE
        else:
            is_final = False
            is_ordered = _share_words(pairs, apart, contents, names) if by_words else is_ordered
    return _Judged(judgement.rows, replace(judgement.usual, ordered=is_ordered), is_final)


def _apart(
    pairs: Sequence[tuple[TextId, TextId]], name_by_text: Mapping[TextId, str | None]
) -> list[tuple[TextId, TextId]]:
    """Pair each memory with the follower of another memory, for comparison.

    Both followers begin with the same name: if two speakers take turns, memories of the same
    speaker are similar because of the name.
    """
    followers_by_name: dict[str | None, list[TextId]] = {}
    for _, second in pairs:
        followers_by_name.setdefault(name_by_text.get(second), []).append(second)
    half_apart_by_name = {
        name: chain(texts[len(texts) // 2 :], texts) for name, texts in followers_by_name.items()
    }
    return [(first, next(half_apart_by_name[name_by_text.get(second)])) for first, second in pairs]


def _share_words(
    pairs: Sequence[tuple[TextId, TextId]],
    apart: Sequence[tuple[TextId, TextId]],
    contents: Mapping[TextId, str],
    names: frozenset[str],
) -> bool:
    """Whether consecutive memories share more words than any two do."""
    text_pairs = [(contents[first], contents[second]) for first, second in chain(pairs, apart)]
    alike = likeness_by_words(text_pairs, names)
    return fmean(alike[: len(pairs)]) - fmean(alike[len(pairs) :]) > _MORE_WORDS_SHARED
