"""What FTS5's BM25 is made of: the stems of texts, the weight of a term, and the formula.

Texts that are searched again and again are scored in memory, by the formula of FTS5's `bm25`.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, overload

from day1.adapters.index.database import TOKENIZER
from day1.model.rows.kind import Kind
from day1.ports.index import TextId

if TYPE_CHECKING:  # numpy costs 0.1 s to import
    import numpy as np
    from numpy.typing import NDArray

_K1, _B, _LEAST = 1.2, 0.75, 1e-6
"""The constants `k1` and `b` of FTS5's BM25, and its least weight of a term."""
_MORE: Final = 0x80
"""The bit that is set in all bytes of an encoded number but the last."""
_OPEN, _SHUT = "\x01", "\x02"
"""The marks around a stem; no stem contains them."""


class Stemmer:
    """Splits texts into stems as FTS5 does; only one thread at a time may use it."""

    def __init__(self) -> None:
        """Begin without a database; the first text makes one in memory."""
        self._cut: sqlite3.Connection | None = None

    def cut(self, texts: Sequence[str]) -> list[str]:
        """Split texts into stems; the stems of a text follow each other, each between two marks."""
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
        stems_of_texts: list[list[str]] = [[] for _ in texts]
        for stem, text_index in self._cut.execute(
            "SELECT term, doc FROM stems ORDER BY doc, offset"
        ):
            stems_of_texts[text_index].append(f"{_OPEN}{stem}{_SHUT}")
        self._cut.execute("ROLLBACK")
        return ["".join(text_stems) for text_stems in stems_of_texts]


def stems_in(cut: str) -> list[str]:
    """Return the stems of a text that `Stemmer` has cut."""
    return cut[1:-1].split(_SHUT + _OPEN) if cut else []


def size_of(cut: str) -> int:
    """Count the stems of a text that `Stemmer` has cut."""
    return cut.count(_OPEN)


def times(term: str, text: str) -> int:
    """Count how often a term occurs in a text, both cut; occurrences of a phrase may overlap."""
    count, position = 0, text.find(term)
    while position >= 0:
        count, position = count + 1, text.find(term, position + 1)
    return count


@overload
def bm25(weight: float, times: int, size: int, mean_size: float) -> float: ...


@overload
def bm25(
    weight: float, times: NDArray[np.integer], size: NDArray[np.int32], mean_size: float
) -> NDArray[np.float64]: ...


def bm25(weight: float, times: Any, size: Any, mean_size: float) -> Any:
    """Compute the BM25 of a text, or of each of several ones, for one term.

    Args:
        weight: the weight of the term.
        times: how often the text has the term.
        size: the number of stems of the text.
        mean_size: the mean number of stems of all texts.
    """
    return weight * (times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * size / mean_size)))


def weight_of(frequency: int, total: int) -> float:
    """Compute the weight of a term that `frequency` of `total` texts have."""
    return max(_LEAST, math.log((total - frequency + 0.5) / (frequency + 0.5)))


def extent(connection: sqlite3.Connection, words: str) -> tuple[int, int]:
    """Read the number of texts of an FTS5 table, and of all their stems.

    FTS5 stores both in its first record.
    """
    query = f"SELECT block FROM {words}_data WHERE id = 1"  # noqa: S608 - our own names
    record = connection.execute(query).fetchone()
    decoded_counts = decoded_varints(record[0]) if record else []
    text_total, stem_total, *_ = [*decoded_counts, 0, 0]
    return text_total, stem_total


def decoded_varints(encoded: bytes) -> list[int]:
    """Decode integers in SQLite's variable-length encoding."""
    decoded_numbers = []
    number = 0
    for byte in encoded:
        number = number << 7 | byte & ~_MORE
        if not byte & _MORE:
            decoded_numbers.append(number)
            number = 0
    return decoded_numbers


def decoded_sizes(records: Sequence[bytes]) -> NDArray[np.int32]:
    """Decode the first integer of many records in SQLite's variable-length encoding."""
    import numpy as np  # noqa: PLC0415 - costs 0.1 s

    lengths = np.fromiter(map(len, records), np.int64, len(records))
    numbers = np.zeros(len(records), np.int32)
    encoded = np.frombuffer(b"".join(records), np.uint8)
    places = np.cumsum(lengths) - lengths
    unfinished = np.arange(len(records))
    while len(unfinished):
        digits = encoded[places[unfinished]].astype(np.int32)
        numbers[unfinished] = numbers[unfinished] << 7 | digits & ~_MORE
        unfinished = unfinished[digits >= _MORE]
        places[unfinished] += 1
    return numbers


def integers(
    connection: sqlite3.Connection, query: str, *values: object
) -> list[NDArray[np.int64]]:
    """Return the columns of a query whose columns are each a `group_concat` of integers.

    A row of integers costs five times as much, since each becomes an object.
    """
    import numpy as np  # noqa: PLC0415 - costs 0.1 s

    columns = connection.execute(query, values).fetchone()
    return [np.fromstring(column or "", np.int64, sep=",") for column in columns]


def texts_of(
    connection: sqlite3.Connection, kind: Kind, numbers: Sequence[TextId]
) -> list[tuple[TextId, str]]:
    """Read texts of a kind with their numbers, in the order of `numbers`."""
    rows = connection.execute(
        "SELECT t.id, t.text FROM json_each(?) AS wanted"
        " CROSS JOIN texts AS t ON t.id = wanted.value AND t.kind = ?",
        (json.dumps(numbers), kind.table),
    )
    return rows.fetchall()
