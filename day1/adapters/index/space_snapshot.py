"""The vectors of a space at one time, and their comparison with a vector or with each other.

Imports numpy, which costs 0.1 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from day1.adapters.index.sign_bits import Integers, Matrix, SignBits
from day1.ports.index import TextId

if TYPE_CHECKING:  # a name for what numpy gives
    from day1.ports.index import Vector

_Scores = tuple[Integers, NDArray[np.float32]]

_ROWS_AT_ONCE = 512
"""Maximum number of scattered rows compared at once: more do not fit into the processor's cache."""
_FEW_PAIRS = 40_000
"""Maximum number of pairs of vectors that are compared one by one: BLAS would use several threads,
and wait 30 ms for these where other processes have the cores."""
_PART = 4_096
"""Number of rows that are compared with a vector at once."""
_ONE_THREAD = 30_000
"""Number of rows up to which one thread compares them: a second is not worth its start."""
_CANDIDATES = 10
"""How many rows are compared exactly for each of the nearest rows that are wanted."""
_LEAST_GAIN = 8
"""All rows are compared exactly if they are fewer than so many times the candidates."""
_WASTE = 3
"""A range of rows is read whole if it has at most so many times the wanted rows."""


def _dots(left: Matrix, right: Matrix) -> Matrix:
    """Return the dot product of each row of `left` and each of `right`."""
    if len(left) * len(right) > _FEW_PAIRS:
        return left @ right.T
    dot_products: Matrix = np.vecdot(left[:, np.newaxis], right[np.newaxis])
    return dot_products


def _dots_of_all(matrix: Matrix, vector: Vector) -> NDArray[np.float32]:
    """Return the dot product of each row of a matrix and a vector.

    Two threads share the parts of a large matrix. `@` would give each core a half, and be twenty
    times slower on a busy machine (10,000 rows: 20 ms against 1).
    """
    dots = np.empty(len(matrix), np.float32)
    row_slices = iter([slice(start, start + _PART) for start in range(0, len(matrix), _PART)])

    def compare() -> None:
        for row_slice in row_slices:
            np.vecdot(matrix[row_slice], vector, out=dots[row_slice])

    with ThreadPoolExecutor(1) as thread_pool:
        second_thread = thread_pool.submit(compare) if len(matrix) > _ONE_THREAD else None
        compare()
        if second_thread is not None:
            second_thread.result()
    return dots


@dataclass(frozen=True, slots=True)
class SpaceSnapshot:
    """The rows and texts of a space at one time; never changed, only replaced.

    Shapes: `matrix` (rows, dimension); `text_of` (rows,), -1 if the text was forgotten; `first`
    and `count` by text number: the first row of a text's passages, -1 for none, and their number;
    `sound` (rows,), whether a row was compared with its checksum.
    """

    matrix: Matrix
    text_of: Integers
    first: Integers
    count: Integers
    sound: NDArray[np.bool_]
    compare: Callable[[Matrix, Integers], None]
    """The function that compares rows with their checksums; raises `IndexLost` if one differs."""
    signs: SignBits
    compared: dict[bytes, dict[int, _Scores]] = field(default_factory=dict)
    """Of the vector that was used last, by number of rows: rows that have a text, with cosines.

    The same question is asked about each kind of row, and again for a workspace."""

    def check(self, positions: Integers) -> None:
        """Compare rows with their checksums before they are used, each once in a process.

        Raises:
            IndexLost: a row differs.
        """
        unchecked_positions = positions[~self.sound[positions]]
        if len(unchecked_positions):
            self.compare(self.matrix, unchecked_positions)
            self.sound[unchecked_positions] = True

    def rows(self, positions: Integers) -> Matrix:
        """Return the vectors of rows, compared with their checksums."""
        self.check(positions)
        return self.matrix[positions]

    def firsts(self, texts: Integers) -> Integers:
        """Return the first row of each text's passages, -1 for texts without vectors."""
        first_rows = np.full(len(texts), -1, np.int64)
        in_range = (texts >= 0) & (texts < len(self.first))  # a damaged index may name any number
        first_rows[in_range] = self.first[texts[in_range]]
        return first_rows

    def scores(self, vector: Vector, texts: Integers) -> NDArray[np.float32]:
        """Return the cosine of each text's best passage, NaN for texts without vectors."""
        best_scores = np.full(len(texts), np.nan, np.float32)
        all_first_rows = self.firsts(texts)
        have_vectors = all_first_rows >= 0
        if not have_vectors.any():
            return best_scores
        first_rows, passage_counts = all_first_rows[have_vectors], self.count[texts[have_vectors]]
        if passage_counts.max() == 1:
            best_scores[have_vectors] = self._dots(vector, first_rows)
            return best_scores
        passage_ends = np.cumsum(passage_counts)
        passage_starts = passage_ends - passage_counts
        passage_numbers = np.arange(passage_ends[-1]) - np.repeat(passage_starts, passage_counts)
        dots = self._dots(vector, np.repeat(first_rows, passage_counts) + passage_numbers)
        best_scores[have_vectors] = np.maximum.reduceat(dots, passage_starts)
        return best_scores

    def nearest(
        self, vector: Vector, texts: Sequence[TextId], limit: int
    ) -> tuple[dict[TextId, float], int]:
        """Find the nearest of `texts`, nearest first; also count those without vectors."""
        text_ids = np.asarray(texts, np.int64)
        scores = self.scores(vector, text_ids)
        missing_count = int((self.firsts(text_ids) < 0).sum())
        places = top(scores, limit)
        ids_and_cosines = zip(text_ids[places].tolist(), scores[places].tolist(), strict=True)
        return dict(ids_and_cosines), missing_count

    def closest(self, vector: Vector, count: int) -> Iterator[list[TextId]]:
        """Yield the nearest of all texts: of the nearest `count` rows, then of ever more rows."""
        while count < len(self.matrix):
            yield self._closest(vector, count)
            count *= 8
        yield self._closest(vector, len(self.matrix))

    def _closest(self, vector: Vector, count: int) -> list[TextId]:
        """Return the texts of the nearest `count` rows.

        Among many rows, those are compared exactly that differ in the fewest signs.
        """
        compared_count = min(count * _CANDIDATES, len(self.matrix))
        if compared_count * _LEAST_GAIN > len(self.matrix):
            compared_count = len(self.matrix)
        scores_by_count = self.compared.get(vector.tobytes())
        if scores_by_count is None:
            self.compared.clear()
            scores_by_count = self.compared[vector.tobytes()] = {}
        if compared_count not in scores_by_count:
            rows = self._promising(vector, compared_count)
            rows = rows[self.text_of[rows] >= 0]
            cosines = self._dots(vector, rows) if len(rows) else np.empty(0, np.float32)
            scores_by_count[compared_count] = rows, cosines
        rows, cosines = scores_by_count[compared_count]
        texts: list[TextId] = self.text_of[rows[top(cosines, count)]].tolist()
        return texts

    def _promising(self, vector: Vector, count: int) -> Integers:
        """Return the `count` rows that differ from a vector in the fewest signs."""
        return self.signs.nearest(self.matrix, vector, count, self._check_between)

    def _check_between(self, start: int, end: int) -> None:
        """Compare the rows from `start` up to `end` that belong to a text with their checksums."""
        self.check(start + np.flatnonzero(self.text_of[start:end] >= 0))

    def cosines(self, vector: Vector, texts: Sequence[TextId]) -> dict[TextId, float]:
        """Return the cosine of the best passage, by text, of texts that have vectors."""
        scores = self.scores(vector, np.asarray(texts, np.int64)).tolist()
        return {text: score for text, score in zip(texts, scores, strict=True) if score == score}  # noqa: PLR0124 - not NaN

    def likeness(self, pairs: Sequence[tuple[TextId, TextId]]) -> list[float]:
        """Return the cosine of the first passages of each pair whose texts both have vectors."""
        left_rows, right_rows = (
            self.firsts(np.asarray(pairs, np.int64).reshape(-1, 2).ravel()).reshape(-1, 2).T
        )
        have_vectors = (left_rows >= 0) & (right_rows >= 0)
        left_rows, right_rows = left_rows[have_vectors], right_rows[have_vectors]
        cosines: list[float] = np.vecdot(self.rows(left_rows), self.rows(right_rows)).tolist()
        return cosines

    def pairs(
        self, some: Sequence[TextId], others: Sequence[TextId], above: float
    ) -> list[tuple[TextId, TextId, float]]:
        """Find pairs of `some` and `others` whose first passages have a cosine above `above`."""
        left_texts, left_vectors = self._with_vectors(some)
        right_texts, right_vectors = self._with_vectors(others)
        if not len(left_texts) or not len(right_texts):
            return []
        cosine_matrix = _dots(left_vectors, right_vectors)
        left_places, right_places = np.nonzero(cosine_matrix > above)
        cosines = cosine_matrix[left_places, right_places].tolist()
        text_pairs = left_texts[left_places].tolist(), right_texts[right_places].tolist()
        return [*zip(*text_pairs, cosines, strict=True)]

    def all_pairs(self, texts: Sequence[TextId]) -> tuple[list[TextId], Matrix]:
        """Return the texts that have vectors, and the cosines of all pairs of first passages."""
        text_ids, vectors = self._with_vectors(texts)
        return text_ids.tolist(), _dots(vectors, vectors)

    def _with_vectors(self, texts: Sequence[TextId]) -> tuple[Integers, Matrix]:
        """Return the texts that have vectors, and the vectors of their first passages."""
        text_ids = np.asarray(texts, np.int64)
        first_rows = self.firsts(text_ids)
        have_vectors = first_rows >= 0
        return text_ids[have_vectors], self.rows(first_rows[have_vectors])

    def several_passages(self, texts: Sequence[TextId]) -> dict[TextId, int]:
        """Return the number of passages, by text, of texts with several passages."""
        text_ids = np.asarray(texts, np.int64)
        ids_with_vectors = text_ids[self.firsts(text_ids) >= 0]
        passage_counts = self.count[ids_with_vectors]
        has_several = passage_counts > 1
        several_ids = ids_with_vectors[has_several].tolist()
        return dict(zip(several_ids, passage_counts[has_several].tolist(), strict=True))

    def best_passages(self, vector: Vector, texts: Sequence[TextId]) -> dict[TextId, int]:
        """Return the place of the nearest passage, from 0, by text, of texts with several."""
        first_rows = self.firsts(np.asarray(texts, np.int64)).tolist()
        passage_by_text = {}
        for text_id, first_row in zip(texts, first_rows, strict=True):
            if first_row >= 0 and self.count[text_id] > 1:
                passage_vectors = self.rows(np.arange(first_row, first_row + self.count[text_id]))
                passage_by_text[text_id] = int(np.argmax(passage_vectors @ vector))
        return passage_by_text

    def _dots(self, vector: Vector, positions: Integers) -> NDArray[np.float32]:
        """Compute the cosines of rows."""
        self.check(positions)
        first_row, end_row = int(positions.min()), int(positions.max()) + 1
        if end_row - first_row <= _WASTE * len(positions):
            return _dots_of_all(self.matrix[first_row:end_row], vector)[positions - first_row]
        places_in_row_order = np.argsort(positions)
        dots = np.empty(len(positions), np.float32)
        for start in range(0, len(places_in_row_order), _ROWS_AT_ONCE):
            batch_places = places_in_row_order[start : start + _ROWS_AT_ONCE]
            dots[batch_places] = np.vecdot(self.matrix[positions[batch_places]], vector)
        return dots


def top(scores: NDArray[np.float32], limit: int) -> Integers:
    """Return the places of the `limit` highest scores, highest first, without NaN."""
    comparable_scores = np.where(np.isnan(scores), -2, scores)
    limit = min(limit, int((comparable_scores > -2).sum()))  # noqa: PLR2004 - below any cosine
    if limit == 0:
        return np.empty(0, np.int64)
    places = np.arange(limit)
    if limit < len(comparable_scores):
        places = np.argpartition(comparable_scores, -limit)[-limit:]
    return places[np.argsort(-comparable_scores[places], kind="stable")]
