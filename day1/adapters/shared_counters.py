"""Counters in a file that the workers of a server map into their memory.

The file is a table of slots. A key has one of the few slots that its hash allows; if all of them
belong to other keys, the key that was changed longest ago is forgotten. The kernel's lock on the
file excludes other workers, and is freed when its holder is killed.
"""

import fcntl
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from day1.ports.counters import Numbers

_NUMBERS: Final = 5
"""Numbers of one key."""
_SLOT: Final = struct.Struct(f"16sd{_NUMBERS}d")
"""A slot: the hash of its key, when it was changed (monotonic seconds), and its numbers."""
_EMPTY: Final = (math.nan,) * _NUMBERS
_SLOTS_OF_A_KEY: Final = 16
_GROUPS: Final = 256
_BYTES: Final = _GROUPS * _SLOTS_OF_A_KEY * _SLOT.size


class SharedCounters:
    """`ports.counters.Counters` of all processes that open the same file."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._guard = threading.Lock()
        with self._locked():
            if os.fstat(self._handle).st_size < _BYTES:
                # Written, not only sized: a full disk is an error here, and none later.
                os.pwrite(self._handle, bytes(_BYTES), 0)
        self._table = mmap.mmap(self._handle, _BYTES)

    def change(self, key: str, rule: Callable[[Numbers], Numbers]) -> None:
        """Replace the numbers of a key by those that `rule` returns."""
        key_hash = _hash_of(key)
        with self._locked():
            place = self._place(key_hash)
            numbers = rule(self._stored(place, key_hash))
            slot = _SLOT.pack(key_hash, time.monotonic(), *(*numbers, *_EMPTY)[:_NUMBERS])
            self._table[place : place + _SLOT.size] = slot

    def numbers(self, key: str) -> Numbers:
        """Return the numbers of a key."""
        key_hash = _hash_of(key)
        with self._locked():
            return self._stored(self._place(key_hash), key_hash)

    def _stored(self, place: int, key_hash: bytes) -> Numbers:
        """Return the numbers of a key from its place; none if another key has it."""
        slot_hash, _, *numbers = _SLOT.unpack_from(self._table, place)
        known_numbers = numbers if slot_hash == key_hash else []
        return tuple(number for number in known_numbers if not math.isnan(number))

    def _place(self, key_hash: bytes) -> int:
        """Return where the slot of a key is: its own, else the one that was changed longest ago."""
        group = int.from_bytes(key_hash[:2]) % _GROUPS
        first = group * _SLOTS_OF_A_KEY * _SLOT.size
        end = first + _SLOTS_OF_A_KEY * _SLOT.size
        place = self._table.find(key_hash, first, end)
        if place >= 0 and place % _SLOT.size == 0:
            return place
        return min(range(first, end, _SLOT.size), key=self._changed_at)

    def _changed_at(self, place: int) -> float:
        moment: float = _SLOT.unpack_from(self._table, place)[1]
        return moment

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._guard:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._handle, fcntl.LOCK_UN)


def _hash_of(key: str) -> bytes:
    return blake2b(key.encode(errors="backslashreplace"), digest_size=16).digest()


class SharedMoment:
    """A time that all workers of a server read and set, such as that of the last call."""

    def __init__(self, counters: SharedCounters, name: str) -> None:
        """Set where the time is kept; it is 0 at first."""
        self._counters, self._name = counters, name

    @property
    def at(self) -> float:
        """The time: monotonic seconds."""
        return max(self._counters.numbers(self._name), default=0.0)

    @at.setter
    def at(self, moment: float) -> None:
        self._counters.change(self._name, lambda _: (moment,))
