"""Open files of other programs: for reading, and ordinary files only.

A folder may come from a stranger. Links that lead out of it are not followed. Pipes, which may
block, and devices, which may have no end, are not opened. Only a pipe that a person names is read.
"""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

from day1.errors import ImportBroken

MOST_BYTES = 64 << 20
"""Maximum number of bytes of one file of text: far more than a memory, far less than RAM."""
MOST_LINE = 64 << 20
"""Maximum number of bytes of one line of a file that is read line by line."""
PIPE_WAIT_S = 3
"""Seconds to wait for the first byte of a pipe."""


class Lines(Protocol):
    """A stream that is read line by line: a file, a pipe, or an unpacked file."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or its first `size` bytes; empty at the end."""


LeaveOut = Callable[[str, object], None]
"""A function called with the reason why a file or folder is left out, and with its path."""

_NOT_NOTES = frozenset(
    (".git", ".hg", ".day1", "node_modules", ".venv", "venv", "site-packages", "__pycache__")
)


def shown(path: object) -> str:
    r"""Return a path as text; bytes that are not UTF-8 are written as `\xff`."""
    return os.fsencode(str(path)).decode(errors="backslashreplace")


def broken(path: object, line: int, why: str) -> ImportBroken:
    """Build the error of a file with a line that cannot be read."""
    return ImportBroken(
        f"{shown(path)}, line {line}: {why}. Repair the file or leave it out, and import again.",
        path=shown(path),
        line=line,
    )


def open_file_or_pipe(path: Path) -> IO[bytes]:
    """Open a path that a person names: a file, or a pipe with a writer.

    Raises:
        ImportBroken: the path is a device, a folder or a pipe without a writer, or cannot be
            opened.
    """
    descriptor = _opened(path)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return _ordinary(descriptor, path)
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    if not poller.poll(PIPE_WAIT_S * 1000):
        os.close(descriptor)
        raise ImportBroken(
            f"{shown(path)} is a pipe to which nothing was written in {PIPE_WAIT_S} seconds. "
            "Write to it while the command runs, or give the lines on stdin with `-`.",
            path=shown(path),
            line=1,
        )
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


def open_file(path: Path, max_bytes: int | None = None) -> IO[bytes]:
    """Open a file for reading.

    Args:
        path: the path of the file; a link is followed.
        max_bytes: the maximum number of bytes; None: any number.

    Raises:
        ImportBroken: it is a pipe, a device or a folder, has more bytes, or cannot be opened.
    """
    return _ordinary(_opened(path), path, max_bytes)


def _opened(path: Path) -> int:
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its writer.
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as exc:
        raise broken(path, 1, f"the file cannot be read ({exc.strerror})") from exc


def _ordinary(descriptor: int, path: Path, max_bytes: int | None = None) -> IO[bytes]:
    status = os.fstat(descriptor)
    problem = "" if stat.S_ISREG(status.st_mode) else "it is no ordinary file"
    if not problem and max_bytes is not None and status.st_size > max_bytes:
        problem = f"the file is larger than {max_bytes >> 20} MB"
    if problem:
        os.close(descriptor)
        raise broken(path, 1, problem)
    return os.fdopen(descriptor, "rb")


def bytes_of(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        ImportBroken: the file cannot be read, or is larger than 64 MB.
    """
    with open_file(path, MOST_BYTES) as file:
        try:
            data = file.read(MOST_BYTES + 1)
        except OSError as exc:
            raise broken(path, 1, f"the file cannot be read ({exc.strerror})") from exc
    if len(data) > MOST_BYTES:  # it has grown since it was opened
        raise broken(path, 1, f"the file is larger than {MOST_BYTES >> 20} MB")
    return data


def lines_in(file: Lines, path: object, max_bytes: int = MOST_LINE) -> Iterator[bytes]:
    """Yield the lines of an open file, with their line ends.

    Raises:
        ImportBroken: a line is longer than `max_bytes`, or reading fails; `details` names the line.
    """
    line_number = 0
    try:
        while line := file.readline(max_bytes + 1):
            line_number += 1
            if len(line) > max_bytes:
                raise broken(path, line_number, f"the line is longer than {max_bytes >> 20} MB")
            yield line
    except OSError as exc:
        raise broken(path, line_number + 1, f"the file cannot be read ({exc.strerror})") from exc


def files_below(
    folder: Path, is_wanted: Callable[[Path], bool], leave_out: LeaveOut
) -> Iterator[Path]:
    """Yield the files of a folder in order of their names, each with its links resolved.

    Entries that are no ordinary file inside the folder, or whose name is not text, are left out.
    """
    resolved_folder = folder.resolve()

    def unreadable(error: OSError) -> None:
        leave_out("folders that cannot be read", shown(error.filename))

    for parent_path, subfolder_names, file_names in os.walk(folder, onerror=unreadable):
        subfolder_names[:] = sorted(set(subfolder_names) - _NOT_NOTES)
        links = (
            Path(parent_path, name)
            for name in subfolder_names
            if Path(parent_path, name).is_symlink()
        )
        for link in links:
            if not _is_below(resolved_folder, link):
                leave_out("links that lead out of the folder", shown(link))
        for name in sorted(file_names):
            file = Path(parent_path, name)
            if is_wanted(file) and not (reason := why_not(resolved_folder, file)):
                yield file.resolve()
            elif is_wanted(file):
                leave_out(reason, shown(file))


def why_not(top: Path, file: Path) -> str:
    """Say why a file is not read as part of the resolved folder `top`; "" if it is read."""
    try:
        resolved_file = file.resolve(strict=True)
        file_mode = resolved_file.stat().st_mode
    except (OSError, RuntimeError):  # a circle of links is a RuntimeError until Python 3.13
        return "links that lead nowhere"
    if not resolved_file.is_relative_to(top):
        return "links that lead out of the folder"
    if not stat.S_ISREG(file_mode):
        return "pipes, devices and folders with a file's name"
    return "" if is_text(resolved_file.relative_to(top)) else "files whose names are not UTF-8"


def _is_below(top: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(top)
    except (OSError, RuntimeError):
        return True  # it leads nowhere


def is_text(path: object) -> bool:
    """Whether a path can be written as text: file systems allow any bytes in a name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
