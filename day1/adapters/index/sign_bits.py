"""The signs of vectors, which find quickly the few vectors that are worth an exact comparison.

Of each number of a vector one bit is kept, its sign: 48 bytes in place of 1,536. Where a sign
differs from the one of the asked vector, it counts as much as the asked number is large. The rows
with the least sum of these are found first, and only they are compared exactly. Derived from the
vectors when a process first needs it.

On 60,000 sentences, of the 200 nearest to a question 96 % were among 2,000 rows, of the nearest ten
99.9 %. If each sign counted the same, it would be 83 and 97 %.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # a name for what numpy gives
    from day1.ports.index import Vector

Integers = NDArray[np.int64]
Matrix = NDArray[np.float32]
_Words = NDArray[np.uint64]

_PART = 16_384
"""Number of rows that are compared at once: their signs fit into the processor's cache."""
_WORD = 64
"""Bits of a word."""
_PLANES = 4
"""Bits to which the numbers of an asked vector are rounded; its exact numbers find no more."""


class SignBits:
    """The signs of the rows of a matrix that only grows; several threads may use it."""

    def __init__(self, dimension: int) -> None:
        """Begin without rows; vectors have `dimension` numbers."""
        self._guard = threading.Lock()
        self.row_count = 0
        """Number of rows whose signs are known."""
        # Shape: (words, rows). By columns a comparison takes a quarter of the time.
        self._words: _Words = np.empty((-(-dimension // _WORD), 0), np.uint64)

    def nearest(self, matrix: Matrix, vector: Vector, count: int) -> Integers:
        """Return the `count` rows whose signs differ least from those of a vector, in row order."""
        differences = _differences(self._of(matrix), vector)
        if count >= len(differences):
            return np.arange(len(differences))
        rows: Integers = np.argpartition(differences, count)[:count]
        rows.sort()
        return rows

    def _of(self, matrix: Matrix) -> _Words:
        """Return the signs of all rows of a matrix, adding those that are not known yet."""
        row_count = len(matrix)
        with self._guard:
            if row_count > self._words.shape[1]:
                grown_words = np.empty((len(self._words), row_count + row_count // 4), np.uint64)
                grown_words[:, : self.row_count] = self._words[:, : self.row_count]
                self._words = grown_words
            for start in range(self.row_count, row_count, _PART):
                end = min(start + _PART, row_count)
                self._words[:, start:end] = _packed(matrix[start:end])
            self.row_count = max(self.row_count, row_count)
            return self._words[:, :row_count]


def _packed(vectors: Matrix | NDArray[np.uint8]) -> _Words:
    """Return the signs of vectors, shape (rows, dimension), as words, shape (words, rows)."""
    sign_bytes = np.packbits(vectors > 0, axis=1)
    word_bytes = _WORD // 8
    missing_bytes = -sign_bytes.shape[1] % word_bytes
    if missing_bytes:
        sign_bytes = np.pad(sign_bytes, ((0, 0), (0, missing_bytes)))
    return sign_bytes.view(np.uint64).T


def _differences(words: _Words, vector: Vector) -> NDArray[np.uint32]:
    """Sum for each row the rounded numbers of a vector whose sign is another one in the row.

    The bits of the rounded numbers are planes, packed as signs are. So a word of a row is compared
    with 64 numbers by a few operations.
    """
    sizes = np.abs(vector)
    rounded_sizes = np.rint(sizes / (sizes.max() or 1) * (2**_PLANES - 1)).astype(np.uint8)
    asked_signs = _packed(vector[np.newaxis])
    planes = [_packed(rounded_sizes[np.newaxis] >> bit & 1) for bit in range(_PLANES)]
    row_count = words.shape[1]
    differences = np.zeros(row_count, np.uint32)
    for start in range(0, row_count, _PART):
        part = slice(start, start + _PART)
        other_signs = words[:, part] ^ asked_signs
        for bit, plane in enumerate(planes):
            numbers = np.bitwise_count(other_signs & plane)
            differences[part] += np.add.reduce(numbers, axis=0, dtype=np.uint32) << bit
    return differences
