"""Caches that all threads of a process use without a lock."""

from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def keep_newest(cache: dict[K, V], key: K, value: V, most: int) -> None:
    """Put a value into a cache as its newest one; only the newest `most` values stay.

    Each step is one that no other thread can interrupt, so the cache may change in between.
    """
    cache.pop(key, None)
    cache[key] = value
    for oldest_key in list(cache)[:-most]:
        cache.pop(oldest_key, None)
