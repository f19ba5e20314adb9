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
"""Maximum number of states whose usual words are cached; then the cache is emptied."""
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
        judgement_key, row_count = (*state, *visible.key), len(visible)
        judgement = self._known.get(judgement_key)
        needs_sample = judgement is None or abs(judgement.rows - row_count) * 10 > judgement.rows
        if judgement is None or needs_sample:
            if len(self._known) > _STATES_JUDGED:
                self._known.clear()
            text_by_id = index.words.texts(visible.kind, visible.sample(_SAMPLE_SIZE))
            judgement = _Judged(row_count, usual(list(text_by_id.values())), is_final=False)
        if not judgement.is_final:
            judgement = _with_order(judgement, visible, index, embedder, by_words=needs_sample)
            self._known[judgement_key] = judgement
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
    text_id_pairs = visible.beside(_SAMPLE_SIZE)
    content_by_text = index.words.texts(
        visible.kind, [text_id for pair in text_id_pairs for text_id in pair]
    )
    text_id_pairs = [pair for pair in text_id_pairs if content_by_text.keys() >= set(pair)]
    if len(text_id_pairs) < _MIN_PAIRS:
        is_ordered = False
    else:
        name_by_text = {
            named_text_id: name
            for named_text_id, content in content_by_text.items()
            if (name := subject(content)) in names
        }
        id_pairs_apart = _apart(text_id_pairs, name_by_text)
        cosines, cosines_apart = (
            index.vectors.likeness(embedder, compared_pairs)
            for compared_pairs in (text_id_pairs, id_pairs_apart)
        )
        if min(len(cosines), len(cosines_apart)) >= _MIN_PAIRS:
            is_ordered = fmean(cosines) - fmean(cosines_apart) > _MIN_COSINE_GAIN
        else:
            is_final = False
            is_ordered = (
                _share_words(text_id_pairs, id_pairs_apart, content_by_text, names)
                if by_words
                else is_ordered
            )
    return _Judged(judgement.rows, replace(judgement.usual, ordered=is_ordered), is_final)


def _apart(
    pairs: Sequence[tuple[TextId, TextId]], name_by_text: Mapping[TextId, str | None]
) -> list[tuple[TextId, TextId]]:
    """Pair each memory with the follower of another memory, for comparison.

    Both followers begin with the same name: if two speakers take turns, memories of the same
    speaker are similar because of the name.
    """
    follower_ids_by_name: dict[str | None, list[TextId]] = {}
    for _, follower_id in pairs:
        follower_ids_by_name.setdefault(name_by_text.get(follower_id), []).append(follower_id)
    distant_followers_by_name = {
        name: chain(follower_ids[len(follower_ids) // 2 :], follower_ids)
        for name, follower_ids in follower_ids_by_name.items()
    }
    return [
        (leader_id, next(distant_followers_by_name[name_by_text.get(follower_id)]))
        for leader_id, follower_id in pairs
    ]


def _share_words(
    pairs: Sequence[tuple[TextId, TextId]],
    pairs_apart: Sequence[tuple[TextId, TextId]],
    content_by_text: Mapping[TextId, str],
    names: frozenset[str],
) -> bool:
    """Whether consecutive memories share more words than any two do."""
    text_pairs = [
        (content_by_text[first_id], content_by_text[second_id])
        for first_id, second_id in chain(pairs, pairs_apart)
    ]
    similarities = likeness_by_words(text_pairs, names)
    return fmean(similarities[: len(pairs)]) - fmean(similarities[len(pairs) :]) > _MIN_WORD_GAIN
