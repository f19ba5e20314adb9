"""The records in the memories of a state, cached until the state changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from day1.model.collection.records import Collection, CollectionRead, Source, collect
from day1.model.rows.change import ReadState, Ref
from day1.model.rows.kind import FACT, OBSERVATION, Cell, Kind, text_of
from day1.ports.reading import Reading
from day1.services.access.calls import Call, branch_of, spaces_of
from day1.services.repository.repository import Repository, keep_newest
from day1.services.workspace.items import KINDS, Spaces, present_items

_CACHED: Final = 4
"""Maximum number of collections that a process keeps."""
_COLUMNS: Final = {
    FACT: ("created_at", "id", "fact_text", "structure", "expires_at", "valid_until"),
    OBSERVATION: ("created_at", "id", "summary", "structure", "expires_at"),
}


@dataclass(frozen=True, slots=True)
class Collected:
    """The records that a caller may see, and the state that they were read from."""

    collection: Collection
    branch: str
    state: ReadState


def collected(call: Call) -> Collected:
    """Read the records of the facts and observations that a call sees.

    Raises:
        UnknownBranch: the branch of the call is gone.
    """
    repo, branch = call.repo, branch_of(call).name
    with repo.store.reading(repo.shown(Ref(branch=branch))) as reading:
        collection = collection_of(repo, reading, spaces_of(call, None))
        return Collected(collection, branch, reading.state)


def collection_of(repo: Repository, reading: Reading, spaces: tuple[str | None, ...]) -> Collection:
    """Read the records of a state in some spaces, in the order in which they were written.

    Args:
        repo: whose cache to use.
        reading: the state, as it is now.
        spaces: None for rows without a space; an empty tuple for all rows.
    """
    now = repo.clock()
    cache_key = (spaces, reading.branch, reading.tip, reading.pending, reading.mask)
    cached_read = repo.collections.get(cache_key)
    if cached_read is None or (cached_read.until is not None and cached_read.until <= now):
        cached_read = _read(reading, spaces, now)
        keep_newest(repo.collections, cache_key, cached_read, _CACHED)
    return cached_read.collection


def cached_records(repo: Repository) -> int:
    """Count the records that this process keeps."""
    return sum(len(read.collection.records) for read in list(repo.collections.values()))


def forget_collections(repo: Repository) -> int:
    """Drop the records that this process keeps; return how many they were."""
    dropped_count = cached_records(repo)
    repo.collections.clear()
    return dropped_count


def _read(reading: Reading, spaces: Spaces, now: int) -> CollectionRead:
    rows_with_dates = sorted(row for kind in KINDS for row in _rows(reading, kind, spaces, now))
    future_ends = [
        int(end_time)
        for *_, dates in rows_with_dates
        for end_time in dates
        if end_time is not None and int(end_time) > now
    ]
    sources = (
        Source(row_id, text, structure or None) for _, row_id, text, structure, _ in rows_with_dates
    )
    return CollectionRead(collect(sources), min(future_ends, default=None))


def _rows(
    reading: Reading, kind: Kind, spaces: Spaces, now: int
) -> Iterator[tuple[int, str, str, str, tuple[Cell, ...]]]:
    query = present_items(spaces, now)[kind.table]
    for created_at, row_id, text, structure, *dates in reading.scan(kind, _COLUMNS[kind], query):
        yield int(created_at or 0), str(row_id), str(text), text_of(structure) or "", tuple(dates)
