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

_SAMPLE_SIZE = 400
"""Number of texts, and of pairs, in a sample; it estimates a share of 25 % to within 2 %."""
_STATES_JUDGED = 400
"""States whose usual words and names are cached, at most; then the cache is emptied."""
_MIN_PAIRS = 50
_MIN_COSINE_GAIN = 0.04
"""Order matters if the mean cosine of consecutive memories exceeds that of any two by this.

The difference is .05 to .21 in memories as written, and below .03 in shuffled ones, where counting
the words of neighbours costs 2 to 3 points of recall.
"""
_MIN_WORD_GAIN = 0.0125
"""While vectors are missing: order matters if consecutive memories share so many more words.

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
            texts = index.words.texts(visible.kind, visible.sample(_SAMPLE_SIZE))
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
    """Judge whether memories that were written one after the other belong together.

    Their vectors tell, or their words if too few have a vector and `by_words`.
    """
    names, is_ordered, is_final = judgement.usual.names, judgement.usual.ordered, True
    pairs = visible.beside(_SAMPLE_SIZE)
    content_by_text = index.words.texts(visible.kind, [text for pair in pairs for text in pair])
    pairs = [pair for pair in pairs if content_by_text.keys() >= set(pair)]
    if len(pairs) < _MIN_PAIRS:
        is_ordered = False
    else:
        name_by_text = {
            number: name
            for number, content in content_by_text.items()
            if (name := subject(content)) in names
        }
        pairs_apart = _apart(pairs, name_by_text)
        cosines, cosines_apart = (
            index.vectors.likeness(embedder, text_pairs) for text_pairs in (pairs, pairs_apart)
        )
        if min(len(cosines), len(cosines_apart)) >= _MIN_PAIRS:
            is_ordered = fmean(cosines) - fmean(cosines_apart) > _MIN_COSINE_GAIN
        else:
            is_final = False
            is_ordered = (
                _share_words(pairs, pairs_apart, content_by_text, names) if by_words else is_ordered
            )
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
    pairs_apart: Sequence[tuple[TextId, TextId]],
    content_by_text: Mapping[TextId, str],
    names: frozenset[str],
) -> bool:
    """Whether consecutive memories share more words than any two do."""
    text_pairs = [
        (content_by_text[first], content_by_text[second])
        for first, second in chain(pairs, pairs_apart)
    ]
    similarities = likeness_by_words(text_pairs, names)
    return fmean(similarities[: len(pairs)]) - fmean(similarities[len(pairs) :]) > _MIN_WORD_GAIN
