"""The prime of a branch as a file: the text that a session gets at its start.

A process that writes to the memory renews the file (`services.prime.renewing`). A hook only reads
it, since a hook cannot ask the engine. Both use the file's name and the store's stamp from here.
The text is framed and marked as data already. The file is one JSON object:

    {"format": 1, "branch": NAME, "at": COMMIT, "made_at": ISO 8601, "chars": NUMBER, "text": TEXT,
     "space": NAME or null, "stamp": [...], "pinned": [IDs], "ageless": [IDs],
     "forgotten": NUMBER, "ends": [[LINE, MICROSECONDS UTC], ...], "sum": NUMBER}

`sum` is a checksum of the other fields; a file with another checksum is damaged and is not read. A
file that an earlier day1 wrote has no checksum.

A redaction deletes all primes. `prime.forgotten` counts these deletions, and a prime that was read
from the memory before the last deletion is not used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from zlib import crc32

FORMAT: Final = 1
FOLDER: Final = "prime"
FRAME: Final = "day1-memory"
"""The word in the marks around a prime."""
_PRIME: Final = ".json"
"""The ending of the file name of a prime."""
_TOLD: Final = ".told"
"""The ending of the file name of a prime that a session got."""
_FRESH: Final = ".new"
"""The ending of the file name of a half-written file."""
_MOST_TOLD: Final = 100
"""Maximum number of sessions for which the last prime is kept."""
_MAX_BYTES: Final = 256 * 1024
"""Maximum number of bytes of a prime's file."""
FORGOTTEN: Final = "prime.forgotten"
"""The file that has one byte for each deletion of all primes."""
_STORED: Final = "memory.db"
"""The file that every write of rows changes and reading does not."""
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags that open a file for reading without waiting, even if it is a pipe."""
_COUNTING: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)
"""Flags that open `FORGOTTEN` to append a byte."""
_LONGEST_KEY: Final = 100
"""The most characters of a branch or space in a file's name; a longer one ends in its hash."""


class Prime(NamedTuple):
    """The text that a session gets, and the state of the memory from which it was made."""

    branch: str
    at: str
    """The commit of the state."""
    text: str
    stamp: Any
    """The store's `stamp_of` when the prime was made; if it differs now, the text may be old."""
    space: str | None = None
    """The space whose facts the prime has beside the shared ones."""
    pinned: tuple[str, ...] = ()
    """The ids of the branch's pinned facts: the next renewal reads only what changed since."""
    evergreen: tuple[str, ...] | None = None
    """The ids of the newest facts that say how to work; None: an earlier day1 did not note them.

    The file calls them `ageless`, as all versions read it."""
    ends: tuple[tuple[int, int], ...] = ()
    """The numbers of the lines whose facts end, each with that time (microseconds UTC)."""


def file_name(branch: str, space: str | None = None) -> str:
    """Build a safe file name from the names of a branch and a space."""
    stem = _key(branch) if space is None else f"{_key(branch)}@{_key(space)}"
    return f"{stem}{_PRIME}"


def _key(name: str) -> str:
    quoted_name = quote(name, safe="", errors="replace")
    if len(quoted_name) <= _LONGEST_KEY:
        return quoted_name
    from hashlib import sha256  # noqa: PLC0415 - seldom needed, and slow to import

    return f"{quoted_name[:60]}~{sha256(quoted_name.encode()).hexdigest()[:16]}"


def path_of(store: Path, branch: str, space: str | None = None) -> Path:
    """Return the path of a branch's prime."""
    return store / FOLDER / file_name(branch, space)


def stamp_of(store: Path) -> list[int]:
    """Return a value that changes with each write of rows: size and time of the store's file.

    For a store on a server it is empty: this machine does not see the store's writes.
    """
    try:
        file_status = (store / _STORED).stat()
    except OSError:
        return []
    return [file_status.st_size, file_status.st_mtime_ns]


def times_forgotten(store: Path) -> int:
    """Count the deletions of all primes; take it before reading the memory for a prime."""
    try:
        return (store / FORGOTTEN).lstat().st_size
    except OSError:
        return 0


def read(store: Path, branch: str, space: str | None = None) -> Prime | None:
    """Read the prime of a branch; None if there is no readable one."""
    prime = _read(path_of(store, branch, space), times_forgotten(store))
    return prime if prime is not None and prime.branch == branch else None


def told_at(prime: Prime, now: int) -> Prime:
    """Return a prime without the lines of its text that have ended by now (microseconds UTC)."""
    ended_numbers = {line_number for line_number, end in prime.ends if end <= now}
    if not ended_numbers:
        return prime
    numbered_lines = enumerate(prime.text.split("\n"))
    return prime._replace(
        text="\n".join(
            line for line_number, line in numbered_lines if line_number not in ended_numbers
        )
    )


def _read(path: Path, times_deleted: int) -> Prime | None:
    fields = _said(path)
    if fields is None or fields.get("format") != FORMAT:
        return None
    if fields.get("forgotten", 0) != times_deleted:
        return None
    branch, commit, prime_text = (fields.get(name) for name in ("branch", "at", "text"))
    space = fields.get("space")
    if not (isinstance(branch, str) and isinstance(commit, str) and isinstance(prime_text, str)):
        return None
    return Prime(
        branch,
        commit,
        prime_text,
        fields.get("stamp"),
        space if isinstance(space, str) else None,
        _ids(fields.get("pinned")) or (),
        _ids(fields.get("ageless")),
        _ends(fields.get("ends")),
    )


def _ids(value: Any) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list) else None


def _ends(value: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((int(line_number), int(end)) for line_number, end in value or ())
    except (TypeError, ValueError, OverflowError):
        return ()


def _said(path: Path) -> dict[str, Any] | None:
    try:
        with os.fdopen(os.open(path, _OPEN_FLAGS), "rb") as file:
            document = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("sum") not in {None, _sum_of(document)}:
        return None
    return document


def _sum_of(fields: Mapping[str, Any]) -> int:
    """Compute the checksum of a file's content."""
    fields_without_sum = {name: value for name, value in fields.items() if name != "sum"}
    return crc32(json.dumps(fields_without_sum, sort_keys=True).encode())


def damaged(store: Path) -> list[str]:
    """List the damaged files of primes, by their paths in the store's folder."""
    folder = store / FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        return [FOLDER]
    paths = sorted(_paths(store, {_PRIME}))
    return [f"{FOLDER}/{path.name}" for path in paths if _said(path) is None and path.exists()]


def write(store: Path, fields: Mapping[str, Any]) -> bool:
    """Write a prime to a new file, readable for this user alone, and rename it over the old one.

    Returns:
        False if all primes were deleted since the memory was read: then the prime is not kept.

    Raises:
        OSError: the folder of the store is gone, read-only or full; an earlier file stays.
    """
    path = path_of(store, fields["branch"], fields.get("space"))
    # Halves of letters, which no file can hold, are replaced before the sum is taken.
    json_bytes = json.dumps({"format": FORMAT, **fields}, ensure_ascii=False).encode(
        "utf-8", "replace"
    )
    document = json.loads(json_bytes)
    document["sum"] = _sum_of(document)
    document_bytes = json.dumps(document, ensure_ascii=False).encode()
    return _put(store, path, document_bytes, fields.get("forgotten", 0))


def _put(store: Path, path: Path, content: bytes, forgotten: int) -> bool:
    """Write a file, unless all primes were deleted since `forgotten` was counted; see `write`."""
    new_file = path.with_suffix(f".{os.getpid()}{_FRESH}")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if path.parent.is_symlink():
        raise NotADirectoryError(path.parent)

    def is_late() -> bool:
        return times_forgotten(store) != forgotten

    try:
        descriptor = os.open(new_file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        new_file.replace(path)
    except OSError:
        with suppress(OSError):
            new_file.unlink()
        if is_late():  # the deletion removed the new file
            return False
        raise
    if is_late():  # the deletion may have listed the files before this one was there
        path.unlink(missing_ok=True)
        return False
    return True


def note_told(store: Path, session: str, text: str, forgotten: int) -> None:
    """Store the prime that a session got, for a server that gives hints in the session.

    It is not stored if all primes were deleted more often than `forgotten` times.

    Raises:
        OSError: as `write`.
    """
    path = _told_path(store, session)
    _put(store, path, text.encode("utf-8", "replace"), forgotten)
    told_paths = sorted(_paths(store, {_TOLD}), key=_changed)
    for old_path in told_paths[:-_MOST_TOLD]:
        old_path.unlink(missing_ok=True)


def told(store: Path, session: str) -> tuple[int, str] | None:
    """Read when a session last got a prime (nanoseconds), and its text; None if unknown."""
    try:
        with os.fdopen(os.open(_told_path(store, session), _OPEN_FLAGS), "rb") as file:
            told_ns = os.fstat(file.fileno()).st_mtime_ns
            return told_ns, file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _told_path(store: Path, session: str) -> Path:
    return store / FOLDER / f"{_key(session)}{_TOLD}"


def lines_of(text: str) -> list[str]:
    """Return a prime's lines without its marks and notice, for callers with marks of their own."""
    lines = text.split("\n")
    is_framed = lines[0].startswith(f"<{FRAME} ") and lines[-1] == f"</{FRAME}>"
    return lines[2:-1] if is_framed else lines


def restamp(store: Path, prime: Prime, stamp: list[int]) -> None:
    """Record that a prime is up to date with the store of this stamp.

    Raises:
        OSError: as `write`.
    """
    fields = _said(path_of(store, prime.branch, prime.space))
    if fields is not None and fields.get("stamp") != stamp and fields.get("at") == prime.at:
        write(store, {**fields, "stamp": stamp})


def kept(store: Path) -> list[Prime]:
    """Read every readable prime of a store, newest file first."""
    times_deleted = times_forgotten(store)
    paths_and_primes = ((path, _read(path, times_deleted)) for path in _paths(store, {_PRIME}))
    times_and_primes = [
        (_changed(path), prime) for path, prime in paths_and_primes if prime is not None
    ]
    times_and_primes.sort(key=lambda entry: -entry[0])
    return [prime for _, prime in times_and_primes]


def drop(store: Path, branch: str, space: str | None) -> None:
    """Remove the prime of a branch.

    Raises:
        OSError: it could not be removed.
    """
    path_of(store, branch, space).unlink(missing_ok=True)


def forget(store: Path) -> None:
    """Remove every prime, also those of sessions and half-written ones: one may hold hidden words.

    A prime made from a reading before this call is neither kept nor read.

    Raises:
        OSError: a file could not be removed, or the deletion could not be counted.
    """
    try:
        _count(store / FORGOTTEN)
    finally:
        for path in _paths(store, {_PRIME, _TOLD, _FRESH}):
            path.unlink(missing_ok=True)


def _count(path: Path) -> None:
    """Append a byte to a file, durably."""
    descriptor = os.open(path, _COUNTING, 0o666)
    try:
        os.write(descriptor, b".")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _paths(store: Path, endings: Container[str]) -> Iterator[Path]:
    folder = store / FOLDER
    with suppress(OSError):  # a link, which came with somebody's store, leads to others' files
        paths = () if folder.is_symlink() else folder.iterdir()
        yield from (path for path in paths if path.suffix in endings)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
