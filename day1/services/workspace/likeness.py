"""The similarity of candidates to one another and to the goal, by indexed vectors or words."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from day1.errors import EmbedderUnavailable
from day1.model.search.grouping import ALIKE, plain, shared_words
from day1.model.search.ranking import Candidate, Mode, Question, rank
from day1.model.search.wording import keyword_terms
from day1.model.workspace.item import Item
from day1.model.workspace.wording import alike_in_words, said_words
from day1.ports.index import IndexBehind, IndexLost, TextId
from day1.services.search.search_engine import SWITCHED_OFF, SearchEngine
from day1.services.workspace.items import KINDS

if TYPE_CHECKING:
    from day1.ports.index import Matrix, Vector

log = logging.getLogger(__name__)

_ROUNDED: Final = 1e-6
"""How much a cosine may be below its true value, since vectors have 32-bit numbers."""


def goal_vector(engine: SearchEngine, goal: str) -> tuple[Vector | None, str]:
    """Embed a goal.

    Returns:
        The vector and "". Without a goal None and "", and without an embedder or its model None
        and the reason.
    """
    if not goal:
        return None, ""
    if engine.embedder is None:
        return None, SWITCHED_OFF
    try:
        return engine.query_vectors.vectors(engine.embedder, [goal])[goal], ""
    except EmbedderUnavailable as error:
        log.warning("the goal has no vector: %s", error.code)
        return None, str(error)


class Likeness:
    """The similarities of some rows. Vectors come from the index; nothing is embedded."""

    def __init__(self, engine: SearchEngine, items: Mapping[str, Item]) -> None:
        """Find the texts and vectors of items, by id."""
        self._engine, self._items = engine, items
        self._texts = {row_id: item.text for row_id, item in items.items()}
        self._words = {row_id: said_words(text) for row_id, text in self._texts.items()}
        self._number: dict[str, TextId] = {}
        self._has_vector: dict[TextId, None] = {}
        """The texts that have vectors, in order."""
        try:
            self._look_up()
        except (IndexBehind, IndexLost) as error:
            log.warning("memories are compared by their words: %s", error.code)
        self._ids: dict[TextId, list[str]] = {}
        for row_id, text_id in self._number.items():
            self._ids.setdefault(text_id, []).append(row_id)
        self._compared = self._compare()
        position_by_text_id = {
            text_id: position for position, text_id in enumerate(self._compared[0])
        }
        self._places = {
            row_id: position_by_text_id[text_id]
            for row_id, text_id in self._number.items()
            if text_id in position_by_text_id
        }
        """By id, the place of a row's text among the compared ones."""
        self._others = {
            row_id: words for row_id, words in self._words.items() if row_id not in self._places
        }
        """By id, the words of the rows whose vectors cannot be compared."""

    def _look_up(self) -> None:
        for kind in KINDS:
            hash_by_row = {
                row_id: str(item.row["content_hash"])
                for row_id, item in self._items.items()
                if item.kind is kind
            }
            text_id_by_hash = self._engine.index.words.known(
                kind, list(dict.fromkeys(hash_by_row.values()))
            )
            self._number |= {
                item_id: text_id_by_hash[text_hash]
                for item_id, text_hash in hash_by_row.items()
                if text_hash in text_id_by_hash
            }
        if self._engine.embedder is not None:
            text_ids = list(dict.fromkeys(self._number.values()))
            waiting_text_ids = self._engine.index.vectors.waiting(self._engine.embedder, text_ids)
            self._has_vector = dict.fromkeys(sorted({*text_ids}.difference(waiting_text_ids)))

    @property
    def without_vector(self) -> int:
        """The number of rows whose text has no vector yet."""
        return sum(self._number.get(row_id) not in self._has_vector for row_id in self._items)

    def of(self, row_id: str) -> dict[str, float]:
        """Return the similarity, 0 to 1, of each other row to a row: by vectors, else by words."""
        position, cosines = self._places.get(row_id), self._compared[1]
        similarity_by_id: dict[str, float] = {}
        words_by_id = self._words
        if position is not None and cosines is not None:
            similarity_by_position = cosines[position].clip(0.0, 1.0).tolist()
            similarity_by_id = {
                other_id: similarity_by_position[other_position]
                for other_id, other_position in self._places.items()
            }
            words_by_id = self._others
        row_words = self._words[row_id]
        similarity_by_id |= {
            other_id: shared_words(row_words, other_words)
            for other_id, other_words in words_by_id.items()
        }
        similarity_by_id.pop(row_id)
        return similarity_by_id

    def alike(self) -> dict[str, frozenset[str]]:
        """Return, by row, the rows that say nearly the same, or the contrary."""
        similar_pairs = alike_in_words(self._words)
        ids_by_plain_text: dict[str, list[str]] = {}
        for row_id, text in self._texts.items():
            ids_by_plain_text.setdefault(plain(text), []).append(row_id)
        similar_pairs += [
            (first_id, second_id)
            for equal_ids in ids_by_plain_text.values()
            for first_id in equal_ids
            for second_id in equal_ids
            if first_id < second_id
        ]
        text_ids, cosines = self._compared
        if cosines is not None:
            first_positions, second_positions = (cosines > ALIKE - _ROUNDED).nonzero()
            similar_positions = zip(
                first_positions.tolist(), second_positions.tolist(), strict=True
            )
            ids_by_position = [self._ids[text_id] for text_id in text_ids]
            similar_pairs += [
                (first_id, second_id)
                for first_position, second_position in similar_positions
                for first_id in ids_by_position[first_position]
                for second_id in ids_by_position[second_position]
            ]
        similar_ids_by_row: dict[str, set[str]] = {}
        for row_id, similar_id in similar_pairs:
            if row_id != similar_id:
                similar_ids_by_row.setdefault(row_id, set()).add(similar_id)
                similar_ids_by_row.setdefault(similar_id, set()).add(row_id)
        return {
            row_id: frozenset(ids_by_position)
            for row_id, ids_by_position in similar_ids_by_row.items()
        }

    def _compare(self) -> tuple[list[TextId], Matrix | None]:
        """Return the texts that have vectors, and the cosines of all pairs if they are known."""
        embedder = self._engine.embedder
        if embedder is None or not self._has_vector:
            return [], None
        try:
            texts_and_cosines = self._engine.index.vectors.all_pairs(embedder, [*self._has_vector])
        except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
            log.warning("memories are compared by their words: %s", error.code)
            return [], None
        return texts_and_cosines or ([], None)

    def scores(self, goal: str, vector: Vector | None, ids: Sequence[str]) -> dict[str, float]:
        """Score rows for a goal as a search does, each alone; nothing without a goal."""
        if not goal or not ids:
            return {}
        engine, terms = self._engine, keyword_terms(goal)
        text_id_by_row = {row_id: self._number[row_id] for row_id in ids if row_id in self._number}
        cosine_by_text_id: dict[TextId, float] = {}
        bm25_by_text_id: dict[TextId, float] = {}
        try:
            if vector is not None and engine.embedder is not None:
                text_ids = [
                    text_id for text_id in text_id_by_row.values() if text_id in self._has_vector
                ]
                cosine_by_text_id = engine.index.vectors.cosines(engine.embedder, vector, text_ids)
            for kind in KINDS:
                text_ids = [
                    kind_text_id
                    for row_id, kind_text_id in text_id_by_row.items()
                    if self._items[row_id].kind is kind
                ]
                bm25_by_text_id |= engine.index.words.scores(kind, terms, text_ids)
        except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
            log.warning("memories are not compared with the goal: %s", error.code)
            return {}
        candidates = [
            Candidate(
                row_id,
                self._items[row_id].created_at,
                None,
                cosine_by_text_id.get(text_id),
                bm25_by_text_id.get(text_id, 0.0),
            )
            for row_id, text_id in text_id_by_row.items()
        ]
        mode: Mode = "keyword" if vector is None else "hybrid"
        question = Question(goal, mode, engine.weights, votes=engine.votes())
        ranked_rows = rank(
            candidates, question, len(candidates), lambda some: {i: self._texts[i] for i in some}
        )
        return {scored.row_id: scored.score for scored in ranked_rows}
