"""BM25 of few texts that are asked for again and again, such as those of a small space.

For each question FTS5 goes through every text that has a word of it, which takes longer the more
texts all branches have. So for these the stems of each text are kept in memory, as FTS5 cuts them,
and how many texts have a term is counted once, or told from the oldest and the newest texts that
have it. The formula is that of FTS5's `bm25`.
"""

import json
import math
import sqlite3
import threading
from bisect import bisect_right
from collections.abc import Sequence

from day1.adapters.index.database import TOKENIZER, fts5_expression, words_of
from day1.model.rows.kind import Kind
from day1.model.search.wording import phrase
from day1.ports.index import TextId

_FEW = 20
"""With so many texts of a kind for each one that is asked for, FTS5 takes longer than this does."""
_KEPT = 20_000
"""Texts whose stems are kept, some 300 bytes each; then all are forgotten. As many terms."""
_AT_ONCE = 500
_MANY = 10_000
"""Up to so many texts of a kind those with a term are counted."""
_END = 100
"""So many of the oldest and of the newest texts with a term tell how many there are."""
_EACH = 61
"""Of so many texts the number of one is kept: no kinds are written in turns of so many."""
_K1, _B, _LEAST = 1.2, 0.75, 1e-6
"""The constants of FTS5."""
_MORE = 0x80
"""Set in each byte of a number but its last."""
_OPEN, _SHUT = "\x01", "\x02"
"""Around a stem, which never holds them."""


class SmallSetBm25:
    """The BM25 scores of small sets of texts, by stems kept in memory; threads may share it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._guard = threading.Lock()
        self._cut: sqlite3.Connection | None = None
        self._edition = ""
        self._texts: dict[TextId, tuple[int, str]] = {}
        """How many stems a text has, and all of them in one string."""
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}
        """For a kind and a term: how many texts there were, and how many had it."""
        self._numbers: dict[str, tuple[int, list[int]]] = {}
        """For a kind: how many texts there were, and the numbers of one in `_EACH`, in order."""
        self._stems: dict[str, str] = {}

    def each(
        self,
        connection: sqlite3.Connection,
        edition: str,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> list[dict[TextId, float]] | None:
        """What `Words.each` says of few texts among many; None where they are not few.

        `edition` changes when numbers of texts mean something else, or nothing any more.
        """
        total, length = extent(connection, words_of(kind.table))
        if total < _FEW * len(texts):
            return None
        with self._guard:
            self._learn(connection, edition, kind, terms, texts)
            there = [(text, *self._texts[text]) for text in texts if text in self._texts]
            found = []
            for term in terms:
                stem = self._stems[term]
                having = [one for one in there if stem and stem in one[2]]
                weight = self._weight(connection, kind, term, total) if having else 0.0
                found.append(_scores(stem, having, weight, length / total))
            return found

    def apart(
        self,
        connection: sqlite3.Connection,
        edition: str,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> list[dict[TextId, float]]:
        """What `Words.each` says of texts, as if the index had no others."""
        with self._guard:
            self._learn(connection, edition, kind, terms, texts)
            there = [(text, *self._texts[text]) for text in texts if text in self._texts]
            length = sum(size for _, size, _ in there) / max(1, len(there))
            found = []
            for term in terms:
                stem = self._stems[term]
                having = [one for one in there if stem and stem in one[2]]
                weight = _weight_of(len(having), len(there))
                found.append(_scores(stem, having, weight, length))
            return found

    def _learn(
        self,
        connection: sqlite3.Connection,
        edition: str,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> None:
        """Learn the stems of texts and terms that are not known yet."""
        if edition != self._edition or max(len(self._texts), len(self._stems)) > _KEPT:
            self._texts, self._counts, self._numbers, self._stems = {}, {}, {}, {}
            self._edition = edition
        self._read(connection, kind, texts)
        new = [term for term in terms if term not in self._stems]
        self._stems.update(zip(new, self._cut_up(new), strict=True))

    def _read(self, connection: sqlite3.Connection, kind: Kind, texts: Sequence[TextId]) -> None:
        """Learn the stems of texts that are not known yet."""
        new = [text for text in texts if text not in self._texts]
        for start in range(0, len(new), _AT_ONCE):
            some = connection.execute(
                "SELECT t.id, t.text FROM json_each(?) AS wanted"
                " CROSS JOIN texts AS t ON t.id = wanted.value AND t.kind = ?",
                (json.dumps(new[start : start + _AT_ONCE]), kind.table),
            ).fetchall()
            stems = self._cut_up([text for _, text in some])
            for (number, _), each in zip(some, stems, strict=True):
                self._texts[number] = each.count(_OPEN), each

    def _weight(self, connection: sqlite3.Connection, kind: Kind, term: str, total: int) -> float:
        """How much a term tells, by how many texts have it.

        It is counted again once as many texts came or went as would change that by a tenth.
        """
        counted, having = self._counts.get((kind.table, term), (-1, 0))
        if counted < 0 or abs(total - counted) * 10 > having:
            counted, having = total, self._having(connection, words_of(kind.table), term, total)
            self._counts[kind.table, term] = counted, having
        return _weight_of(having, counted)

    def _having(self, connection: sqlite3.Connection, words: str, term: str, total: int) -> int:
        """How many texts have a term: counted, which takes FTS5 longer the more there are, or told.

        It is told, of many texts, where the oldest ones have it about as often as the newest ones.
        """
        matching = f"FROM {words} WHERE {words} MATCH ?"
        expression = fts5_expression(phrase(term))
        among, numbers = list[int](), self._spread(connection, words, total)
        for order, last in (("ASC", "max"), ("DESC", "min")) if total > _MANY else ():
            few, end = connection.execute(
                f"SELECT count(*), {last}(rowid)"  # noqa: S608 - our own names
                f" FROM (SELECT rowid {matching} ORDER BY rowid {order} LIMIT {_END})",
                (expression,),
            ).fetchone()
            if few < _END:
                return int(few)
            older = bisect_right(numbers, end)
            among.append(older if order == "ASC" else len(numbers) - older)
            if among[0] * 2 > len(numbers):
                break
        if among[1:] and 0 < max(among) <= 2 * min(among):
            return min(total, 2 * _END * len(numbers) // sum(among))
        return int(connection.execute(f"SELECT count(*) {matching}", (expression,)).fetchone()[0])

    def _spread(self, connection: sqlite3.Connection, words: str, total: int) -> list[int]:
        """How the texts of a kind lie among those of all: read again when a tenth came or went."""
        counted, numbers = self._numbers.get(words, (0, []))
        if total > _MANY and abs(total - counted) * 10 > counted:
            statement = f"SELECT id FROM {words}_docsize WHERE id % {_EACH} = 0 ORDER BY id"  # noqa: S608
            numbers = [number for (number,) in connection.execute(statement)]
            self._numbers[words] = total, numbers
        return numbers

    def _cut_up(self, texts: Sequence[str]) -> list[str]:
        """Texts, or terms, as FTS5 cuts them: their stems, each between two marks."""
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
            stems[number].append(f"{_OPEN}{stem}{_SHUT}")
        self._cut.execute("ROLLBACK")
        return ["".join(each) for each in stems]


def _weight_of(having: int, total: int) -> float:
    """How much a term tells that so many of all texts have."""
    return max(_LEAST, math.log((total - having + 0.5) / (having + 0.5)))


def _scores(
    stem: str, having: Sequence[tuple[TextId, int, str]], weight: float, mean_size: float
) -> dict[TextId, float]:
    """The BM25 of texts that have a stem, each with its size and all of its stems."""
    scores = {}
    for text, size, stems in having:
        times = _times(stem, stems)
        short = _K1 * (1 - _B + _B * size / mean_size)
        scores[text] = weight * times * (_K1 + 1) / (times + short)
    return scores


def _times(stem: str, stems: str) -> int:
    """How often a term occurs; a phrase may overlap with itself."""
    found, at = 0, stems.find(stem)
    while at >= 0:
        found, at = found + 1, stems.find(stem, at + 1)
    return found


def extent(connection: sqlite3.Connection, words: str) -> tuple[int, int]:
    """How many texts an FTS5 table has, and how many stems they have together.

    FTS5 keeps both as its first record, as two numbers of SQLite's variable length.
    """
    statement = f"SELECT block FROM {words}_data WHERE id = 1"  # noqa: S608 - our own names
    found = connection.execute(statement).fetchone()
    numbers = [0]
    for byte in found[0] if found else b"":
        numbers[-1] = numbers[-1] << 7 | byte & ~_MORE
        if not byte & _MORE:
            numbers.append(0)
    total, length, *_ = [*numbers, 0]
    return total, length
