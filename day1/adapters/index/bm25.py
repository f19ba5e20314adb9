"""What FTS5's BM25 is made of: the stems of texts, their numbers, and the weight of a term.

Texts that are searched again and again are scored in memory, by the formula of FTS5's `bm25`.
"""

import math
import sqlite3
from collections.abc import Sequence
from typing import Final

from day1.adapters.index.database import TOKENIZER

K1: Final = 1.2
"""The constant `k1` of FTS5's BM25."""
B: Final = 0.75
"""The constant `b` of FTS5's BM25."""
_LEAST: Final = 1e-6
"""The least weight of a term in FTS5's BM25."""
_MORE: Final = 0x80
"""The bit that is set in all bytes of an encoded number but the last."""


class Stemmer:
    """Splits texts into stems as FTS5 does; only one thread at a time may use it."""

    def __init__(self) -> None:
        """Begin without a database; the first text makes one in memory."""
        self._cut: sqlite3.Connection | None = None

    def stems(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the stems of each text, in their order."""
        if not texts:
            return []
        if self._cut is None:
            self._cut = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._cut.execute(
                f"CREATE VIRTUAL TABLE cut USING fts5 (text, tokenize = '{TOKENIZER}')"
            )
            self._cut.execute("CREATE VIRTUAL TABLE stems USING fts5vocab (cut, instance)")
        self._cut.execute("BEGIN")
        self._cut.executemany("INSERT INTO cut (rowid, text) VALUES (?, ?)", enumerate(texts))
        stems: list[list[str]] = [[] for _ in texts]
        for stem, number in self._cut.execute("SELECT term, doc FROM stems ORDER BY doc, offset"):
            stems[number].append(stem)
        self._cut.execute("ROLLBACK")
        return stems


def weight_of(frequency: int, total: int) -> float:
    """Compute the weight of a term that `frequency` of `total` texts have."""
    return max(_LEAST, math.log((total - frequency + 0.5) / (frequency + 0.5)))


def extent(connection: sqlite3.Connection, words: str) -> tuple[int, int]:
    """Read the number of texts of an FTS5 table, and of all their stems.

    FTS5 stores both in its first record.
    """
    statement = f"SELECT block FROM {words}_data WHERE id = 1"  # noqa: S608 - our own names
    record = connection.execute(statement).fetchone()
    numbers = numbers_in(record[0]) if record else []
    total, length, *_ = [*numbers, 0, 0]
    return total, length


def numbers_in(encoded: bytes) -> list[int]:
    """Decode numbers in SQLite's variable-length encoding."""
    numbers = []
    number = 0
    for byte in encoded:
        number = number << 7 | byte & ~_MORE
        if not byte & _MORE:
            numbers.append(number)
            number = 0
    return numbers
