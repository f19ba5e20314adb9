"""The file of the signs of vectors, which the processes of a store share.

It has the signs of whole blocks of rows only, each block with a checksum; each process keeps the
signs of the rows after the last whole block itself. The file is derived from the vectors: a block
that is missing, was cut off or is damaged is made again.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from day1.adapters.index.vector_checksums import put

Words = NDArray[np.uint64]
"""Signs as words of 64 bits, shape (words, rows)."""
_TYPE = np.dtype("<u8")


class SignFile:
    """A file of blocks of signs; only the holder of the lock for vectors writes to it."""

    def __init__(self, path: Path, words: int, rows: int) -> None:
        """Use the file `path`, made when first written, of blocks of shape (`words`, `rows`)."""
        self._path, self._shape = path, (words, rows)
        self._record_words = words * rows + 1
        self._record_bytes = self._record_words * _TYPE.itemsize

    def block(self, number: int) -> Words | None:
        """Map a block; None if the file does not have it, or it differs from its checksum."""
        start = number * self._record_bytes
        try:
            if self._path.stat().st_size < start + self._record_bytes:
                return None
            record = np.memmap(self._path, _TYPE, "r", start, (self._record_words,))
        except (OSError, ValueError):  # deleted or replaced meanwhile
            return None
        block = np.asarray(record[:-1])
        return block.reshape(self._shape) if crc32(block.data) == int(record[-1]) else None

    def write(self, number: int, block: Words) -> None:
        """Write a block, in place of the one that was there."""
        signs = np.ascontiguousarray(block, _TYPE)
        checksum = np.array([crc32(signs.data)], _TYPE)
        put(self._path, signs.tobytes() + checksum.tobytes(), number * self._record_bytes)
