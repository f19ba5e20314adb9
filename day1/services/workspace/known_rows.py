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
"""Maximum number of newest rows of a task that are considered, for each kind."""
_RELATIONS: Final = 1_000
"""Maximum number of relations that one query reads, from rows or to rows."""
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
    current_state = reading.state
    branch_rows = repo.known_rows.pop(branch_id, None)
    if branch_rows is None or (branch_rows.state, branch_rows.mask) != (
        current_state,
        reading.mask,
    ):
        branch_rows = KnownRows(current_state, reading.mask)
    repo.known_rows[branch_id] = branch_rows  # the last one now
    total_size = 0
    for other_branch_id, other_rows in reversed(list(repo.known_rows.items())):
        total_size += other_rows.size
        if total_size > _MAX_SIZE:
            repo.known_rows.pop(other_branch_id, None)
    return branch_rows


def read_rows(
    known: KnownRows, reading: Reading, ids: Iterable[str], now: int, *, linked: bool
) -> SeenRows:
    """Return the rows of ids that may be shown, and their links if `linked`.

    What is not known is read, and kept; `reading` is at the state of `known`.
    """
    row_ids = list(dict.fromkeys(ids))
    read_item_by_id = _read_items(known, reading, row_ids, now)
    relations_by_row = _read_relations(known, reading, row_ids, now) if linked else {}
    links = {link_of(row) for row_relations in relations_by_row.values() for row in row_relations}
    return SeenRows(
        known.items(row_ids, now) | read_item_by_id,
        links | known.links(row_ids, now) if linked else links,
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
    rows_by_kind = known.newest(task_id, now)
    if rows_by_kind is None:
        task_query = Query(equal={"task_id": task_id}, descending=True, limit=NEWEST)
        query_by_table = present_items((), now, task_query)
        rows_by_kind = {
            kind: _rows(reading, kind, _OF_NEWEST[kind], query_by_table[kind.table])
            for kind in KINDS
        }
        known.keep_newest(task_id, rows_by_kind)
    return rows_by_kind


def _read_items(
    known: KnownRows, reading: Reading, ids: Sequence[str], now: int
) -> dict[str, Item]:
    """Read and keep the rows that are not known."""
    unknown_ids = known.missing(ids, linked=False)
    item_by_id = visible_items(reading, unknown_ids, (), now, _COLUMNS) if unknown_ids else {}
    known.keep_items({row_id: item_by_id.get(row_id) for row_id in unknown_ids})
    return item_by_id


def _read_relations(
    known: KnownRows, reading: Reading, ids: Sequence[str], now: int
) -> dict[str, list[Row]]:
    """Read the relations from or to rows that are not known; keep them if these are all."""
    unknown_ids = known.missing(ids, linked=True)
    relations_by_row: dict[str, list[Row]] = {row_id: [] for row_id in unknown_ids}
    has_all_relations = True
    for entity_column in ("source_entity", "target_entity") if unknown_ids else ():
        query = Query(among={entity_column: unknown_ids}, present_at=now, limit=_RELATIONS)
        rows = _rows(reading, RELATION, ("source_entity", "target_entity", "valid_until"), query)
        has_all_relations = has_all_relations and len(rows) < _RELATIONS
        for row in rows:
            relations_by_row[str(row[entity_column])].append(row)
    if has_all_relations:
        known.keep_relations(relations_by_row)
    return relations_by_row


def _rows(reading: Reading, kind: Kind, names: Sequence[str], query: Query) -> list[Row]:
    return [
        dict(zip(names, row_values, strict=True)) for row_values in reading.scan(kind, names, query)
    ]
