"""The pinned facts of a branch, cached in the process and updated by the rows that changed.

Categories have no index, so finding them anew would read every fact of the branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from day1.model.prime.choosing import PINNED
from day1.model.rows.change import Query
from day1.model.rows.kind import FACT
from day1.services.repository.repository import Repository, keep_newest
from day1.services.search.indexing import changes_between
from day1.services.workspace.items import Spaces, present_items

if TYPE_CHECKING:
    from day1.ports.reading import Reading

_BRANCHES_KEPT: Final = 200
"""Maximum number of branches whose pinned facts a process keeps."""
_MAX_CHECKED: Final = 1_000
"""Maximum number of pinned facts that are checked whether they may be shown: the newest."""


def pinned_facts(
    repo: Repository, reading: Reading, spaces: Spaces, now: int, limit: int
) -> list[str]:
    """Return the ids of the newest pinned facts that may be shown.

    Args:
        repo: whose cache to use.
        reading: the branch, as it is now.
        spaces: the spaces that the caller sees.
        now: the present time: microseconds UTC.
        limit: maximum number of ids.
    """
    pinned_ids = _pinned_at_tip(repo, reading)
    if reading.pending.oldest is not None:
        pinned_ids |= _scan(reading, reading.pending.oldest - 1)
    if not pinned_ids:
        return []
    query = present_items(spaces, now, Query(among={"id": sorted(pinned_ids)[-_MAX_CHECKED:]}))[
        FACT.table
    ]
    times_and_ids = reading.scan(FACT, ("created_at", "id"), query)
    newest_first = sorted(
        ((int(created_at or 0), str(row_id)) for created_at, row_id in times_and_ids), reverse=True
    )
    return [row_id for _, row_id in newest_first[:limit]]


def _pinned_at_tip(repo: Repository, reading: Reading) -> frozenset[str]:
    """Return the ids of the pinned facts at the tip; ids of rows that are gone may be among them.

    The cached ids are updated by the rows that changed since.
    """
    branch_name = reading.branch or ""
    cached_tip, cached_ids = repo.pinned.get(branch_name, ("", frozenset[str]()))
    if cached_tip and cached_tip == reading.tip:
        return cached_ids
    pinned_ids = _updated(repo, cached_tip, cached_ids, reading) if cached_tip else None
    if pinned_ids is None:
        pinned_ids = _scan(reading, None)
    keep_newest(repo.pinned, branch_name, (reading.tip, pinned_ids), _BRANCHES_KEPT)
    return pinned_ids


def _updated(
    repo: Repository, cached_tip: str, cached_ids: frozenset[str], reading: Reading
) -> frozenset[str] | None:
    """Update cached ids from their commit to the tip; None if that commit does not exist here."""
    all_changes = changes_between(repo.history, cached_tip, reading.tip)
    if all_changes is None:  # of another branch of this name, or compacted away
        return None
    fact_changes = all_changes.get(FACT.table, ())
    newly_pinned_ids = {
        change.id
        for change in fact_changes
        if change.after is not None and change.after["category"] == PINNED
    }
    return cached_ids.difference(change.id for change in fact_changes) | newly_pinned_ids


def _scan(reading: Reading, since: int | None) -> frozenset[str]:
    pinned_query = Query(equal={"category": PINNED}, created_after=since)
    return frozenset(str(row_id) for (row_id,) in reading.scan(FACT, ("id",), pinned_query))
