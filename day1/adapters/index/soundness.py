"""Checking all of `index.db` for damage that a search would not notice.

SQLite has no checksums of pages. So content that the file has twice, or that follows from the
texts, is compared: each text with its hash, the words of the full-text index with those of the
texts, the texts with their vectors.
"""

import sqlite3
from contextlib import closing
from itertools import zip_longest

from day1.adapters.index.bm25 import extent
from day1.adapters.index.database import make_tables, words_of
from day1.model.rows.kind import KINDS, Kind
from day1.model.values.ids import content_hash

_SPACES_AT_ODDS = """
SELECT 1 FROM spaces AS s WHERE s.vectors <= (SELECT coalesce(max(position), -1) FROM vectors
    WHERE space = s.id)
UNION ALL SELECT 1 FROM vectors WHERE space NOT IN (SELECT id FROM spaces)
UNION ALL SELECT 1 FROM waiting WHERE space NOT IN (SELECT id FROM spaces)
UNION ALL SELECT 1 FROM waiting AS w JOIN vectors AS v ON v.text = w.text AND v.space = w.space
UNION ALL SELECT 1 FROM vectors WHERE text NOT IN (SELECT id FROM texts)
UNION ALL SELECT 1 FROM waiting WHERE text NOT IN (SELECT id FROM texts)
UNION ALL SELECT 1 FROM sqlite_sequence WHERE seq < (SELECT max(id) FROM texts) OR seq >= 1 << 40
LIMIT 1"""
"""A query for contradictions: a space with fewer vectors than are in use, a vector or waiting entry
without its space or text, a waiting text that has a vector, an impossible last text number."""


def is_sound(connection: sqlite3.Connection, *, read_only: bool) -> bool:
    """Whether SQLite finds no damage in `index.db`, and all comparisons match.

    Raises:
        sqlite3.DatabaseError: FTS5 finds damage in its own pages; it checks only writable files.
    """
    for kind in KINDS if not read_only else ():
        if kind.text:
            words_table = words_of(kind.table)
            connection.execute(
                f"INSERT INTO {words_table} ({words_table}) VALUES ('integrity-check')"  # noqa: S608 - our own names
            )
    connection.execute("BEGIN")  # otherwise concurrent writes would look like damage
    if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        return False
    text_rows = connection.execute("SELECT content_hash, text FROM texts")
    return (
        all(content_hash(text) == stored_hash for stored_hash, text in text_rows)
        and connection.execute(_SPACES_AT_ODDS).fetchone() is None
        and _words_are_sound(connection)
    )


def _words_are_sound(connection: sqlite3.Connection) -> bool:
    """Whether the full-text index of each kind equals one built again from its texts."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as rebuilt_index:
        make_tables(rebuilt_index)
        rebuilt_index.execute("BEGIN")
        return all(_are_same(connection, rebuilt_index, kind) for kind in KINDS if kind.text)


def _are_same(connection: sqlite3.Connection, fresh: sqlite3.Connection, kind: Kind) -> bool:
    """Compare the places of terms and the lengths of texts in two full-text indexes."""
    words_table, databases = words_of(kind.table), (connection, fresh)
    fresh.executemany(
        f"INSERT INTO {words_table} (rowid, text) VALUES (?, ?)",  # noqa: S608 - our own names
        connection.execute("SELECT id, text FROM texts WHERE kind = ?", (kind.table,)),
    )
    for database in databases:  # removed when the transaction is rolled back
        database.execute(
            f"CREATE VIRTUAL TABLE temp.{words_table}_terms"
            f" USING fts5vocab (main, {words_table}, instance)"
        )
    for statement in (
        f"SELECT term, doc, offset FROM temp.{words_table}_terms",  # noqa: S608 - our own names
        f"SELECT id, sz FROM {words_table}_docsize ORDER BY id",  # noqa: S608 - our own names
        f"SELECT k, v FROM {words_table}_config ORDER BY k",  # noqa: S608 - our own names
    ):
        row_pairs = zip_longest(*(database.execute(statement) for database in databases))
        if not all(row == expected_row for row, expected_row in row_pairs):
            return False
    return extent(connection, words_table) == extent(fresh, words_table)
