"""Damage of vectors: checksums of the rows of their file, and text numbers that cannot be right.

Checksums are in a file beside it: four bytes for each row. Without them a damaged row would only
get another rank, and nobody would notice.
"""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TYPE = np.dtype("<u4")
_MOST_TEXTS = 2**26
"""Highest plausible number of a text; a higher number is damage."""


class VectorChecksums:
    """The file of checksums; rows by an earlier version of day1 may have none."""

    def __init__(self, file: Path) -> None:
        """Use `file`, which is made when first written."""
        self._file = file

    def size(self) -> int:
        """Return the number of vectors, from row 0 on, that have checksums."""
        try:
            return self._file.stat().st_size // _TYPE.itemsize
        except FileNotFoundError:
            return 0

    def write(self, matrix: NDArray[np.float32], start: int) -> None:
        """Write the checksums of rows that begin at row `start`."""
        checksums = np.array([crc32(row) for row in matrix], _TYPE)
        put(self._file, checksums.tobytes(), start * _TYPE.itemsize)

    def differ(self, matrix: NDArray[np.float32], positions: NDArray[np.int64]) -> bool:
        """Whether any of these rows differs from its checksum."""
        try:
            checksums = np.memmap(self._file, _TYPE, "r", shape=(self.size(),))
        except (FileNotFoundError, ValueError):  # ValueError: it is empty
            return False
        checked_positions = positions[positions < len(checksums)]
        if not len(checked_positions):
            return False
        # As bytes: indexing a mapped array costs four times as much as the checksum.
        matrix_bytes, row_bytes = np.asarray(matrix).data.cast("B"), matrix.strides[0]
        starts = (checked_positions * row_bytes).tolist()
        sums = [crc32(matrix_bytes[start : start + row_bytes]) for start in starts]
        return bool(sums != checksums[checked_positions].tolist())


def put(file: Path, data: bytes, offset: int) -> None:
    """Write bytes into a file at an offset, durably; make the file if it is missing."""
    file_handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        unwritten_bytes = memoryview(data)
        while unwritten_bytes:
            bytes_written = os.pwrite(file_handle, unwritten_bytes, offset)
            unwritten_bytes, offset = unwritten_bytes[bytes_written:], offset + bytes_written
        os.fsync(file_handle)
    finally:
        os.close(file_handle)


def are_in_order(texts: NDArray[np.int64], passages: NDArray[np.int64]) -> bool:
    """Whether each text's passages follow each other from the first, and each text occurs once.

    Far too high text numbers are refused: arrays up to them would take all memory.
    """
    if not len(texts):
        return True
    is_first_passage = passages == 0
    continues_text = (texts[1:] == texts[:-1]) & (passages[1:] == passages[:-1] + 1)
    starting_texts = texts[is_first_passage]
    return bool(
        is_first_passage[0]
        and (is_first_passage[1:] | continues_text).all()
        and (np.diff(np.sort(starting_texts)) > 0).all()  # `np.unique` imports much more
        and texts.min() > 0
        and texts.max() < _MOST_TEXTS
    )
