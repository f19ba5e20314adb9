"""Memories that a caller stores under its own ids: texts, with metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from day1.model.branches.branch import Branch
from day1.model.contexts import given_vector
from day1.model.contexts.keyed import memory_id
from day1.model.rows.kind import FACT, Cell, Row, canonical, kind_of
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.services.contexts.keyed_rows import KeyedRow, UpsertedRows, unredacted, upsert_rows
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to store."""

    text: str
    id: str | None = None
    """The caller's id; without one, a new id is made and returned."""
    metadata: Mapping[str, Any] | None = None
    vector: Sequence[float] | None = None
    """A vector of another model than day1's own (`vectors.foreign`)."""
    sensitivity: str | None = None


@dataclass(frozen=True, slots=True)
class Upserted:
    """The callers' ids of upserted memories, in order, and the rows written."""

    ids: list[str]
    written: UpsertedRows
    hidden: Mapping[str, str]
    """Caller's id -> why no search finds the memory: superseded, archived or invalidated."""


def upsert(
    repo: Repository, branch: Branch, space: str | None, items: Sequence[NewMemory], origin: Origin
) -> Upserted:
    """Upsert memories in a space, all or none: a memory with the same id is changed in place.

    An expired memory becomes active again. A superseded, archived or invalidated one stays so
    until it gets another text.
    """
    ids: list[str] = []
    row_ids: list[str] = []

    def rows_at(reading: Reading, now: int) -> list[KeyedRow]:
        ids.extend(repo.new_id(FACT.prefix, now) if i.id is None else i.id for i in items)
        existing_ids = _own(reading, space, ids)
        rows = [
            _row(space, item, caller_id, own=item.id is None or caller_id in existing_ids)
            for item, caller_id in zip(items, ids, strict=True)
        ]
        row_ids.extend(row.id for row in rows)
        return unredacted(reading, rows)

    upserted = upsert_rows(repo, branch, rows_at, origin)
    state_by_id = {i: _hidden(upserted.rows[row]) for i, row in zip(ids, row_ids, strict=True)}
    return Upserted(
        ids, upserted, {i: state for i, state in state_by_id.items() if state is not None}
    )


def _hidden(row: Row) -> str | None:
    """Return the status or verdict that hides a memory from searches, or None."""
    if row["status"] != "active":
        return str(row["status"])
    return INVALIDATED if row["verification"] == INVALIDATED else None


def _own(reading: Reading, space: str | None, ids: Sequence[str]) -> set[str]:
    """Return those of `ids` that are row ids of facts of the space."""
    rows = reading.get(FACT, [i for i in ids if kind_of(i) is FACT])
    return {row_id for row_id, row in rows.items() if row["space"] == space}


INVALIDATED = "invalidated"
_ENDINGS = ("valid_until", "expires_at")
_ALIVE: Mapping[str, Cell] = {
    "status": "active",
    "superseded_by": None,
    **dict.fromkeys(_ENDINGS),
}


def _row(space: str | None, item: NewMemory, caller_id: str, *, own: bool) -> KeyedRow:
    detail: dict[str, Any] = {} if own else {"id": caller_id}
    if item.metadata is not None:
        detail["metadata"] = item.metadata
    columns: Mapping[str, Cell] = {
        "fact_text": item.text,
        "structure": None,
        "vector": None if item.vector is None else given_vector.as_kept(item.vector),
        "space": space,
        "detail": canonical(detail) if detail else None,
        "sensitivity": item.sensitivity,
    }
    row_id = caller_id if own else memory_id(space, caller_id)
    return KeyedRow(FACT, row_id, columns, _ALIVE, _ENDINGS, of_request=item.id is None)
