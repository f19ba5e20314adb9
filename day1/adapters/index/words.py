"""The keyword side of the index: distinct texts in FTS5, and how far branches are indexed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from typing_extensions import override

from day1.adapters.index.database import Database, changed_edition, fts5_expression, words_of
from day1.adapters.index.small_set_bm25 import SmallSetBm25
from day1.model.rows.kind import Kind
from day1.model.search.wording import Match, any_of, phrase
from day1.ports.index import Again, Cursor, TextId, Words

if TYPE_CHECKING:  # imports numpy, which costs 0.1 s
    from day1.adapters.index.posting_lists import PostingLists

_AT_ONCE = 2_000
"""Maximum number of texts in one transaction, for which other writers wait some 30 ms."""
_MANY = 5_000
"""Number of texts from which posting lists are quicker than FTS5."""
_PATIENCE = 3
"""Number of questions that FTS5 answers first: a process that asks a few reads no lists."""


class SqliteWords(Words):
    """`ports.index.Words` in `index.db`.

    A CROSS JOIN makes SQLite read the tables in the given order: the few wanted rows first.
    """

    def __init__(self, database: Database) -> None:
        """Use the index's file."""
        self._database = database
        self._small_set = SmallSetBm25()
        self._asked = 0
        self._lists: PostingLists | None = None

    @override
    def cursor(self, key: str) -> Cursor | None:
        with self._database.reading() as connection:
            cursor_rows = connection.execute(
                'SELECT "commit", newest FROM cursors WHERE key = ?', (key,)
            ).fetchall()
            return next(_cursors(cursor_rows), None)

    @override
    def cursors(self) -> list[Cursor]:
        with self._database.reading() as connection:
            rows = connection.execute('SELECT "commit", newest FROM cursors ORDER BY moved DESC')
            return list(_cursors(rows.fetchall()))

    @override
    def move(self, key: str, cursor: Cursor) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO cursors"
                " SELECT ?, ?, ?, coalesce(max(moved), 0) + 1 FROM cursors",
                (key, cursor.commit, cursor.newest),
            )

    @override
    def lose_cursors(self) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM cursors")

    @override
    def known(self, kind: Kind, hashes: Sequence[str]) -> dict[str, TextId]:
        with self._database.reading() as connection:
            return _known(connection, kind, hashes)

    @override
    def learn(self, kind: Kind, texts: Mapping[str, str]) -> None:
        known_hashes = self.known(kind, list(texts))
        new_texts = (
            (content_hash, text)
            for content_hash, text in texts.items()
            if content_hash not in known_hashes
        )
        while text_by_hash := dict(islice(new_texts, _AT_ONCE)):
            with self._database.writing() as connection:
                self._learn(connection, kind, text_by_hash)

    def _learn(self, connection: sqlite3.Connection, kind: Kind, texts: dict[str, str]) -> None:
        for known_hash in _known(connection, kind, list(texts)):  # another process added them
            del texts[known_hash]
        connection.executemany(
            "INSERT INTO texts (kind, content_hash, text) VALUES (?, ?, ?)",
            [(kind.table, content_hash, text) for content_hash, text in texts.items()],
        )
        id_by_hash = _known(connection, kind, list(texts))
        connection.executemany(
            f"INSERT INTO {words_of(kind.table)} (rowid, text) VALUES (?, ?)",  # noqa: S608 - our own names
            [(id_by_hash[content_hash], text) for content_hash, text in texts.items()],
        )
        connection.executemany(
            "INSERT INTO waiting SELECT id, ? FROM spaces",
            [(text_id,) for text_id in id_by_hash.values()],
        )

    @override
    def best(self, kind: Kind, match: Match, limit: int) -> dict[TextId, float]:
        words_table, expression = words_of(kind.table), fts5_expression(match)
        terms = _terms_of(match)
        with self._database.reading() as connection:
            if terms and self._has_many(connection):
                score_by_text = self._posting_lists().best(connection, kind, terms, limit)
                if score_by_text is not None:
                    return score_by_text
            rows = connection.execute(
                f"SELECT rowid, -bm25({words_table}) AS score FROM {words_table}"  # noqa: S608 - our own names
                f" WHERE {words_table} MATCH ? ORDER BY score DESC, rowid DESC LIMIT ?",
                (expression, limit),
            )
            return dict(rows.fetchall())

    def _has_many(self, connection: sqlite3.Connection) -> bool:
        """Whether posting lists pay off: from `_MANY` texts on, after `_PATIENCE` questions.

        Numbers of texts only grow, so the highest one tells about how many there are.
        """
        self._asked += 1
        if self._asked <= _PATIENCE:
            return False
        highest_id = connection.execute("SELECT max(id) FROM texts").fetchone()[0]
        return (highest_id or 0) >= _MANY

    def _posting_lists(self) -> PostingLists:
        if self._lists is None:
            from day1.adapters.index.posting_lists import PostingLists  # noqa: PLC0415 - brings numpy

            self._lists = PostingLists()
        return self._lists

    @override
    def newest(self, kind: Kind, match: Match, limit: int) -> list[TextId]:
        words_table, expression = words_of(kind.table), fts5_expression(match)
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT rowid FROM {words_table}"  # noqa: S608 - our own names
                f" WHERE {words_table} MATCH ? ORDER BY rowid DESC LIMIT ?",
                (expression, limit),
            )
            return [text_id for (text_id,) in rows]

    @override
    def scores(
        self, kind: Kind, terms: Sequence[str], texts: Sequence[TextId], *, again: Again = False
    ) -> dict[TextId, float]:
        score_by_text: dict[TextId, float] = {}
        for term_scores in self._each(kind, terms, texts, again=again, together=True):
            for text, score in term_scores.items():
                score_by_text[text] = score_by_text.get(text, 0.0) + score
        return score_by_text

    @override
    def each(
        self, kind: Kind, terms: Sequence[str], texts: Sequence[TextId], *, again: Again = False
    ) -> list[dict[TextId, float]]:
        return self._each(kind, terms, texts, again=again, together=False)

    def _each(
        self,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
        *,
        again: Again,
        together: bool,
    ) -> list[dict[TextId, float]]:
        """Score only the wanted texts among all that match (0.3 ms among 10,000 texts).

        Without the `+` SQLite would query FTS5 for one text after the other, and FTS5 count all
        texts each time. The wanted texts are put into a temporary table, once for all terms.
        """
        if not texts or not terms:
            return [{} for _ in terms]
        words_table = words_of(kind.table)
        statement = (
            f"SELECT rowid, -bm25({words_table}) FROM {words_table} WHERE {words_table} MATCH ?"  # noqa: S608 - our own names
            " AND +rowid IN temp.wanted"
        )
        edition = "" if again is False else self._database.edition()
        with self._database.reading() as connection:
            if not isinstance(again, bool):
                wanted_texts = frozenset(texts)
                scores_by_term = self._small_set.apart(connection, edition, kind, terms, again)
                return [
                    {text_id: score for text_id, score in scores.items() if text_id in wanted_texts}
                    for scores in scores_by_term
                ]
            small_set_scores = (
                self._small_set.each(connection, edition, kind, terms, texts) if again else None
            )
            if small_set_scores is not None:
                return small_set_scores
            if again is False and self._lists is not None and self._has_many(connection):
                posting_list_scores = self._lists.each(connection, kind, terms, texts)
                if posting_list_scores is not None:
                    return posting_list_scores
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (text INTEGER PRIMARY KEY)")
            connection.execute("DELETE FROM temp.wanted")
            connection.execute(
                "INSERT OR IGNORE INTO temp.wanted SELECT value FROM json_each(?)",
                (json.dumps(texts),),
            )
            matches = [any_of(*terms)] if together else list(map(phrase, terms))
            expressions = map(fts5_expression, matches)
            return [
                dict(connection.execute(statement, (expression,)).fetchall())
                for expression in expressions
            ]

    @override
    def hashes(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        return self._of(kind, texts, "content_hash")

    @override
    def texts(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        return self._of(kind, texts, "text")

    def _of(self, kind: Kind, texts: Sequence[TextId], column: str) -> dict[TextId, str]:
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT t.id, t.{column} FROM json_each(?) AS wanted"  # noqa: S608 - our own names
                " CROSS JOIN texts AS t ON t.id = wanted.value AND t.kind = ?",
                (json.dumps(texts), kind.table),
            )
            return {text_id: as_text(cell) for text_id, cell in rows.fetchall()}


def _terms_of(match: Match) -> list[str]:
    """Return the phrases of a match of any of them; none if it asks for something else."""
    matches = match.parts if match.how == "any" else (match,)
    return (
        [part_match.words for part_match in matches]
        if all(part_match.how == "phrase" for part_match in matches)
        else []
    )


def as_text(value: object) -> str:
    """Return the value of a text column.

    Raises:
        TypeError: the value is not a text, because the file is damaged.
    """
    if not isinstance(value, str):
        raise TypeError
    return value


def _cursors(rows: Iterable[tuple[object, object]]) -> Iterator[Cursor]:
    """Build cursors, the states whose words are indexed, from rows of the table `cursors`.

    Raises:
        TypeError: a cell is of another type, because the file is damaged.
    """
    for commit, newest in rows:
        if not (newest is None or isinstance(newest, int)):
            raise TypeError
        yield Cursor(as_text(commit), newest)


def _known(connection: sqlite3.Connection, kind: Kind, hashes: Sequence[str]) -> dict[str, TextId]:
    rows = connection.execute(
        "SELECT t.content_hash, t.id FROM json_each(?) AS wanted"
        " CROSS JOIN texts AS t ON t.kind = ? AND t.content_hash = wanted.value",
        (json.dumps(hashes), kind.table),
    )
    return dict(rows.fetchall())


def forget(connection: sqlite3.Connection, kind: Kind, text: TextId) -> None:
    """Delete a text and its words, so that the file no longer contains them."""
    words_table = words_of(kind.table)
    connection.execute(
        f"INSERT INTO {words_table} ({words_table}, rowid, text)"  # noqa: S608 - our own names
        " SELECT 'delete', id, text FROM texts WHERE id = ?",
        (text,),
    )
    # FTS5 keeps the words of deleted texts until its segments are merged.
    connection.execute(f"INSERT INTO {words_table} ({words_table}) VALUES ('optimize')")  # noqa: S608 - a name of ours
    connection.execute("DELETE FROM texts WHERE id = ?", (text,))
    connection.execute("DELETE FROM waiting WHERE text = ?", (text,))
    changed_edition(connection)
