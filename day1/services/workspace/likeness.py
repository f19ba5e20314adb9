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
        for row_id, number in self._number.items():
            self._ids.setdefault(number, []).append(row_id)
        self._compared = self._compare()
        place_by_text = {number: place for place, number in enumerate(self._compared[0])}
        self._places = {
            row_id: place_by_text[number]
            for row_id, number in self._number.items()
            if number in place_by_text
        }
        """By id, the place of a row's text among the compared ones."""
        self._others = {i: words for i, words in self._words.items() if i not in self._places}
        """By id, the words of the rows whose vectors cannot be compared."""

    def _look_up(self) -> None:
        for kind in KINDS:
            hashes = {
                row_id: str(item.row["content_hash"])
                for row_id, item in self._items.items()
                if item.kind is kind
            }
            known = self._engine.index.words.known(kind, list(dict.fromkeys(hashes.values())))
            self._number |= {i: known[hashed] for i, hashed in hashes.items() if hashed in known}
        if self._engine.embedder is not None:
            numbers = list(dict.fromkeys(self._number.values()))
            waiting = self._engine.index.vectors.waiting(self._engine.embedder, numbers)
            self._has_vector = dict.fromkeys(sorted({*numbers}.difference(waiting)))

    @property
    def without_vector(self) -> int:
        """The number of rows whose text has no vector yet."""
        return sum(self._number.get(row_id) not in self._has_vector for row_id in self._items)

    def of(self, row_id: str) -> dict[str, float]:
        """Return the similarity, 0 to 1, of each other row to a row: by vectors, else by words."""
        place, cosines = self._places.get(row_id), self._compared[1]
        similarity_by_id: dict[str, float] = {}
        compared_in_words = self._words
        if place is not None and cosines is not None:
            similarities = cosines[place].clip(0.0, 1.0).tolist()
            similarity_by_id = {i: similarities[other] for i, other in self._places.items()}
            compared_in_words = self._others
        row_words = self._words[row_id]
        similarity_by_id |= {i: shared_words(row_words, w) for i, w in compared_in_words.items()}
        similarity_by_id.pop(row_id)
        return similarity_by_id

    def alike(self) -> dict[str, frozenset[str]]:
        """Return, by row, the rows that say nearly the same, or the contrary."""
        pairs = alike_in_words(self._words)
        ids_by_text: dict[str, list[str]] = {}
        for row_id, text in self._texts.items():
            ids_by_text.setdefault(plain(text), []).append(row_id)
        pairs += [
            (a, b)
            for equal_ids in ids_by_text.values()
            for a in equal_ids
            for b in equal_ids
            if a < b
        ]
        numbers, cosines = self._compared
        if cosines is not None:
            ones, others = (cosines > ALIKE - _ROUNDED).nonzero()
            similar_places = zip(ones.tolist(), others.tolist(), strict=True)
            ids = [self._ids[number] for number in numbers]
            pairs += [(a, b) for one, other in similar_places for a in ids[one] for b in ids[other]]
        alike: dict[str, set[str]] = {}
        for one, other in pairs:
            if one != other:
                alike.setdefault(one, set()).add(other)
                alike.setdefault(other, set()).add(one)
        return {row_id: frozenset(ids) for row_id, ids in alike.items()}

    def _compare(self) -> tuple[list[TextId], Matrix | None]:
        """Return the texts that have vectors, and the cosines of all pairs if they are known."""
        embedder = self._engine.embedder
        if embedder is None or not self._has_vector:
            return [], None
        try:
            compared = self._engine.index.vectors.all_pairs(embedder, [*self._has_vector])
        except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
            log.warning("memories are compared by their words: %s", error.code)
            return [], None
        return compared or ([], None)

    def scores(self, goal: str, vector: Vector | None, ids: Sequence[str]) -> dict[str, float]:
        """Score rows for a goal as a search does, each alone; nothing without a goal."""
        if not goal or not ids:
            return {}
        engine, terms = self._engine, keyword_terms(goal)
        numbers = {i: self._number[i] for i in ids if i in self._number}
        cosines: dict[TextId, float] = {}
        bm25: dict[TextId, float] = {}
        try:
            if vector is not None and engine.embedder is not None:
                some = [number for number in numbers.values() if number in self._has_vector]
                cosines = engine.index.vectors.cosines(engine.embedder, vector, some)
            for kind in KINDS:
                some = [n for i, n in numbers.items() if self._items[i].kind is kind]
                bm25 |= engine.index.words.scores(kind, terms, some)
        except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
            log.warning("memories are not compared with the goal: %s", error.code)
            return {}
        candidates = [
            Candidate(
                i,
                self._items[i].created_at,
                None,
                cosines.get(number),
                bm25.get(number, 0.0),
            )
            for i, number in numbers.items()
        ]
        mode: Mode = "keyword" if vector is None else "hybrid"
        question = Question(goal, mode, engine.weights, votes=engine.votes())
        ranked = rank(
            candidates, question, len(candidates), lambda some: {i: self._texts[i] for i in some}
        )
        return {scored.row_id: scored.score for scored in ranked}
