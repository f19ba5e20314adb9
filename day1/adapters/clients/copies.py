"""Copies of clients' files, one before each change, kept for this user alone."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from day1.adapters.clients.files import NotTouched, write_new

MOST: Final = 10
"""Maximum number of copies of one file: the first copy and the newest ones."""
_NAME: Final = re.compile(r"(?P<number>\d{4,})-\d{8}T\d{6}Z(?P<absent>\.absent)?")


class Copies:
    """A folder with copies of files as they were before each change."""

    def __init__(self, folder: Path) -> None:
        """Set the folder of the copies, which the first copy makes."""
        self._folder = folder

    def of(self, path: Path) -> list[bytes | None]:
        """Read the contents of a file's copies, newest first; None: the file was absent."""
        contents: list[bytes | None] = []
        for _, copy_path in reversed(self._numbered(path)):
            with suppress(OSError):
                contents.append(None if copy_path.suffix == ".absent" else copy_path.read_bytes())
        return contents

    def keep(self, path: Path, data: bytes | None) -> Path | None:
        """Copy a file before a change; return the path of the copy, or None if there is no file.

        The same content twice in a row is kept once. The oldest copies but the first one go.

        Raises:
            NotTouched: the copy cannot be kept.
        """
        numbered_copies = self._numbered(path)
        newest_contents = self.of(path)[:1]
        if newest_contents == [data]:
            return numbered_copies[-1][1] if data is not None else None
        next_number = numbered_copies[-1][0] + 1 if numbered_copies else 1
        timestamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        suffix = ".absent" if data is None else ""
        copy_path = self._folder / f"{_start(path)}.{next_number:04}-{timestamp}{suffix}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_new(copy_path, data or b"", 0o600)
            for _, outdated_copy in [*numbered_copies, (next_number, copy_path)][1 : 1 - MOST]:
                outdated_copy.unlink(missing_ok=True)
        except OSError as exc:
            raise NotTouched(f"no copy of it can be kept: {exc.strerror}") from exc
        return None if data is None else copy_path

    def _numbered(self, path: Path) -> list[tuple[int, Path]]:
        """List the copies of a file, each with its number; an earlier day1 kept copy 0."""
        prefix = _start(path)
        resolved_path = path.resolve()
        unnumbered_copy = (
            self._folder / f"{prefix.partition('-')[0]}-{resolved_path.name.lstrip('.')}"
        )
        numbered_copies = [(0, unnumbered_copy)] if unnumbered_copy.is_file() else []
        with suppress(OSError):
            for any_copy_path in self._folder.iterdir():
                file_name = any_copy_path.name
                if file_name.startswith(f"{prefix}.") and (
                    name_match := _NAME.fullmatch(file_name.removeprefix(f"{prefix}."))
                ):
                    numbered_copies.append((int(name_match["number"]), any_copy_path))
        return sorted(numbered_copies)


def _start(path: Path) -> str:
    """Build the prefix of a file's copies: a hash of its whole path, its folder, its name."""
    resolved_path = path.resolve()
    path_hash = hashlib.sha256(os.fsencode(resolved_path)).hexdigest()[:16]
    folder_name, file_name = resolved_path.parent.name, resolved_path.name
    return f"{path_hash}-{folder_name.lstrip('.')[:60]}-{file_name.lstrip('.')[:100]}"
