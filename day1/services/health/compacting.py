"""Compacting a store: when it is worth it, and doing it while a process serves the store."""

import logging
from collections.abc import Callable
from typing import Final

from day1.errors import Day1Error
from day1.model.rows.change import Ref
from day1.model.rows.kind import KINDS
from day1.ports.store import Store
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_SMALL_BYTES: Final = 20 * 1024 * 1024
"""Bytes up to which a store is never wasteful."""
_GROWTH: Final = 2
"""A store is compacted when its size is this multiple of its size after the last compaction."""
_ESTIMATED_GROWTH: Final = 4
"""The same multiple while the size after a compaction is only estimated."""
_ROW_BYTES: Final = 1_000
"""Estimated bytes of a row after compaction (measured on 18,000 rows)."""
_COMMIT_BYTES: Final = 5_000
"""Estimated bytes of a commit after compaction (measured on 18,000 rows)."""
_BYTES_PER_S: Final = 40_000_000
"""Assumed speed before this process has compacted the store (two slow cores: 50 to 200 MB/s)."""
_RETRY_S: Final = 600.0
"""Seconds until a store that was not compacted is considered again."""
_SLOW_RETRY_S: Final = 60.0
"""The same for a store whose compaction would have taken too long."""


def live_bytes(repo: Repository) -> int:
    """Estimate the bytes of a store after compaction."""
    tip_by_branch = repo.history.branches()
    max_row_count = 0
    for branch_name in tip_by_branch:
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            max_row_count = max(max_row_count, sum(reading.count(kind) for kind in KINDS))
    commit_count = len(repo.history.graph(list(tip_by_branch.values())))
    return max_row_count * _ROW_BYTES + commit_count * _COMMIT_BYTES


def is_wasteful(repo: Repository, size: int) -> bool:
    """Whether a store is over 20 MiB, and over twice its size after the last compaction.

    If that size is unknown: over 4 times its estimated size after a compaction.
    """
    if size <= _SMALL_BYTES:
        return False
    has_grown = _has_grown(repo.store, size)
    return size > _ESTIMATED_GROWTH * live_bytes(repo) if has_grown is None else has_grown


def _has_grown(store: Store, size: int) -> bool | None:
    """Whether a store is over twice its size after the last compaction; None: that is unknown."""
    compact_size = store.compact_size()
    if compact_size is None or compact_size > size:  # it may be that of a former file
        return None
    return size > _GROWTH * compact_size


class Compaction:
    """Compacts a growing store between calls, so that it stays below twice its compact size.

    Writers wait meanwhile. So a store that would take longer than `longest_s` is left to
    `day1 gc`.
    """

    def __init__(self, repo: Repository, seconds: Callable[[], float], longest_s: float) -> None:
        """Consider a store; `seconds` tells monotonic seconds."""
        self._store, self._repo, self._seconds = repo.store, repo, seconds
        self._longest_s = longest_s
        self._bytes_per_s: float = _BYTES_PER_S
        self._next_check = self._next_estimate = seconds()
        self._failure: Day1Error | None = None
        """The error of the last compaction, until the next one; None: it succeeded."""

    def run(self) -> bool:
        """Compact the store if it has grown enough and that is quick; return whether it did.

        Raises:
            Day1Error: the compaction failed. Until it is tried again, each run raises this error.
        """
        if self._seconds() < self._next_check:
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            return False
        size = self._store.size()
        if size <= _SMALL_BYTES or not self._is_due(size):
            return False
        if size > self._longest_s * self._bytes_per_s:
            self._next_check = self._seconds() + _SLOW_RETRY_S
            # The machine may have been busy when the speed was measured, and be idle then.
            self._bytes_per_s = max(self._bytes_per_s, _BYTES_PER_S)
            return False
        return self._compact(size)

    def _is_due(self, size: int) -> bool:
        has_grown = _has_grown(self._store, size)
        if has_grown is not None:
            return has_grown
        if self._seconds() < self._next_estimate:
            return False
        self._next_estimate = self._seconds() + _RETRY_S  # an estimate reads every branch
        return is_wasteful(self._repo, size)

    def _compact(self, size: int) -> bool:
        started_at = self._seconds()
        self._next_check = started_at + _RETRY_S  # if it fails, for instance on a full disk
        try:
            self._store.compact(above=size - 1)
        except Day1Error as exc:
            self._failure = exc
            raise
        self._failure = None
        duration_s = max(self._seconds() - started_at, 0.001)
        self._bytes_per_s = size / duration_s
        self._next_check = self._seconds()
        log.info("compacted memory.db from %s to %s bytes", size, self._store.size())
        return True
