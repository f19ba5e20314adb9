"""The file `notified.json`: the ids of waiting things for which a notice was sent."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from day1.adapters.failures import of_system
from day1.adapters.flock import WriteLock

FILE: Final = "notified.json"
LOCK: Final = "notify.lock"


class SentNotices:
    """The ids of sent notices, in the store's folder; one process at a time may send."""

    def __init__(self, folder: Path) -> None:
        """Set the file and its lock in a store's folder."""
        self._path = folder / FILE
        self._lock = WriteLock(folder / LOCK, 0)

    @contextmanager
    def claimed(self) -> Iterator[frozenset[str] | None]:
        """Hold the list for the block; yields the ids, or None if another process holds it.

        Raises:
            StoreReadOnly, StoreFull: the folder may not be written, or has no room.
        """
        with self._lock.held_if_free() as got_lock:
            yield self._read() if got_lock else None

    def _read(self) -> frozenset[str]:
        """Read the ids; a missing or unreadable file has none, since sending twice is better."""
        try:
            return frozenset(map(str, json.loads(self._path.read_bytes())["told"]))
        except (OSError, ValueError, TypeError, KeyError):
            return frozenset()

    def write(self, ids: Sequence[str]) -> None:
        """Replace the list at once: readers see all old ids or all new ones.

        Raises:
            StoreReadOnly, StoreFull: as `claimed`.
        """
        new_file = self._path.with_name(f"{FILE}.new")
        try:
            file_handle = os.open(
                new_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
            )
            with os.fdopen(file_handle, "w", encoding="utf-8") as file:
                json.dump({"format": 1, "told": list(ids)}, file)
            new_file.rename(self._path)
        except OSError as exc:
            raise of_system(exc, self._path, writing=True) from exc
