"""Another program's SQLite file, read so that neither it nor anything beside it changes.

A file that is at rest is opened as immutable: SQLite then makes no `-wal` and no `-shm` beside it
and takes no lock. One that is in use, or was left with a journal, is copied with it, and
the copy is read.
"""

import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from day1.errors import ImportBroken, InvalidRequest, Json
from day1.foreign_files import broken, open_file

_JOURNALS = ("-wal", "-journal")
_MOST_BYTES = 16 << 20
"""Maximum size of one value in bytes: more than any memory is long."""
_MOST_OF_ALL = 16 << 30
"""Maximum size of a database in bytes."""
_TRIES = 5
_REST_S = 0.2

Stamp = Sequence[tuple[int, int] | None]


class SqliteFile:
    """An open SQLite file of another program; `opened` makes it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Take an open connection to the file at `path`, or to its copy."""
        self._connection, self.path = connection, path

    def has(self, table: str) -> bool:
        """Whether the file has a table of that name; views do not count."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._connection.execute(query, (table,)).fetchone() is not None

    def rows(
        self, table: str, needed: Sequence[str], optional: Sequence[str] = ()
    ) -> Iterator[dict[str, Json]]:
        """Yield the rows of a table in the order in which they were added.

        Columns that this version of the table has not are None. A text that is not UTF-8 has lone
        surrogates, and so has one that was kept as bytes.

        Raises:
            InvalidRequest: there is no such table, or it lacks a column that is needed.
        """
        column_rows = self._connection.execute(f'PRAGMA table_info("{table}")')
        present_columns = {row[1] for row in column_rows} if self.has(table) else set()
        missing_columns = [column for column in needed if column not in present_columns]
        if missing_columns:
            problem = f"the table {table} lacks {', '.join(missing_columns)}"
            problem = problem if present_columns else f"there is no table {table}"
            raise InvalidRequest(
                f"{self.path} is of another program, or of a version that day1 does not know: "
                f"{problem}.",
                path=str(self.path),
                table=table,
                missing=missing_columns,
            )
        columns_to_read = [column for column in (*needed, *optional) if column in present_columns]
        empty_columns: dict[str, Json] = dict.fromkeys(optional)
        quoted_columns = ", ".join(f'"{column}"' for column in columns_to_read)
        # The names are constants of ours. A table without rowid is read in the order of its key.
        for row in self._connection.execute(f'SELECT {quoted_columns} FROM "{table}"'):  # noqa: S608 - see above
            row_values = (_text(value) if isinstance(value, bytes) else value for value in row)
            yield empty_columns | dict(zip(columns_to_read, row_values, strict=True))


@contextmanager
def opened(path: Path) -> Iterator[SqliteFile]:
    """Open another program's file.

    Raises:
        ImportBroken: it is no SQLite file, is damaged, or was written to at the same time.
    """
    path = path.resolve()
    with ExitStack() as resources:
        resources.enter_context(open_file(path, _MOST_OF_ALL))  # refuses what is no ordinary file
        old_stamp = _stamp(path)
        opened_path, uri_parameters = path, "mode=ro&immutable=1"
        if any(old_stamp[1:]):
            opened_path = _copied(
                path, Path(resources.enter_context(TemporaryDirectory(prefix="day1-")))
            )
            uri_parameters = "mode=rw"
        try:
            connection = sqlite3.connect(f"{opened_path.as_uri()}?{uri_parameters}", uri=True)
            resources.callback(connection.close)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
            connection.text_factory = _text
            yield SqliteFile(connection, path)
        except (sqlite3.Error, UnicodeDecodeError) as exc:
            # What SQLite says of a damaged schema may be no UTF-8 either.
            cause_text = f" ({exc})" if isinstance(exc, sqlite3.Error) else ""
            raise ImportBroken(
                f"{path} cannot be read as an SQLite database{cause_text}. Mend it or leave it "
                "out.",
                path=str(path),
            ) from exc
        if opened_path == path and _stamp(path) != old_stamp:
            raise _in_use(path)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


def _stamp(path: Path) -> Stamp:
    """Return size and time of change of a file and of its journals; None for a missing one."""

    def of(file: Path) -> tuple[int, int] | None:
        if not file.is_file():
            return None
        file_status = file.stat()
        return (file_status.st_size, file_status.st_mtime_ns) if file_status.st_size else None

    return [of(path), *(of(Path(f"{path}{suffix}")) for suffix in _JOURNALS)]


def _copied(path: Path, folder: Path) -> Path:
    """Copy a file with its journals, as of one moment."""
    for attempt in range(_TRIES):
        time.sleep(_REST_S if attempt else 0)
        old_stamp = _stamp(path)
        for suffix in ("", *_JOURNALS):
            (folder / f"memory{suffix}").unlink(missing_ok=True)
            if suffix and Path(f"{path}{suffix}").is_symlink():
                raise broken(path, 1, "its journal is a link")
            if Path(f"{path}{suffix}").is_file():
                with (
                    open_file(Path(f"{path}{suffix}"), _MOST_OF_ALL) as source_file,
                    (folder / f"memory{suffix}").open("wb") as copy_file,
                ):
                    shutil.copyfileobj(source_file, copy_file)
        if _stamp(path) == old_stamp:
            return folder / "memory"
    raise _in_use(path)


def _in_use(path: Path) -> ImportBroken:
    return ImportBroken(
        f"{path} was written to while it was read. Import it again when its program is idle; "
        "what was imported before is kept.",
        path=str(path),
    )
