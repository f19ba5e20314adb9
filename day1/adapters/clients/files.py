"""Read and change a client's file: whole or not at all, and only the bytes that are day1's."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from day1.adapters.clients.documents import Ranges
from day1.model.values.callbacks import KillPoint

_MAX_BYTES: Final = 64 * 1024 * 1024
"""Maximum number of bytes of a settings file."""


class NotTouched(Exception):
    """day1 may not read or write the file."""


class Text(NamedTuple):
    """A text, and which of its bytes are day1's."""

    data: bytes
    own: Ranges


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of one file."""

    path: Path
    before: bytes | None
    """The content of the file; None if there is no file."""
    after: bytes | None
    """The new content of the file; None removes it."""
    texts: tuple[Text, Text]
    """The old and the new text. Without a file the text is an empty document."""
    separators: bytes
    """The bytes that may appear or vanish beside day1's bytes."""

    def check(self) -> None:
        """Check that the change leaves every byte that is not day1's as it was.

        Raises:
            NotTouched: something else than day1's own would change.
        """
        if not same_outside(*self.texts, self.separators):
            raise NotTouched("its form is too unusual for a safe edit: change it by hand")


class Keeper(Protocol):
    """Keeps copies of files as they were before a change."""

    def keep(self, path: Path, data: bytes | None) -> Path | None:
        """Copy a file before a change; return the path of the copy."""


def carry_out(change: Change, copies: Keeper, point: KillPoint) -> Path | None:
    """Change a file after keeping a copy of it; return the copy's path. The one place that writes.

    Raises:
        NotTouched: something that is not day1's would change, or the file cannot be written.
    """
    change.check()
    copy_path = copies.keep(change.path, change.before)
    point("setup-after-backup")
    if change.after is None:
        _remove(change.path, change.before)
    else:
        _replace(change.path, change.before, change.after, point)
    return copy_path


def read(path: Path) -> bytes | None:
    """Return a file's bytes, through links; None if there is no file.

    Raises:
        NotTouched: it is no file, too large, or may not be read or written.
    """
    try:
        file_status = path.stat()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as exc:  # a loop of links
        raise NotTouched(f"the file's status cannot be read ({exc.__class__.__name__})") from exc
    if not stat.S_ISREG(file_status.st_mode):
        raise NotTouched("it is not a regular file")
    if file_status.st_size > _MAX_BYTES:
        raise NotTouched(f"it has more than {_MAX_BYTES:,} bytes")
    if not file_status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NotTouched("it is read-only")
    try:
        return path.read_bytes()
    except OSError as exc:
        raise NotTouched(f"it cannot be read: {exc.strerror}") from exc


def same_outside(one: Text, other: Text, separators: bytes) -> bool:
    """Whether two texts are the same but for day1's bytes, and for separators beside these."""
    pieces, other_pieces = (list(_outside(text, separators)) for text in (one, other))
    while pieces and other_pieces:
        (is_separators, piece), (is_other_separators, other_piece) = (
            pieces.pop(),
            other_pieces.pop(),
        )
        common_prefix_size = _common(piece, other_piece)
        piece, other_piece = piece[common_prefix_size:], other_piece[common_prefix_size:]
        if piece and other_piece:
            if is_separators:
                piece = piece[1:]
            elif is_other_separators:
                other_piece = other_piece[1:]
            else:
                return False
        pieces += [(is_separators, piece)] if piece else []
        other_pieces += [(is_other_separators, other_piece)] if other_piece else []
    return all(may_vanish for may_vanish, _ in (*pieces, *other_pieces))


def _outside(text: Text, separators: bytes) -> Iterator[tuple[bool, bytes]]:
    """Yield the pieces outside day1's ranges, the last first; each says if it is separators."""
    outside_end = len(text.data)
    for own_start, own_end in [*reversed(text.own), (0, 0)]:
        outside_text = text.data[own_end:outside_end]
        rstripped_text = (
            outside_text if outside_end == len(text.data) else outside_text.rstrip(separators)
        )
        stripped_text = rstripped_text if not own_end else rstripped_text.lstrip(separators)
        pieces = [  # separators, text, separators
            (True, outside_text[len(rstripped_text) :]),
            (False, stripped_text),
            (True, rstripped_text[: len(rstripped_text) - len(stripped_text)]),
        ]
        yield from (piece for piece in pieces if piece[1])
        outside_end = own_start


def _common(one: bytes, other: bytes) -> int:
    """Count the bytes of the common start of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _replace(path: Path, before: bytes | None, after: bytes, point: KillPoint) -> None:
    """Replace a file's content by a rename; only one process of day1 does so at a time.

    Raises:
        NotTouched: it cannot be written, or somebody else changed it meanwhile.
    """
    resolved_path = path.resolve()
    new_file = resolved_path.with_name(f".{resolved_path.name}.day1-new")
    try:
        resolved_path.parent.mkdir(parents=True, exist_ok=True)
        new_file.unlink(missing_ok=True)  # a killed process left it
        write_new(new_file, after, 0o666 if before is None else 0o600)
        if before is not None:
            _take_over(resolved_path, new_file)
        point("setup-before-rename")
        if read(resolved_path) != before:
            raise NotTouched("another program changed it just now: try again")
        new_file.replace(resolved_path)
    except OSError as exc:
        raise NotTouched(f"it cannot be written: {exc.strerror}") from exc
    finally:
        with suppress(OSError):
            new_file.unlink(missing_ok=True)


def _take_over(target: Path, new_file: Path) -> None:
    """Give a new file the owner and the mode of the file that it replaces."""
    old_status, new_status = target.stat(), new_file.stat()
    if (old_status.st_uid, old_status.st_gid) != (new_status.st_uid, new_status.st_gid):
        try:
            os.chown(new_file, old_status.st_uid, old_status.st_gid)
        except PermissionError as exc:
            raise NotTouched(
                "its owner or group would change: run this as its owner, or change it by hand"
            ) from exc
    shutil.copymode(target, new_file)


def _remove(path: Path, before: bytes | None) -> None:
    """Remove a file that day1 made; a link to it stays.

    Raises:
        NotTouched: it cannot be removed, or somebody else changed it meanwhile.
    """
    if read(path) != before:
        raise NotTouched("another program changed it just now: try again")
    try:
        path.resolve().unlink()
    except OSError as exc:
        raise NotTouched(f"it cannot be removed: {exc.strerror}") from exc


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a new file durably; if writing fails, remove the unfinished file.

    Raises:
        OSError: it cannot be written, or is there.
    """
    file_handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(file_handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        folder_handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder_handle)
        finally:
            os.close(folder_handle)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
