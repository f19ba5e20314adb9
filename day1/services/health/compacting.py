"""Compacting a store: whether it is worth it, and doing it in an idle process."""

import logging
from typing import Final

from day1.model.rows.change import Ref
from day1.model.rows.kind import KINDS
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_WASTEFUL_RATIO: Final = 4
"""A store is wasteful if its size is more than this multiple of its live bytes."""
_SMALL_BYTES: Final = 20 * 1024 * 1024
"""Bytes up to which a store is never wasteful."""
_ROW_BYTES: Final = 1_000
"""Estimated bytes of a row after compaction (measured on 18,000 rows)."""
_COMMIT_BYTES: Final = 5_000
"""Estimated bytes of a commit after compaction (measured on 18,000 rows)."""
_MAX_LIVE_BYTES: Final = 40 * 1024 * 1024
"""Live bytes up to which an idle process compacts a store, which takes about two seconds."""


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
    """Whether a store is over 20 MiB, and over 4 times its estimated size after compaction."""
    return size > _SMALL_BYTES and size > _WASTEFUL_RATIO * live_bytes(repo)


def compact_if_brief(repo: Repository) -> bool:
    """Compact a store if that frees much and is quick; return whether it was done.

    A larger store is left to `day1 gc`, since all writers wait meanwhile.
    """
    store_bytes = repo.store.size()
    if not repo.store.capabilities.compaction or not is_wasteful(repo, store_bytes):
        return False
    if live_bytes(repo) > _MAX_LIVE_BYTES:
        return False
    compaction = repo.store.compact()
    log.info(
        "compacted memory.db from %s to %s bytes",
        compaction["bytes_before"],
        compaction["bytes_after"],
    )
    return True
