"""Read and write files of lines."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from day1.errors import InvalidRequest, NotFound
from day1.foreign_files import lines_in, open_file_or_pipe, shown
from day1.interfaces.cli.render import escaped, leave, output_failed


@contextmanager
def lines_of(path: Path) -> Iterator[Iterable[bytes]]:
    """Open the lines of a file or a pipe; `-` is stdin.

    Raises:
        NotFound: there is no such file, or it is a folder.
        ImportBroken: it is a device, or a pipe without a writer, or a line of it has no end.
    """
    if str(path) == "-":
        yield lines_in(sys.stdin.buffer, path)
        return
    if not path.exists() or path.is_dir():
        raise NotFound(f"There is no file {shown(path)}, or it is a folder.", path=shown(path))
    with open_file_or_pipe(path) as file:
        yield lines_in(file, path)


def write_lines(lines: Iterable[bytes], file: IO[bytes]) -> int:
    """Write lines and return their number. When the reader is gone, end the process silently.

    On a terminal, characters that would control it are escaped as in JSON.

    Raises:
        OutputFailed: stdout cannot be written.
        OSError: another file cannot be written.
    """
    line_count, is_terminal = 0, file.isatty()
    try:
        for line in lines:
            file.write(escaped(line.decode()).encode() if is_terminal else line)
            line_count += 1
        file.flush()
    except BrokenPipeError:
        leave()
    except OSError as exc:
        if file is sys.stdout.buffer:
            raise output_failed(exc) from exc
        raise
    return line_count


def write_file(lines: Iterable[bytes], output: Path) -> int:
    """Write a file whole or not at all; a pipe or device is written to directly.

    A link stays, and the file that it names is written.

    Raises:
        InvalidRequest: it cannot be written.
    """
    try:
        if output.exists() and not output.is_file():
            with output.open("wb") as file:
                return write_lines(lines, file)
        return _replace(lines, Path(os.path.realpath(output)))
    except OSError as exc:
        raise InvalidRequest(
            f"{output} cannot be written: {exc.strerror}. Name another file.", path=str(output)
        ) from exc


def _replace(lines: Iterable[bytes], output: Path) -> int:
    new_file = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with new_file.open("wb") as file:
            line_count = write_lines(lines, file)
            os.fsync(file.fileno())
        if output.exists():  # keep who may read it
            shutil.copymode(output, new_file)
        new_file.replace(output)
    finally:
        new_file.unlink(missing_ok=True)
    return line_count
