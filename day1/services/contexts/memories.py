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
    caller_ids: list[str] = []
    row_ids: list[str] = []

    def rows_at(reading: Reading, now: int) -> list[KeyedRow]:
        caller_ids.extend(
            repo.new_id(FACT.prefix, now) if item.id is None else item.id for item in items
        )
        existing_ids = _own(reading, space, caller_ids)
        rows = [
            _row(space, item, caller_id, own=item.id is None or caller_id in existing_ids)
            for item, caller_id in zip(items, caller_ids, strict=True)
        ]
        row_ids.extend(row.id for row in rows)
        return unredacted(reading, rows)

    upserted = upsert_rows(repo, branch, rows_at, origin)
    hidden_state_by_id = {
        caller_id: _hidden(upserted.rows[row_id])
        for caller_id, row_id in zip(caller_ids, row_ids, strict=True)
    }
    return Upserted(
        caller_ids,
        upserted,
        {
            caller_id: hidden_state
            for caller_id, hidden_state in hidden_state_by_id.items()
            if hidden_state is not None
        },
    )


def _hidden(row: Row) -> str | None:
    """Return the status or verdict that hides a memory from searches, or None."""
    if row["status"] != "active":
        return str(row["status"])
    return INVALIDATED if row["verification"] == INVALIDATED else None


def _own(reading: Reading, space: str | None, ids: Sequence[str]) -> set[str]:
    """Return those of `ids` that are row ids of facts of the space."""
    fact_by_id = reading.get(FACT, [caller_id for caller_id in ids if kind_of(caller_id) is FACT])
    return {row_id for row_id, row in fact_by_id.items() if row["space"] == space}


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
