"""Read what a workspace asks of a branch, and keep it while the branch does not change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, Kind, Row
from day1.model.workspace.item import Item
from day1.model.workspace.known_rows import KnownRows, SeenRows, link_of
from day1.services.workspace.items import KINDS, present_items, visible_items

if TYPE_CHECKING:
    from day1.ports.reading import Reading
    from day1.services.repository.repository import Repository

_MAX_SIZE: Final = 30_000_000
"""Maximum size of what a process keeps, in characters."""
NEWEST: Final = 200
"""The newest rows of a task that are considered, of each kind."""
_RELATIONS: Final = 1_000
"""Relations from, and relations to some rows that are read, at most."""
_ENDING: Final = ("id", "created_at", "content_hash", "expires_at", "origin_id")
_OF_NEWEST: Final = {FACT: (*_ENDING, "valid_until", "category"), OBSERVATION: _ENDING}
"""The columns that tell which text a row has, until when it may be shown, and whether it was
derived from others."""
_OF_BOTH: Final = ("structure", "space", "agent_id")
_COLUMNS: Final = {
    FACT: (*_OF_NEWEST[FACT], *_OF_BOTH, "fact_text", "verification"),
    OBSERVATION: (*_OF_NEWEST[OBSERVATION], *_OF_BOTH, "summary", "observation_type"),
}
"""The columns of a candidate that are read; the others may be long, and are not used."""


def known_rows(repo: Repository, branch_id: str, reading: Reading) -> KnownRows:
    """Return what is known of a branch at the state of `reading`.

    What was used longest ago is forgotten if the process keeps too much.
    """
    state = reading.state
    known = repo.known_rows.pop(branch_id, None)
    if known is None or (known.state, known.mask) != (state, reading.mask):
        known = KnownRows(state, reading.mask)
    repo.known_rows[branch_id] = known  # the last one now
    size = 0
    for other_id, other in reversed(list(repo.known_rows.items())):
        size += other.size
        if size > _MAX_SIZE:
            repo.known_rows.pop(other_id, None)
    return known


def read_rows(
    known: KnownRows, reading: Reading, ids: Iterable[str], now: int, *, linked: bool
) -> SeenRows:
    """Return the rows of ids that may be shown, and their links if `linked`.

    What is not known is read, and kept; `reading` is at the state of `known`.
    """
    row_ids = list(dict.fromkeys(ids))
    read = _read_items(known, reading, row_ids, now)
    relations = _read_relations(known, reading, row_ids, now) if linked else {}
    links = {link_of(row) for of_row in relations.values() for row in of_row}
    return SeenRows(
        known.items(row_ids, now) | read, links | known.links(row_ids, now) if linked else links
    )


def seen_rows(known: KnownRows, ids: Collection[str], now: int, *, linked: bool) -> SeenRows | None:
    """Return what `read_rows` does without a reading; None if some of it is not known."""
    if known.missing(ids, linked=False) or (linked and known.missing(ids, linked=True)):
        return None
    return SeenRows(known.items(ids, now), known.links(ids, now) if linked else set())


def newest_rows(
    known: KnownRows, reading: Reading, task_id: str, now: int
) -> Mapping[Kind, Sequence[Row]]:
    """Return the newest rows of a task by kind, with `id`, `created_at`, hash and ends."""
    rows = known.newest(task_id, now)
    if rows is None:
        of_task = Query(equal={"task_id": task_id}, descending=True, limit=NEWEST)
        queries = present_items((), now, of_task)
        rows = {kind: _rows(reading, kind, _OF_NEWEST[kind], queries[kind.table]) for kind in KINDS}
        known.keep_newest(task_id, rows)
    return rows


def _read_items(
    known: KnownRows, reading: Reading, ids: Sequence[str], now: int
) -> dict[str, Item]:
    """Read and keep the rows that are not known."""
    missing = known.missing(ids, linked=False)
    items = visible_items(reading, missing, (), now, _COLUMNS) if missing else {}
    known.keep_items({row_id: items.get(row_id) for row_id in missing})
    return items


def _read_relations(
    known: KnownRows, reading: Reading, ids: Sequence[str], now: int
) -> dict[str, list[Row]]:
    """Read the relations from or to rows that are not known; keep them if these are all."""
    missing = known.missing(ids, linked=True)
    relations: dict[str, list[Row]] = {row_id: [] for row_id in missing}
    are_all = True
    for side in ("source_entity", "target_entity") if missing else ():
        query = Query(among={side: missing}, present_at=now, limit=_RELATIONS)
        rows = _rows(reading, RELATION, ("source_entity", "target_entity", "valid_until"), query)
        are_all = are_all and len(rows) < _RELATIONS
        for row in rows:
            relations[str(row[side])].append(row)
    if are_all:
        known.keep_relations(relations)
    return relations


def _rows(reading: Reading, kind: Kind, names: Sequence[str], query: Query) -> list[Row]:
    return [dict(zip(names, cells, strict=True)) for cells in reading.scan(kind, names, query)]
