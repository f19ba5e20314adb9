"""Memories that a caller keeps under ids of its own: texts, with what it notes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from day1.model.branches.branch import Branch
from day1.model.keeping import given_vector
from day1.model.keeping.keyed import memory_id
from day1.model.rows.kind import FACT, Cell, canonical, kind_of
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.services.keeping.keyed_rows import Kept, KeyedRow, keep, unredacted
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A text to keep."""

    text: str
    id: str | None = None
    """The caller's; without one the row's is made and answered."""
    metadata: Mapping[str, Any] | None = None
    vector: Sequence[float] | None = None
    """Of another model than day1's own (`vectors.foreign`)."""
    sensitivity: str | None = None


@dataclass(frozen=True, slots=True)
class Upserted:
    """The ids of the memories as the caller knows them, in order, and what was done."""

    ids: list[str]
    kept: Kept


def upsert(
    repo: Repository, branch: Branch, space: str | None, items: Sequence[NewMemory], origin: Origin
) -> Upserted:
    """Keep texts in a space, all or none: what has the same id is changed in place.

    A memory that was superseded or archived stays so until it gets another text.
    """
    ids: list[str] = []

    def wanted(reading: Reading, now: int) -> list[KeyedRow]:
        if not ids:
            ids.extend(repo.new_id(FACT.prefix, now) if i.id is None else i.id for i in items)
        own = _own(reading, space, [*ids])
        rows = [
            _row(space, item, given, own=item.id is None or given in own)
            for item, given in zip(items, ids, strict=True)
        ]
        return unredacted(reading, rows)

    kept = keep(repo, branch, wanted, origin)
    return Upserted(ids, kept)


def _own(reading: Reading, space: str | None, ids: Sequence[str]) -> set[str]:
    """Those of `ids` that facts of the space have themselves."""
    rows = reading.get(FACT, [i for i in ids if kind_of(i) is FACT])
    return {row_id for row_id, row in rows.items() if row["space"] == space}


_ALIVE: Mapping[str, Cell] = {"status": "active", "superseded_by": None, "valid_until": None}


def _row(space: str | None, item: NewMemory, given: str, *, own: bool) -> KeyedRow:
    noted: dict[str, Any] = {} if own else {"id": given}
    if item.metadata is not None:
        noted["metadata"] = item.metadata
    columns: Mapping[str, Cell] = {
        "fact_text": item.text,
        "structure": None,
        "vector": None if item.vector is None else given_vector.as_kept(item.vector),
        "space": space,
        "detail": canonical(noted) if noted else None,
        "sensitivity": item.sensitivity,
    }
    row_id = given if own else memory_id(space, given)
    return KeyedRow(FACT, row_id, columns, _ALIVE, of_request=item.id is None)
