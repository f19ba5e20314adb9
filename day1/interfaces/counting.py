"""Counters of a server that is one process; those of several workers are an adapter."""

import threading
from collections.abc import Callable
from typing import Final

from cachetools import LRUCache

from day1.ports.counters import Numbers

_KEYS: Final = 1_000
"""Maximum number of keys whose numbers are remembered."""


class LocalCounters:
    """`ports.counters.Counters` in the memory of this process."""

    def __init__(self) -> None:
        """Start without numbers."""
        self._guard = threading.Lock()
        self._numbers: LRUCache[str, Numbers] = LRUCache(_KEYS)

    def change(self, key: str, rule: Callable[[Numbers], Numbers]) -> None:
        """Replace the numbers of a key by those that `rule` returns."""
        with self._guard:
            self._numbers[key] = rule(self._numbers.get(key, ()))
