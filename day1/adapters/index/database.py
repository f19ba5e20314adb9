"""The file `index.db`: its connections and tables, and deleting it when it is damaged.

Stock SQLite in WAL mode. Several processes have it open; a process that finds it damaged deletes
it together with the vectors, and the others notice the new file. The file's generation is part of
the names of the files that depend on it, so a process that still has the old files open does no
harm.
"""

import logging
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from typing_extensions import override

from day1.adapters.index.failures import (
    UNUSABLE,
    behind,
    error_name,
    is_certain_damage,
    is_damage,
    usable,
)
from day1.adapters.index.lock import FileLock
from day1.errors import Day1Error
from day1.model.rows.kind import KINDS
from day1.model.search.wording import Match
from day1.ports.index import IndexBehind, IndexLost

log = logging.getLogger(__name__)

FILE = "index.db"
VECTORS = "vectors"
CHROMA_FILE = "chroma/chroma.sqlite3"
"""The file that is there if Chroma's own files are."""

_VERSION = 2
TOKENIZER = "porter unicode61"
"""The FTS5 tokenizer, which splits texts and questions into stems."""
_EMBEDDING_S = 60.0
"""Seconds that a process waits while another writes a batch of vectors, at most."""
FileId = tuple[int, int]
"""The device and inode of a file, which identify it."""
_TABLES = """
CREATE TABLE meta (generation TEXT NOT NULL);
CREATE TABLE cursors (key TEXT PRIMARY KEY, "commit" TEXT NOT NULL, newest INTEGER, moved INTEGER);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, content_hash TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE (kind, content_hash));
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER NOT NULL,
    vectors INTEGER NOT NULL DEFAULT 0, UNIQUE (name, dimension));
CREATE TABLE vectors (
    space INTEGER, position INTEGER, text INTEGER NOT NULL, passage INTEGER NOT NULL,
    PRIMARY KEY (space, position)) WITHOUT ROWID;
CREATE INDEX vectors_text ON vectors (text);
CREATE TABLE waiting (space INTEGER, text INTEGER, PRIMARY KEY (space, text)) WITHOUT ROWID;
CREATE TABLE neighbours (
    space INTEGER, kind TEXT, fed INTEGER NOT NULL, PRIMARY KEY (space, kind)) WITHOUT ROWID;
CREATE TABLE forgotten (space INTEGER, kind TEXT, position INTEGER);
"""
"""Statements that create the tables. `texts` never uses a number twice. The FTS5 tables, one for
each kind, keep no copies of texts. Each embedder has a space. `vectors` tells which row of a
space's file belongs to which passage, `waiting` which texts have no vector yet. `neighbours` tells
up to which row Chroma surely has the rows of a kind, `forgotten` which rows it must delete. `meta`
has the generation, and in its second row a value that changes each time texts are removed."""


_GENERATION = "SELECT generation FROM meta ORDER BY rowid"
_OF_EVERY_VERSION = frozenset({"meta", "cursors", "texts"})
FOREIGN = (
    f"{FILE} in the store's folder belongs to another program and is left unchanged, so only "
    "words are searched: give day1 a folder of its own (DAY1_HOME)."
)


class Database:
    """Lends connections to `index.db`, and notices when the file was replaced."""

    def __init__(self, folder: Path, *, read_only: bool, wait_s: float) -> None:
        """Prepare without opening the file; writers wait for each other up to `wait_s` seconds."""
        self.folder = folder
        self.read_only = read_only
        self._path = folder / FILE
        self._wait_s = wait_s
        self._making = FileLock(folder / "index.lock", wait_s)
        self.embedding = FileLock(folder / "vectors.lock", _EMBEDDING_S)
        """The lock that a process holds while it writes vectors."""
        self._guard = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        self._file: FileId | None = None
        self._generation = ""
        self._mistrusted = False
        """Whether the file was replaced because of an error without a code of SQLite for damage."""

    def generation(self) -> str:
        """Return the file's generation, which changes when the file is replaced."""
        with self.reading():
            return self._generation

    def edition(self) -> str:
        """Return a value that changes when the file is replaced or texts are removed from it."""
        with self.reading() as connection:
            return edition_of(connection)

    @contextmanager
    def reading(self, generation: str | None = None) -> Iterator[sqlite3.Connection]:
        """Lend a connection; each statement sees the newest state, unless the block sends BEGIN.

        Args:
            generation: the generation that the file must have; None: any.

        Raises:
            IndexLost: the file was damaged, and is empty now; or it has another generation.
            IndexBehind: the file cannot be opened.
        """
        file_id: FileId | None = None
        connection = None
        with self._trusting(lambda: file_id):
            try:
                connection, file_id = self._borrow()
                if generation not in (None, generation_of(connection)):
                    raise IndexLost("The index was replaced meanwhile; try again.")
                yield connection
            finally:
                if connection is not None:
                    self._give_back(connection, file_id)

    @contextmanager
    def _trusting(self, opened: Callable[[], FileId | None]) -> Iterator[None]:
        """Treat errors of a block as damage of the index, unless they are the system's.

        An undamaged index raises no errors. If a new file raises such an error again, the file was
        not the cause: then the index counts as unusable. `opened` returns the file that the block
        uses.
        """
        try:
            yield
        except (Day1Error, sqlite3.ProgrammingError):  # ProgrammingError: this process closed it
            raise
        except OSError as error:
            raise behind(error, FILE) from error
        except Exception as error:  # noqa: BLE001 - what a damaged file makes a reader raise is any
            self._translate(error, opened())

    @contextmanager
    def writing(self, generation: str | None = None) -> Iterator[sqlite3.Connection]:
        """Lend a connection inside a transaction, which ends with the block.

        Raises:
            IndexBehind: nothing can be written now.
            IndexLost: as `reading`, also about `generation`.
        """
        if self.read_only:
            raise IndexBehind("The store's folder is read-only: its index stays as it is.")
        with self.reading(generation) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def _lose(self, file: FileId | None) -> NoReturn:
        """Delete a damaged index, unless somebody replaced it since `file` was opened.

        Raises:
            IndexLost: always, so that the caller indexes again.
            IndexBehind: the folder may not be written.
        """
        if self.read_only:
            raise IndexBehind(
                "The index is damaged, and the folder is read-only: give this user write access."
            )
        with self._making.held(wait=True), usable(FILE):
            if self._identity() == (file or self._file):  # None: it could not be opened
                log.warning("the index is damaged: it is deleted and built again")
                for path in [*self.folder.glob(f"{FILE}*"), *self.folder.glob(f"{VECTORS}/*")]:
                    remove(path)
        raise IndexLost("The index was damaged and is being built again; try again.")

    def close(self) -> None:
        """Close connections that are not in use, and write the WAL back into the file."""
        with self._guard:
            free_connections, self._free, self._file = self._free, [], None
        for index, connection in enumerate(free_connections):
            if index == 0 and not self.read_only:
                _checkpoint(connection)
            connection.close()

    def checkpoint(self) -> None:
        """Write the WAL back into the file, so that no file holds deleted text."""
        with self.reading() as connection:
            _checkpoint(connection)

    def _identity(self) -> FileId | None:
        try:
            file_status = self._path.stat()
        except FileNotFoundError:
            return None
        return file_status.st_dev, file_status.st_ino

    def _borrow(self) -> tuple[sqlite3.Connection, FileId | None]:
        try:
            file_id = self._identity()
            with self._guard:
                if file_id is not None and file_id == self._file and self._free:
                    return self._free.pop(), file_id
                stale_connections = self._free if file_id != self._file else []
                if stale_connections:
                    self._free = []
            for connection in stale_connections:
                connection.close()
            return self._connect()
        except OSError as error:
            raise behind(error, FILE) from error

    def _give_back(self, connection: sqlite3.Connection, file: FileId | None) -> None:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # closing the connection ends the transaction
                connection.rollback()
        with self._guard:
            if file is not None and file == self._file and not connection.in_transaction:
                self._free.append(connection)
                return
        connection.close()

    def _connect(self) -> tuple[sqlite3.Connection, FileId | None]:
        if self.read_only:
            return self._opened("mode=ro&immutable=1")
        if self._identity() is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._making.held(wait=True):  # nobody may delete or make the file meanwhile
            return self._opened("mode=rwc")

    def _opened(self, mode: str) -> tuple[sqlite3.Connection, FileId | None]:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self._path.absolute()))}?{mode}",
            uri=True,
            timeout=self._wait_s,
            isolation_level=None,
            check_same_thread=False,
        )
        file_id = self._identity()
        try:
            self._prepare(connection)
            generation = generation_of(connection)
        except BaseException:
            connection.close()
            with self._guard:
                self._file = file_id
            raise
        with self._guard:
            self._file, self._generation = file_id, generation
        return connection, file_id

    def _prepare(self, connection: sqlite3.Connection) -> None:
        schema_names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        if schema_names and not schema_names >= _OF_EVERY_VERSION:
            if 2 * len(schema_names & _own_names()) > len(schema_names):
                raise Damaged  # our file, with a damaged name
            raise IndexBehind(FOREIGN, file=FILE)
        schema_version = connection.execute("PRAGMA user_version").fetchone()[0]
        if schema_version not in (0, _VERSION) or (self.read_only and schema_version == 0):
            raise Damaged
        if self.read_only:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        if schema_version == 0:
            make_tables(connection)
        connection.execute("SELECT count(*) FROM meta").fetchone()

    def _translate(self, error: Exception, file: FileId | None) -> NoReturn:
        name_of_error = error_name(error)
        if isinstance(error, Damaged) or is_certain_damage(error):
            self._lose(file)
        if self._mistrusted or not is_damage(error):
            raise IndexBehind(UNUSABLE, file=FILE, engine_code=name_of_error) from error
        log.warning("reading the index raised %s", name_of_error)
        self._mistrusted = not self.read_only
        self._lose(file)


class MemoryDatabase(Database):
    """An index with the same tables in memory; threads share its one connection in turns."""

    def __init__(self, folder: Path) -> None:
        """Make the tables in memory; files in the folder are not used."""
        super().__init__(folder, read_only=False, wait_s=0.0)
        self._turn, self._depth = threading.RLock(), 0
        self._only = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._only.execute("PRAGMA temp_store = MEMORY")  # use no files at all
        make_tables(self._only)
        self._generation = generation_of(self._only)

    @override
    @contextmanager
    def _trusting(self, opened: Callable[[], FileId | None]) -> Iterator[None]:
        yield  # memory is never damaged, and the folder's files are not used

    def _borrow(self) -> tuple[sqlite3.Connection, None]:
        self._turn.acquire()
        self._depth += 1
        return self._only, None

    def _give_back(self, connection: sqlite3.Connection, file: object) -> None:
        del file
        self._depth -= 1
        if not self._depth and connection.in_transaction:
            connection.rollback()
        self._turn.release()


class Damaged(sqlite3.DatabaseError):
    """The error for an index that is damaged, or that another version of day1 made."""


def remove(path: Path) -> None:
    """Delete a file or link; a folder is left, since an index has no folders there."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)


def _checkpoint(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        # It is in use, and SQLite will do it itself.
        log.info("the index could not be checkpointed now")


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty index."""
    words_tables_sql = "".join(
        f"CREATE VIRTUAL TABLE {words_of(kind.table)}"
        " USING fts5 (text, content = 'texts', content_rowid = 'id',"
        f" tokenize = '{TOKENIZER}');"
        for kind in KINDS
        if kind.text
    )
    generation = secrets.token_hex(4)
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} {words_tables_sql} INSERT INTO meta VALUES ('{generation}');"  # noqa: S608 - our own text
        f"PRAGMA user_version = {_VERSION}; COMMIT;"
    )


@cache
def _own_names() -> frozenset[str]:
    """Return the names of all tables and indexes of `index.db`."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection)
        name_rows = connection.execute("SELECT name FROM sqlite_schema")
        return frozenset(name for (name,) in name_rows)


def generation_of(connection: sqlite3.Connection) -> str:
    """Return the generation of the file that a connection has open."""
    return str(connection.execute(_GENERATION).fetchone()[0])


def edition_of(connection: sqlite3.Connection) -> str:
    """Return the value of `Database.edition` as a connection reads it."""
    return ".".join(meta_value for (meta_value,) in connection.execute(_GENERATION))


def changed_edition(connection: sqlite3.Connection) -> None:
    """Change the edition after texts were removed, so that processes drop their caches."""
    statement = "INSERT OR REPLACE INTO meta (rowid, generation) VALUES (2, ?)"
    connection.execute(statement, (secrets.token_hex(4),))


def fts5_expression(match: Match) -> str:
    """Write a match in the syntax of FTS5; phrases are quoted, so no word is an operator."""
    if match.how == "phrase":
        return '"{}"'.format(match.words.replace('"', '""'))
    operator = " AND " if match.how == "all" else " OR "
    expressions = (
        fts5_expression(part) if part.how == "phrase" else f"({fts5_expression(part)})"
        for part in match.parts
    )
    return operator.join(expressions)


def words_of(table: str) -> str:
    """Return the name of the FTS5 table that indexes the texts of a kind's table."""
    return f"{table}_words"


def rows_written(connection: sqlite3.Connection, space: int) -> int:
    """Return how many rows of a space's vector file are in use."""
    row = connection.execute("SELECT vectors FROM spaces WHERE id = ?", (space,)).fetchone()
    return int(row[0]) if row else 0
