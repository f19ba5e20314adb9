"""The vectors of one embedder: a memory-mapped, append-only file, and which text each row is of.

Imports numpy, which costs 0.1 s: only `vectors.py` imports this module, on first use.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from day1.adapters.index.database import VECTORS, Database, remove, rows_written
from day1.adapters.index.failures import usable
from day1.adapters.index.vector_checksums import VectorChecksums, are_in_order, put
from day1.model.values.ids import short_hash
from day1.ports.index import TextId

if TYPE_CHECKING:  # a name for what numpy gives
    from day1.ports.index import Vector

Integers = NDArray[np.int64]
Matrix = NDArray[np.float32]
_Number = TypeVar("_Number", np.int64, np.float32)

_ROWS_AT_ONCE = 512
"""Maximum number of scattered rows compared at once: more do not fit into the processor's cache."""
_FEW_PAIRS = 40_000
"""Maximum number of pairs of vectors that are compared one by one: BLAS would use several threads,
and wait 30 ms for these where other processes have the cores."""
_PART = 4_096
"""Number of rows that are compared with a vector at once."""
_ONE_THREAD = 30_000
"""Number of rows up to which one thread compares them: a second is not worth its start."""
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
    compared: dict[bytes, tuple[Integers, NDArray[np.float32]]] = field(default_factory=dict)
    """By vector: all rows that have a text, and their cosines; of the vector that was used last.

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
        rows, scores = self._all_scores(vector)
        while count < len(rows):
            yield self.text_of[rows[top(scores, count)]].tolist()
            count *= 8
        yield self.text_of[rows[top(scores, len(rows))]].tolist()

    def _all_scores(self, vector: Vector) -> tuple[Integers, NDArray[np.float32]]:
        """Return all rows that have a text, and their cosines."""
        vector_bytes = vector.tobytes()
        rows_cosines = self.compared.get(vector_bytes)
        if rows_cosines is None:
            rows = np.flatnonzero(self.text_of >= 0)
            rows_cosines = rows, self._dots(vector, rows) if len(rows) else np.empty(0, np.float32)
            self.compared.clear()
            self.compared[vector_bytes] = rows_cosines
        return rows_cosines

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


class VectorSpace:
    """The vectors of one embedder in one generation of the index."""

    def __init__(
        self, database: Database, generation: str, number: int, name: str, dimension: int
    ) -> None:
        """Open the space of the embedder with this number in `index.db`, name and dimension."""
        self.number = number
        self.dimension = dimension
        self.safe_name = _safe(name)
        self._database = database
        self._generation = generation
        name = f"{self.safe_name}.{generation}"
        self._file = database.folder / VECTORS / f"{name}.f32"
        self._sums = VectorChecksums(database.folder / VECTORS / f"{name}.sums")
        self._guard = threading.Lock()
        self._seen = self._empty()
        self.begun: dict[tuple[TextId, int], Vector] = {}
        """Vectors of passages, by text and number, whose text is not embedded completely yet."""

    def snapshot(self) -> SpaceSnapshot:
        """Return a snapshot of the space's vectors, with all that are written by now.

        Raises:
            IndexLost: the file lacks rows that `index.db` names.
        """
        with self._guard, self._database.trusting(), usable(self._file.name):
            self._refresh()
            return self._seen

    def _refresh(self) -> None:
        old_state = self._seen
        known_row_count = len(old_state.text_of)
        with self._database.reading() as connection:
            row_count = rows_written(connection, self.number)
        if not self._holds(max(row_count, known_row_count)):
            # Mapped rows too: reading past the end of a mapped file kills the process.
            self._database.lose()
        if row_count <= known_row_count:
            return
        with self._database.reading() as connection:
            new_rows = connection.execute(
                "SELECT position, text, passage FROM vectors"
                " WHERE space = ? AND position BETWEEN ? AND ? ORDER BY position",
                (self.number, known_row_count, row_count - 1),
            ).fetchall()
        matrix = np.memmap(self._file, np.float32, "r", shape=(row_count, self.dimension))
        positions, text_ids, passage_numbers = np.array(new_rows, np.int64).reshape(-1, 3).T
        if not are_in_order(text_ids, passage_numbers) or (old_state.firsts(text_ids) >= 0).any():
            self._database.lose()
        text_of = _grown(old_state.text_of, row_count, -1)
        text_of[positions] = text_ids
        array_length = max(len(old_state.first), int(text_ids.max(initial=-1)) + 1)
        first_row_by_text = _grown(old_state.first, array_length, -1)
        count_by_text = _grown(old_state.count, array_length, 0)
        first_row_by_text[text_ids[passage_numbers == 0]] = positions[passage_numbers == 0]
        np.maximum.at(count_by_text, text_ids, passage_numbers + 1)
        checked_rows = np.zeros(row_count, np.bool_)
        checked_rows[:known_row_count] = old_state.sound
        self._seen = SpaceSnapshot(
            matrix, text_of, first_row_by_text, count_by_text, checked_rows, self._compare
        )

    def _empty(self) -> SpaceSnapshot:
        matrix, no_ids = np.empty((0, self.dimension), np.float32), np.empty(0, np.int64)
        return SpaceSnapshot(matrix, no_ids, no_ids, no_ids, np.empty(0, np.bool_), self._compare)

    def _compare(self, matrix: Matrix, positions: Integers) -> None:
        with usable(self._file.name):
            rows_differ = self._sums.differ(matrix, positions)
        if rows_differ and not self._database.read_only:
            # Another process may be blanking a row, which it does only with this lock.
            with self._database.embedding.held(wait=True), usable(self._file.name):
                rows_differ = self._sums.differ(matrix, positions)
        if rows_differ:
            self._database.lose()

    def begun_cosines(self, vector: Vector, texts: Sequence[TextId]) -> dict[TextId, float]:
        """Return the best cosine, by text, of texts of which only some passages are embedded."""
        begun_vectors = self.begun.copy()  # other threads add to it meanwhile
        begun_texts = {text_id for text_id, _ in begun_vectors}
        begun_texts &= set(texts) if begun_texts else set()
        best_cosine_by_text: dict[TextId, float] = {}
        for (text_id, _), passage_vector in begun_vectors.items():
            if text_id in begun_texts:
                best_cosine_by_text[text_id] = max(
                    best_cosine_by_text.get(text_id, -1.0), float(np.vecdot(passage_vector, vector))
                )
        return best_cosine_by_text

    def check(self) -> None:
        """Compare every row that belongs to a text with its checksum.

        Raises:
            IndexLost: a row differs.
        """
        snapshot = self.snapshot()
        snapshot.check(np.flatnonzero(snapshot.text_of >= 0))

    def _holds(self, rows: int) -> bool:
        try:
            return rows == 0 or self._file.stat().st_size >= rows * self.dimension * 4
        except FileNotFoundError:
            return False

    def write(self, vectors: Matrix | Sequence[Vector], start: int) -> None:
        """Write vectors into the file from row `start` on, durably; one process at a time.

        Rows already there were written by a process that died before it recorded them.
        """
        matrix = np.ascontiguousarray(vectors, np.float32)
        with usable(self._file.name):
            self._file.parent.mkdir(exist_ok=True)
            checksum_count = self._sums.size()
            if checksum_count < start:  # an earlier version of day1 wrote these rows
                old_rows = np.memmap(self._file, np.float32, "r", shape=(start, self.dimension))
                self._sums.write(old_rows[checksum_count:], checksum_count)
            put(self._file, matrix.tobytes(), start * self.dimension * 4)
            self._sums.write(matrix, start)

    def blank(self, positions: Sequence[int]) -> None:
        """Overwrite rows with zeros, whose cosine with any vector is 0."""
        if self._file.exists():
            for position in positions:
                self.write(np.zeros((1, self.dimension), np.float32), position)
        self.begun.clear()
        with self._guard:
            self._seen = self._empty()

    def sweep(self) -> None:
        """Delete files of earlier generations of the index."""
        with usable(self._file.parent.name):
            for file in self._file.parent.glob("*.*"):
                if self._generation not in file.name.split("."):
                    remove(file)


def _safe(name: str) -> str:
    """Turn an embedder's name into a unique name for files and collections."""
    safe_name = re.sub(r"[^A-Za-z0-9._-]", "-", name).strip("._-")
    return safe_name if safe_name == name else f"{safe_name}-{short_hash(name)[:8]}"


def _grown(values: NDArray[_Number], size: int, filler: int) -> NDArray[_Number]:
    """Copy an array into a longer one, filled up with `filler`."""
    grown_values = np.full(size, filler, values.dtype)
    grown_values[: len(values)] = values
    return grown_values
