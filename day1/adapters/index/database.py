"""The file `index.db`: its connections and tables, and building it anew when it is damaged.

Stock SQLite in WAL mode. Several processes have it open; one that finds it damaged deletes it
together with the vectors, and the others notice that the file has changed. The file's generation
is part of the names of what depends on it, so a process that still has the old files open does no
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

_VERSION = 2
TOKENIZER = "porter unicode61"
"""What cuts texts and questions into stems."""
_EMBEDDING_S = 60.0
"""How long a process waits for another one's batch of vectors, which takes some seconds."""
FileId = tuple[int, int]
"""The device and the inode of a file."""
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
"""`texts` never uses a number twice. The FTS5 tables, one for each kind, keep no copies of texts.
Each embedder has a space. `vectors` tells which row of a space's file belongs to which passage, and
`waiting` which texts have no vector yet. `neighbours` tells up to which row Chroma surely has the
rows of a kind, and `forgotten` which rows it must delete. `meta` has the generation in its first
row; once texts were taken out, its second has a value that changes each time."""


_GENERATION = "SELECT generation FROM meta ORDER BY rowid"
_OF_EVERY_VERSION = frozenset({"meta", "cursors", "texts"})
FOREIGN = (
    f"{FILE} in the store's folder is another program's and is left as it is, so words alone are "
    "searched: give day1 a folder of its own (DAY1_HOME)."
)


class Database:
    """Lends connections to `index.db`, and notices when the file was made anew."""

    def __init__(self, folder: Path, *, read_only: bool, wait_s: float) -> None:
        """Open nothing yet; writers wait for one another at most `wait_s` seconds."""
        self.folder = folder
        self.read_only = read_only
        self._path = folder / FILE
        self._wait_s = wait_s
        self._making = FileLock(folder / "index.lock", wait_s)
        self.embedding = FileLock(folder / "vectors.lock", _EMBEDDING_S)
        """Whoever writes vectors holds it."""
        self._guard = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        self._file: FileId | None = None
        self._generation = ""
        self._mistrusted = False
        """Whether the file was made anew because of an error that no code of SQLite explains."""

    def generation(self) -> str:
        """The file's generation: another one once the file was made anew."""
        with self.reading():
            return self._generation

    def edition(self) -> str:
        """Another value once the file was made anew, or texts were taken out of it."""
        with self.reading() as connection:
            return ".".join(value for (value,) in connection.execute(_GENERATION))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection; each statement sees the newest state, unless the block sends BEGIN.

        Raises:
            IndexLost: the file was damaged; it is empty now.
            IndexBehind: it cannot be opened.
        """
        file: FileId | None = None
        connection = None
        with self.trusting(lambda: file):
            try:
                connection, file = self._borrow()
                yield connection
            finally:
                if connection is not None:
                    self._give_back(connection, file)

    @contextmanager
    def trusting(self, opened: Callable[[], FileId | None] = lambda: None) -> Iterator[None]:
        """Take what a block raises for damage, unless it is a failure of the system.

        A whole index makes nobody raise anything. If a file that was made anew for such an error
        makes it again, the file was not the cause: then the index counts as unusable.

        Args:
            opened: says which file the block uses; None: the one that was opened last.

        Raises:
            IndexLost: the index was damaged; it is empty now.
            IndexBehind: the system does not let this process use it.
        """
        try:
            yield
        except (Day1Error, sqlite3.ProgrammingError):  # the latter: this process closed it
            raise
        except OSError as error:
            raise behind(error, FILE) from error
        except Exception as error:  # noqa: BLE001 - what a damaged file makes a reader raise is any
            self._translate(error, opened())

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection inside a transaction, which ends with the block.

        Raises:
            IndexBehind: nothing can be written now.
            IndexLost: as `reading`.
        """
        if self.read_only:
            raise IndexBehind("The store's folder is read-only: its index stays as it is.")
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def lose(self, file: FileId | None = None) -> NoReturn:
        """Delete a damaged index, unless another process has done so since `file` was opened.

        Raises:
            IndexLost: always, so that the caller indexes again.
            IndexBehind: the folder may not be written.
        """
        if self.read_only:
            raise IndexBehind("The index is damaged, and the folder is read-only.")
        with self._making.held(wait=True), usable(FILE):
            if self._identity() == (file or self._file):
                log.warning("the index is damaged: it is deleted and built anew")
                for path in [*self.folder.glob(f"{FILE}*"), *self.folder.glob(f"{VECTORS}/*")]:
                    remove(path)
        raise IndexLost("The index was damaged and is being built anew; try again.")

    def close(self) -> None:
        """Close connections that are not in use, and write the WAL back into the file."""
        with self._guard:
            free, self._free, self._file = self._free, [], None
        for number, connection in enumerate(free):
            if number == 0 and not self.read_only:
                _checkpoint(connection)
            connection.close()

    def checkpoint(self) -> None:
        """Write the WAL back into the file, so that deleted text is nowhere."""
        with self.reading() as connection:
            _checkpoint(connection)

    def _identity(self) -> FileId | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _borrow(self) -> tuple[sqlite3.Connection, FileId | None]:
        try:
            file = self._identity()
            with self._guard:
                if file is not None and file == self._file and self._free:
                    return self._free.pop(), file
                stale = self._free if file != self._file else []
                if stale:
                    self._free = []
            for connection in stale:
                connection.close()
            return self._connect()
        except OSError as error:
            raise behind(error, FILE) from error

    def _give_back(self, connection: sqlite3.Connection, file: FileId | None) -> None:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # closing it then ends the transaction
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
        with self._making.held(wait=True):  # so nobody deletes or makes the file meanwhile
            return self._opened("mode=rwc")

    def _opened(self, mode: str) -> tuple[sqlite3.Connection, FileId | None]:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self._path.absolute()))}?{mode}",
            uri=True,
            timeout=self._wait_s,
            isolation_level=None,
            check_same_thread=False,
        )
        file = self._identity()
        try:
            self._prepare(connection)
            generation = connection.execute(_GENERATION).fetchone()[0]
        except BaseException:
            connection.close()
            with self._guard:
                self._file = file
            raise
        with self._guard:
            self._file, self._generation = file, generation
        return connection, file

    def _prepare(self, connection: sqlite3.Connection) -> None:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        if names and not names >= _OF_EVERY_VERSION:
            if 2 * len(names & _own_names()) > len(names):
                raise _NotOurs  # it was, until a name in it changed
            raise IndexBehind(FOREIGN, file=FILE)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION) or (self.read_only and version == 0):
            raise _NotOurs
        if self.read_only:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        if version == 0:
            make_tables(connection)
        connection.execute("SELECT count(*) FROM meta").fetchone()

    def _translate(self, error: Exception, file: FileId | None) -> NoReturn:
        name = error_name(error)
        if isinstance(error, _NotOurs) or is_certain_damage(error):
            self.lose(file)
        if self._mistrusted or not is_damage(error):
            raise IndexBehind(UNUSABLE, file=FILE, engine_code=name) from error
        log.warning("the index made a reader raise %s", name)
        self._mistrusted = not self.read_only
        self.lose(file)


class MemoryDatabase(Database):
    """The same tables in the memory of this process, whose threads take turns."""

    def __init__(self, folder: Path) -> None:
        """Make them; nothing in the folder is used."""
        super().__init__(folder, read_only=False, wait_s=0.0)
        self._turn, self._depth = threading.RLock(), 0
        self._only = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._only.execute("PRAGMA temp_store = MEMORY")  # nor is any other
        make_tables(self._only)
        self._generation = self._only.execute(_GENERATION).fetchone()[0]

    @override
    @contextmanager
    def trusting(self, opened: Callable[[], FileId | None] = lambda: None) -> Iterator[None]:
        yield  # nothing can damage it, and what lies in the folder is another index

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


class _NotOurs(sqlite3.DatabaseError):
    """The file is another version's."""


def remove(path: Path) -> None:
    """Delete a file or a link; a folder, which no index has there, stays."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)


def _checkpoint(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except (
        sqlite3.DatabaseError,
        UnicodeDecodeError,
    ):  # somebody reads or writes; SQLite does it itself before long
        log.info("the index could not be checkpointed now")


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty index."""
    words = "".join(
        f"CREATE VIRTUAL TABLE {words_of(kind.table)}"
        " USING fts5 (text, content = 'texts', content_rowid = 'id',"
        f" tokenize = '{TOKENIZER}');"
        for kind in KINDS
        if kind.text
    )
    generation = secrets.token_hex(4)
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} {words} INSERT INTO meta VALUES ('{generation}');"  # noqa: S608 - our own text
        f"PRAGMA user_version = {_VERSION}; COMMIT;"
    )


@cache
def _own_names() -> frozenset[str]:
    """The names of all tables and indexes of an index."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection)
        names = connection.execute("SELECT name FROM sqlite_schema")
        return frozenset(name for (name,) in names)


def changed_edition(connection: sqlite3.Connection) -> None:
    """Say that texts were taken out: what processes remember of them is void."""
    statement = "INSERT OR REPLACE INTO meta (rowid, generation) VALUES (2, ?)"
    connection.execute(statement, (secrets.token_hex(4),))


def fts5_expression(match: Match) -> str:
    """Say a match in the language of FTS5; every phrase is quoted, so no word is an operator."""
    if match.how == "phrase":
        return '"{}"'.format(match.words.replace('"', '""'))
    operator = " AND " if match.how == "all" else " OR "
    parts = ((part.how, fts5_expression(part)) for part in match.parts)
    return operator.join(part if how == "phrase" else f"({part})" for how, part in parts)


def words_of(table: str) -> str:
    """The FTS5 table that holds the words of a kind."""
    return f"{table}_words"


def rows_written(connection: sqlite3.Connection, space: int) -> int:
    """How many rows of a space's vector file are in use."""
    found = connection.execute("SELECT vectors FROM spaces WHERE id = ?", (space,)).fetchone()
    return int(found[0]) if found else 0
