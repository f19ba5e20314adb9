"""Translates what the operating system says about the index's files into errors of day1."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from day1.ports.index import IndexBehind

UNUSABLE = (
    "The index cannot be used now: its answers lag or lack. Free some disk space, or give this "
    "user write access to the store's folder."
)


@contextmanager
def usable(file: str) -> Iterator[None]:
    """Use a file of the index for the block.

    Raises:
        IndexBehind: the system does not let this process use it.
    """
    try:
        yield
    except OSError as error:
        raise behind(error, file) from error


def behind(error: OSError, file: str) -> IndexBehind:
    """What it means that the system does not let this process use a file of the index."""
    code = errno.errorcode.get(error.errno or 0, "")
    return IndexBehind(UNUSABLE, file=file, engine_code=code)
