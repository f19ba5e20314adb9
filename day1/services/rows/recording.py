"""New rows: facts, observations, relations, and the edits that say who changed what."""

from collections.abc import Iterable, Mapping, Sequence

from day1.model.merge.held import Decision, HeldItem, closing_row
from day1.model.merge.plan import MergePlan
from day1.model.rows.change import Query
from day1.model.rows.kind import EDIT, FACT, HELD, WHOLE, Cell, Kind, Row, canonical, cell_value
from day1.model.rows.origin import Origin
from day1.model.values.ids import NewId, content_hash
from day1.ports.store import Reading, Work

_NEAREST = 20
"""As many agents may write the same within a minute, and each is told of a repetition."""

REMOVED = "removed"
"""The `value` of an edit that removed its row."""


def fact_row(  # noqa: PLR0913 - a fact's own columns
    fact_id: str,
    text: str,
    origin: Origin,
    now: int,
    *,
    category: str | None = None,
    confidence: float = 1.0,
    happened_at: int | None = None,
) -> Row:
    """Build a new fact: active and unverified."""
    return {
        "id": fact_id,
        "fact_text": text,
        "content_hash": content_hash(text),
        "category": category,
        "confidence": confidence,
        "status": "active",
        "superseded_by": None,
        "verification": "unverified",
        "scores": None,
        "happened_at": happened_at,
        **origin.columns(now),
    }


def observation_row(  # noqa: PLR0913 - an observation's own columns
    observation_id: str,
    observation_type: str,
    summary: str,
    origin: Origin,
    now: int,
    *,
    tool_name: str | None = None,
    raw_input: str | None = None,
    raw_output: str | None = None,
    happened_at: int | None = None,
) -> Row:
    """Build a new observation."""
    return {
        "id": observation_id,
        "summary": summary,
        "content_hash": content_hash(summary),
        "observation_type": observation_type,
        "tool_name": tool_name,
        "raw_input": raw_input,
        "raw_output": raw_output,
        "happened_at": happened_at,
        **origin.columns(now),
    }


def relation_row(  # noqa: PLR0913 - a relation's own columns
    relation_id: str,
    source_entity: str,
    relation_type: str,
    target_entity: str,
    origin: Origin,
    now: int,
    *,
    properties: Mapping[str, object] | None = None,
    happened_at: int | None = None,
) -> Row:
    """Build a new relation; `properties` is kept as canonical JSON."""
    return {
        "id": relation_id,
        "source_entity": source_entity,
        "target_entity": target_entity,
        "relation_type": relation_type,
        "properties": None if properties is None else canonical(dict(properties)),
        "happened_at": happened_at,
        **origin.columns(now),
    }


def edit_rows(  # noqa: PLR0913 - what an edit records
    kind: Kind,
    row: Row,
    groups: list[str],
    origin: Origin,
    now: int,
    new_id: NewId,
    reason: str | None = None,
) -> list[Row]:
    """Build one edit per changed cell of `row` (as it is after the change).

    The group `*` records that the row was removed.
    """
    return [
        {
            "id": new_id(EDIT.prefix, now),
            "row_id": row["id"],
            "row_kind": kind.table,
            "cell": group,
            "value": REMOVED if group == WHOLE else cell_value(kind, row, group),
            "reason": reason,
            **origin.columns(now),
        }
        for group in groups
    ]


def decided_edits(
    plan: MergePlan, origin: Origin, now: int, new_id: NewId
) -> Iterable[tuple[Kind, Row]]:
    """Edits for the values that neither side had: whoever decided the plan wrote them."""
    for row in plan.rows:
        if row.result is None or row.target is None or "value" not in row.decided.values():
            continue
        groups = [
            g
            for g in changed_groups(row.kind, row.target, row.result)
            if row.source is None or any(row.source[c] != row.result[c] for c in row.kind.group(g))
        ]
        for edit in edit_rows(row.kind, row.result, groups, origin, now, new_id):
            yield EDIT, edit


def changed_groups(kind: Kind, before: Row, after: Mapping[str, Cell]) -> list[str]:
    """The names of the cells in which two versions of a row differ."""
    return [
        group[0]
        for group in kind.groups
        if any(before[column] != after.get(column, before[column]) for column in group)
    ]


def near_duplicates(reading: Reading, text: str) -> list[Row]:
    """Live facts with exactly this text, the newest first, if there are any (checklist S1-013)."""
    equal: Row = {"content_hash": content_hash(text), "status": "active"}
    return reading.find(FACT, Query(equal=equal, descending=True, limit=_NEAREST))


def close_items(
    work: Work, items: Iterable[HeldItem], decision: Decision, origin: Origin, new_id: NewId
) -> None:
    """Close held items by a decision, in an open unit."""
    columns = origin.columns(work.now)
    work.add(
        HELD,
        [closing_row(item, decision, new_id(HELD.prefix, work.now), columns) for item in items],
    )


def newest_edits(kind: Kind, row: Row, edits: Sequence[Row]) -> dict[str, Row]:
    """The newest edit of each cell whose value is the cell's present one, by cell."""
    return {
        cell: edit
        for edit in edits
        if (cell := str(edit["cell"])) != WHOLE and edit["value"] == cell_value(kind, row, cell)
    }
