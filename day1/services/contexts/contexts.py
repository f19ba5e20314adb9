"""Contexts: any JSON stored in a space, with or without a key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from day1.model.branches.branch import Branch
from day1.model.contexts.content import as_kept, flattened
from day1.model.contexts.keyed import CONTEXT, context_id
from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_tags
from day1.model.rows.kind import OBSERVATION, Cell, Row, canonical
from day1.model.rows.origin import Origin
from day1.model.values.ids import NewId
from day1.ports.reading import Reading
from day1.services.contexts.keyed_rows import (
    KeyedRow,
    UpsertedRows,
    of_older_versions,
    unredacted,
    upsert_rows,
)
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class NewContext:
    """A context to save: JSON, with or without a key in a space. Units: microseconds UTC."""

    space: str | None
    key: str | None
    content: Any
    tags: Sequence[str] = ()
    expires_at: int | None = None
    sensitivity: str | None = None


def save(
    repo: Repository, branch: Branch, new: NewContext, origin: Origin
) -> tuple[Row, UpsertedRows]:
    """Save a context; with a key, it replaces the context of this key in the space."""
    columns = _columns(new)
    row_ids: list[str] = []

    def rows_at(reading: Reading, now: int) -> list[KeyedRow]:
        if not row_ids:
            row_ids.append(_id(new, repo.new_id, now))
        context_row = KeyedRow(OBSERVATION, row_ids[0], columns, of_request=new.key is None)
        return [*unredacted(reading, [context_row]), *_passages(reading, new, row_ids[0])]

    upserted = upsert_rows(repo, branch, rows_at, origin)
    return upserted.rows[row_ids[0]], upserted


def _passages(reading: Reading, new: NewContext, row_id: str) -> list[KeyedRow]:
    """Return the facts of an older version, with the new expiry and sensitivity."""
    if new.key is None:
        return []
    columns: Mapping[str, Cell] = {"expires_at": new.expires_at, "sensitivity": new.sensitivity}
    return of_older_versions(reading, {row_id: columns})


def _id(new: NewContext, new_id: NewId, now: int) -> str:
    if new.key is None:
        return new_id(OBSERVATION.prefix, now)
    return context_id(new.space, new.key)


def _columns(new: NewContext) -> Mapping[str, Cell]:
    return {
        "summary": flattened(new.content),
        "structure": as_kept(new.content),
        "observation_type": CONTEXT,
        "space": new.space,
        "tags": canonical(list(new.tags)) if new.tags else None,
        "detail": None if new.key is None else canonical({"key": new.key}),
        "expires_at": new.expires_at,
        "sensitivity": new.sensitivity,
    }


@dataclass(frozen=True, slots=True)
class Recall:
    """The conditions that recalled contexts must all meet. Units: microseconds UTC."""

    space: str | None
    now: int
    key: str | None = None
    tags: Sequence[str] = ()
    """Tags of which a context must have all."""
    since: int | None = None
    limit: int = 20


def recall(reading: Reading, conditions: Recall) -> list[Row]:
    """Return the contexts that meet the conditions and have not expired, the newest first.

    Secret contexts are included: a caller who names a space may read its contexts.
    """
    query = Query(
        equal={"space": conditions.space, "observation_type": CONTEXT},
        among={}
        if conditions.key is None
        else {"id": [context_id(conditions.space, conditions.key)]},
        created_after=None if conditions.since is None else conditions.since - 1,
        alive_at=conditions.now,
    )
    if conditions.tags or conditions.since is not None:
        scanned_rows = reading.scan(OBSERVATION, ("id", "created_at", "tags"), query)
        times_and_ids = [
            (int(created_at or 0), str(row_id))
            for row_id, created_at, tags in scanned_rows
            if set(conditions.tags) <= set(read_tags(tags))
        ]
        newest_ids = [
            row_id for _, row_id in sorted(times_and_ids, reverse=True)[: conditions.limit]
        ]
        row_by_id = reading.get(OBSERVATION, newest_ids)
        return [row_by_id[row_id] for row_id in newest_ids if row_id in row_by_id]
    return reading.find(OBSERVATION, replace(query, descending=True, limit=conditions.limit))
