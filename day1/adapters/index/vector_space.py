"""The vectors of one embedder: a memory-mapped, append-only file, and which text each row is of.

Imports numpy, which costs 0.1 s: only `vectors.py` imports this module, on first use.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from day1.adapters.index.bm25 import integers
from day1.adapters.index.database import VECTORS, Damaged, Database, remove, rows_written
from day1.adapters.index.failures import usable
from day1.adapters.index.sign_bits import BLOCK, Integers, Matrix, SignBits, packed, words_of
from day1.adapters.index.sign_file import SignFile
from day1.adapters.index.space_snapshot import SpaceSnapshot
from day1.adapters.index.vector_checksums import VectorChecksums, are_in_order, put
from day1.model.values.ids import short_hash
from day1.ports.index import IndexBehind, TextId

if TYPE_CHECKING:  # a name for what numpy gives
    from day1.ports.index import Vector

_Number = TypeVar("_Number", np.int64, np.float32)

_ROWS = """
SELECT group_concat(position), group_concat(text), group_concat(passage) FROM vectors
WHERE space = ? AND position BETWEEN ? AND ?"""
"""A query for the rows of a space that have texts."""


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
        self.reading = partial(database.reading, generation)
        self.writing = partial(database.writing, generation)
        name = f"{self.safe_name}.{generation}"
        self._file = database.folder / VECTORS / f"{name}.f32"
        self._sums = VectorChecksums(database.folder / VECTORS / f"{name}.sums")
        signs = database.folder / VECTORS / f"{name}.signs"
        self._sign_file = SignFile(signs, words_of(dimension), BLOCK)
        self._guard = threading.Lock()
        self._signs = SignBits(dimension, self._sign_file, self._save_signs)
        self._seen = self._empty()
        self.begun: dict[tuple[TextId, int], Vector] = {}
        """Vectors of passages, by text and number, whose text is not embedded completely yet."""

    def snapshot(self) -> SpaceSnapshot:
        """Return a snapshot of the space's vectors, with all that are written by now.

        Raises:
            IndexLost: the file lacks rows that `index.db` names, or the index was replaced.
        """
        with self._guard, self.reading() as connection, usable(self._file.name):
            self._refresh(connection)
            return self._seen

    def _refresh(self, connection: sqlite3.Connection) -> None:
        old_state = self._seen
        known_row_count = len(old_state.text_of)
        row_count = rows_written(connection, self.number)
        if not self._holds(max(row_count, known_row_count)):
            # Mapped rows too: reading past the end of a mapped file kills the process.
            raise Damaged
        if row_count <= known_row_count:
            return
        new_rows = integers(connection, _ROWS, self.number, known_row_count, row_count - 1)
        matrix = np.memmap(self._file, np.float32, "r", shape=(row_count, self.dimension))
        in_order = np.argsort(new_rows[0], kind="stable")
        positions, text_ids, passage_numbers = (numbers[in_order] for numbers in new_rows)
        if not are_in_order(text_ids, passage_numbers) or (old_state.firsts(text_ids) >= 0).any():
            raise Damaged
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
            matrix,
            text_of,
            first_row_by_text,
            count_by_text,
            checked_rows,
            self._compare,
            self._signs,
        )

    def _empty(self) -> SpaceSnapshot:
        matrix, no_ids = np.empty((0, self.dimension), np.float32), np.empty(0, np.int64)
        return SpaceSnapshot(
            matrix, no_ids, no_ids, no_ids, np.empty(0, np.bool_), self._compare, self._signs
        )

    def _compare(self, matrix: Matrix, positions: Integers) -> None:
        with usable(self._file.name):
            rows_differ = self._sums.differ(matrix, positions)
        if rows_differ and not self._database.read_only:
            # Another process may be blanking a row, which it does only with this lock.
            with self._database.embedding.held(wait=True), usable(self._file.name):
                rows_differ = self._sums.differ(matrix, positions)
        if rows_differ:
            with self.reading():
                raise Damaged

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
            self._put(matrix, start)
            for number in range(start // BLOCK, -(-(start + len(matrix)) // BLOCK)):
                self._write_signs(number)

    def _put(self, matrix: Matrix, start: int) -> None:
        """Write rows and their checksums."""
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
            with usable(self._file.name):
                for position in positions:
                    self._put(np.zeros((1, self.dimension), np.float32), position)
                for number in {position // BLOCK for position in positions}:
                    self._write_signs(number)
        self.begun.clear()
        with self._guard:
            self._signs = SignBits(self.dimension, self._sign_file, self._save_signs)
            self._seen = self._empty()

    def _save_signs(self, number: int) -> None:
        """Write a block of signs that the file lacks, if nobody writes vectors now."""
        if self._database.read_only:
            return
        with suppress(IndexBehind), self._database.embedding.held(wait=False) as got_lock:
            if got_lock:
                with usable(self._file.name):
                    self._write_signs(number)

    def _write_signs(self, number: int) -> None:
        """Write a block of signs if the file of vectors has all of its rows.

        The last ones may be of a process that died. No text has these, and whoever writes others in
        their place writes the block again.
        """
        if self._holds((number + 1) * BLOCK):
            rows = np.memmap(
                self._file,
                np.float32,
                "r",
                number * BLOCK * self.dimension * 4,
                (BLOCK, self.dimension),
            )
            self._sign_file.write(number, packed(rows))

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
