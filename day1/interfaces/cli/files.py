"""Files of lines, read and written whole."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from day1.errors import NotFound
from day1.interfaces.cli.render import leave


@contextmanager
def lines_of(path: Path) -> Iterator[Iterable[bytes]]:
    """The lines of a file; `-` is stdin.

    Raises:
        NotFound: there is no such file.
    """
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    if not path.is_file():
        raise NotFound(f"There is no file {path}.", path=str(path))
    with path.open("rb") as file:
        yield file


def write_lines(lines: Iterable[bytes], file: IO[bytes]) -> int:
    """Write lines; says how many. When the reader is gone, leave without a word."""
    count = 0
    try:
        for line in lines:
            file.write(line)
            count += 1
        file.flush()
    except BrokenPipeError:
        leave()
    return count


def write_file(lines: Iterable[bytes], output: Path) -> int:
    """Write a file whole or not at all."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            count = write_lines(lines, file)
            os.fsync(file.fileno())
        beside.replace(output)
    finally:
        beside.unlink(missing_ok=True)
    return count
