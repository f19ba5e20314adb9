"""New rows: facts, observations, relations, and the edits that say who changed what.

`record` is one unit of work; the other functions build rows, or work in an open unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem, Resolution, closing_row
from day1.model.merge.plan import MergePlan
from day1.model.redaction.basis import BASES
from day1.model.redaction.veil import is_expired, is_secret
from day1.model.rows.change import REMOVED, CommitId, Query, Ref
from day1.model.rows.kind import (
    EDIT,
    FACT,
    HELD,
    OBSERVATION,
    RELATION,
    WHOLE,
    Cell,
    Kind,
    Row,
    canonical,
    cell_value,
)
from day1.model.rows.origin import Origin
from day1.model.values.ids import NewId, content_hash
from day1.model.values.instant import show
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.repository.idempotency import (
    BY_REQUEST,
    LATELY,
    MINUTE,
    written_by,
    written_lately,
)
from day1.services.repository.repository import Repository

_MAX_COMPARED = 20
"""Maximum number of facts with the same text that are compared with a new one: the newest."""


def origin_columns(origin: Origin, now: int) -> Row:
    """Build the columns that say who wrote a row, from where, and when (`now`)."""
    return {
        "agent_id": origin.agent_id,
        "session_id": origin.session_id,
        "task_id": origin.task_id,
        "source": origin.source,
        "created_at": now,
        "origin_id": None,
        "origin_branch": None,
    }


def new_row(kind: Kind, row_id: str, values: Row, origin: Origin, now: int) -> Row:
    """Build a new row: `values`, defaults of the kind, origin, and the hash of its text."""
    row = {"id": row_id, **kind.blank, **values, **origin_columns(origin, now)}
    if kind.text is not None:
        row["content_hash"] = content_hash(str(row[kind.text]))
    return row


@dataclass(frozen=True, slots=True)
class NewFact:
    """The columns that a caller sets of a new fact."""

    text: str
    category: str | None = None
    confidence: float = 1.0
    happened_at: int | None = None
    valid_until: int | None = None
    space: str | None = None
    expires_at: int | None = None
    sensitivity: str | None = None


def fact_row(fact_id: str, fact: NewFact, origin: Origin, now: int) -> Row:
    """Build the row of a new fact: active and unverified."""
    values: Row = {
        "fact_text": fact.text,
        "category": fact.category,
        "confidence": fact.confidence,
        "happened_at": fact.happened_at,
        "valid_until": fact.valid_until,
        "space": fact.space,
        "expires_at": fact.expires_at,
        "sensitivity": fact.sensitivity,
    }
    return new_row(FACT, fact_id, values, origin, now)


@dataclass(frozen=True, slots=True)
class NewObservation:
    """The columns that a caller sets of a new observation."""

    observation_type: str
    summary: str
    tool_name: str | None = None
    raw_input: str | None = None
    raw_output: str | None = None
    happened_at: int | None = None
    space: str | None = None
    expires_at: int | None = None
    sensitivity: str | None = None


def observation_row(
    observation_id: str, observation: NewObservation, origin: Origin, now: int
) -> Row:
    """Build the row of a new observation."""
    return new_row(OBSERVATION, observation_id, asdict(observation), origin, now)


@dataclass(frozen=True, slots=True)
class NewRelation:
    """The columns that a caller sets of a new relation."""

    source_entity: str
    relation_type: str
    target_entity: str
    properties: Mapping[str, object] | None = None
    """Any JSON object; stored as canonical JSON."""
    happened_at: int | None = None
    valid_until: int | None = None
    space: str | None = None


def relation_row(relation_id: str, relation: NewRelation, origin: Origin, now: int) -> Row:
    """Build the row of a new relation."""
    properties = relation.properties
    values: Row = {
        "source_entity": relation.source_entity,
        "relation_type": relation.relation_type,
        "target_entity": relation.target_entity,
        "properties": None if properties is None else canonical(dict(properties)),
        "happened_at": relation.happened_at,
        "valid_until": relation.valid_until,
        "space": relation.space,
    }
    return new_row(RELATION, relation_id, values, origin, now)


NewMemory = NewFact | NewObservation | NewRelation


@dataclass(frozen=True, slots=True)
class BranchAfter:
    """The state of a branch after a unit of work that added rows to it."""

    tip: CommitId
    pending: int
    """The number of rows that are not committed yet."""
    now: int
    """The time of the unit of work; it is later than all earlier times of the branch."""

    @staticmethod
    def of(work: Additions, added: int) -> BranchAfter:
        """Describe the branch after a unit of work that ended without a commit."""
        return BranchAfter(work.tip, work.pending.count + added, work.now)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of a write: the row as the branch has it, the branch, and notes."""

    row: Row
    after: BranchAfter
    notes: tuple[str, ...]
    same_text: tuple[str, ...] = ()
    """Ids of other facts with the same text that the writer may see, newest first."""


def record(
    repo: Repository,
    branch: Branch,
    memory: NewMemory,
    origin: Origin,
    request_id: str | None = None,
) -> Recorded:
    """Add a memory to a branch, unless this request or, in the last minute, an equal one did.

    Raises:
        RequestReused: the request id was used for another row, or its row was removed since.
    """
    with repo.store.adding(branch.name) as unit_of_work:
        kind, row = new_memory(repo, memory, origin, unit_of_work.now)
        same_text_facts = (
            near_duplicates(unit_of_work, str(row["content_hash"])) if kind is FACT else None
        )
        put_result = put_once(unit_of_work, kind, row, request_id, same_text_facts)
    same_text_ids = [
        str(fact["id"])
        for fact in same_text_facts or ()
        if fact["id"] != put_result.row["id"]
        and _may_be_named(fact, memory.space, unit_of_work.now)
    ]
    return Recorded(
        put_result.row,
        BranchAfter.of(unit_of_work, put_result.fresh),
        put_result.notes,
        tuple(same_text_ids),
    )


def new_memory(repo: Repository, memory: NewMemory, origin: Origin, now: int) -> tuple[Kind, Row]:
    """Build the row of a new memory; return its kind and the row."""
    match memory:
        case NewFact():
            return FACT, fact_row(repo.new_id(FACT.prefix, now), memory, origin, now)
        case NewObservation():
            row_id = repo.new_id(OBSERVATION.prefix, now)
            return OBSERVATION, observation_row(row_id, memory, origin, now)
        case NewRelation():
            return RELATION, relation_row(repo.new_id(RELATION.prefix, now), memory, origin, now)


def _may_be_named(fact: Row, space: str | None, now: int) -> bool:
    """Whether the answer to a writer in this space may name a fact with the same text."""
    may_see_space = space is None or fact["space"] == space
    return may_see_space and not is_secret(fact) and not is_expired(fact, now)


@dataclass(frozen=True, slots=True)
class Put:
    """The result of `put_once`: the row, and whether this call added it."""

    row: Row
    fresh: bool = True
    notes: tuple[str, ...] = ()


def put_once(
    work: Additions,
    kind: Kind,
    row: Row,
    request_id: str | None,
    alike: Sequence[Row] | None = None,
) -> Put:
    """Add a row, unless this request (without id: an equal one in the last minute) added it.

    Args:
        work: a unit of work on the branch.
        kind: the kind of the row.
        row: the new row; its id follows from the request id, if there is one.
        request_id: the id that the client gave its request.
        alike: rows that may have the same words, if the caller read them already.

    Raises:
        RequestReused: the request id was used for another row, or its row was removed since.
    """
    if request_id is not None:
        earlier_row = written_by(
            work, kind, str(row["id"]), {column: row[column] for column in kind.group(WHOLE)}
        )
        if earlier_row is not None:
            return Put(earlier_row, fresh=False, notes=(BY_REQUEST,))
    else:
        candidate_rows = _alike(work, kind, row) if alike is None else alike
        earlier_row = written_lately(candidate_rows, kind, row) if candidate_rows else None
        if earlier_row is not None:
            return Put(earlier_row, fresh=False, notes=(LATELY,))
    work.add(kind, [row])
    return Put(row)


def _alike(work: Additions, kind: Kind, row: Row) -> list[Row]:
    # Both columns have an index.
    indexed_column = "content_hash" if kind.text else kind.says[0]
    return work.find(
        kind, Query(equal={indexed_column: row[indexed_column]}, created_after=work.now - MINUTE)
    )


@dataclass(frozen=True, slots=True)
class EditedCells:
    """The edited cells of a row, the row after the edit, and the reason."""

    kind: Kind
    row: Row
    cells: Sequence[str]
    """Names of cells; `*` means that the row was removed."""
    reason: str | None = None


def edit_rows(edited: EditedCells, origin: Origin, now: int, new_id: NewId) -> list[Row]:
    """Build one edit for each edited cell."""
    kind, row = edited.kind, edited.row
    return [
        {
            "id": new_id(EDIT.prefix, now),
            "row_id": row["id"],
            "row_kind": kind.table,
            "cell": cell,
            "value": REMOVED if cell == WHOLE else cell_value(kind, row, cell),
            "reason": edited.reason,
            **origin_columns(origin, now),
        }
        for cell in edited.cells
    ]


def decided_edits(
    plan: MergePlan, origin: Origin, now: int, new_id: NewId
) -> Iterable[tuple[Kind, Row]]:
    """Build edits for values that neither side had; their author is the one who merges."""
    for row in plan.rows:
        has_new_values = row.joined or "value" in row.decided.values()
        if row.result is None or row.target is None or not has_new_values:
            continue
        decided_cells = [
            cell
            for cell in changed_groups(row.kind, row.target, row.result)
            if row.source is None
            or any(row.source[column] != row.result[column] for column in row.kind.group(cell))
        ]
        edited_cells = EditedCells(row.kind, row.result, decided_cells)
        for edit in edit_rows(edited_cells, origin, now, new_id):
            yield EDIT, edit


def changed_groups(kind: Kind, before: Row, after: Mapping[str, Cell]) -> list[str]:
    """Return the names of the cells in which two versions of a row differ."""
    return [
        group[0]
        for group in kind.groups
        if any(before[column] != after.get(column, before[column]) for column in group)
    ]


def near_duplicates(reading: Reading, text_hash: str) -> list[Row]:
    """Find active facts whose text has this hash, newest first."""
    required_values: Row = {"content_hash": text_hash, "status": "active"}
    return reading.find(FACT, Query(equal=required_values, descending=True, limit=_MAX_COMPARED))


def in_order(after: Row, columns: Mapping[str, Cell]) -> None:
    """Refuse changed columns if the row's valid time would end before it begins.

    Raises:
        InvalidRequest: these columns make it end before it begins.
    """
    valid_from, valid_until = after.get("happened_at"), after.get("valid_until")
    if valid_from is None or valid_until is None or int(valid_until) >= int(valid_from):
        return
    if not {"happened_at", "valid_until"}.isdisjoint(columns):
        raise InvalidRequest(
            "The row's `valid_until` would be earlier than its `happened_at`: give both, or "
            "`never` as `valid_until`.",
            happened_at=show(int(valid_from)),
            valid_until=show(int(valid_until)),
        )


def close_items(
    work: Work, items: Iterable[HeldItem], decision: Resolution, origin: Origin, new_id: NewId
) -> None:
    """Close held items with a decision, in an open unit of work."""
    columns = origin_columns(origin, work.now)
    work.add(
        HELD,
        [closing_row(item, decision, new_id(HELD.prefix, work.now), columns) for item in items],
    )


def newest_edits(
    kind: Kind, row: Row, edits: Sequence[Row], hidden: Collection[str] = ()
) -> dict[str, Row]:
    """Choose the edit that gave each cell its present value, by cell.

    Values of cells with `hidden` columns cannot be compared: there the newest edit counts.
    """
    cells_and_edits = [
        (str(edit["cell"]), edit) for edit in edits if edit["cell"] not in {WHOLE, *BASES}
    ]
    hidden_cells = {
        cell for cell, _ in cells_and_edits if not set(hidden).isdisjoint(kind.group(cell))
    }
    hidden_edit_by_cell = {cell: edit for cell, edit in cells_and_edits if cell in hidden_cells}
    current_edit_by_cell = {
        cell: edit for cell, edit in cells_and_edits if edit["value"] == cell_value(kind, row, cell)
    }
    return hidden_edit_by_cell | current_edit_by_cell


def authors(repo: Repository, ref: Ref, kind: Kind, row: Row) -> dict[str, Row]:
    """Return the edit that gave each cell its present value, by cell."""
    with repo.store.reading(ref) as reading:
        edits = reading.find(EDIT, Query(equal={"row_id": row["id"]}))
        return newest_edits(kind, row, edits, reading.mask.hides(kind, row))
