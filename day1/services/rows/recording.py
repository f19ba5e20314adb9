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
from day1.model.rows.change import REMOVED, CommitId, Query
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

_NEAREST = 20
"""At most so many facts of the same text are looked at for a repetition: the newest."""


def origin_columns(origin: Origin, now: int) -> Row:
    """The columns that say of a row that is learned at `now` where it comes from."""
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
    """Build a new row, with the hash of its text, and what the kind gives where nothing is said."""
    row = {"id": row_id, **kind.blank, **values, **origin_columns(origin, now)}
    if kind.text is not None:
        row["content_hash"] = content_hash(str(row[kind.text]))
    return row


@dataclass(frozen=True, slots=True)
class NewFact:
    """What a new fact says."""

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
    """What a new observation says."""

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
    """What a new relation says."""

    source_entity: str
    relation_type: str
    target_entity: str
    properties: Mapping[str, object] | None = None
    """Kept as canonical JSON."""
    happened_at: int | None = None
    valid_until: int | None = None
    space: str | None = None


def relation_row(relation_id: str, relation: NewRelation, origin: Origin, now: int) -> Row:
    """Build the row of a new relation."""
    given = relation.properties
    values: Row = {
        "source_entity": relation.source_entity,
        "relation_type": relation.relation_type,
        "target_entity": relation.target_entity,
        "properties": None if given is None else canonical(dict(given)),
        "happened_at": relation.happened_at,
        "valid_until": relation.valid_until,
        "space": relation.space,
    }
    return new_row(RELATION, relation_id, values, origin, now)


NewMemory = NewFact | NewObservation | NewRelation


@dataclass(frozen=True, slots=True)
class BranchAfter:
    """A branch after a unit of work that added rows to it."""

    tip: CommitId
    pending: int
    """Rows that no commit holds yet."""
    now: int
    """The time of the unit, which is later than all that the branch had before."""

    @staticmethod
    def of(work: Additions, added: int) -> BranchAfter:
        """The branch after a unit that ended without a commit."""
        return BranchAfter(work.tip, work.pending.count + added, work.now)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The row of a write, as the branch has it."""

    row: Row
    after: BranchAfter
    notes: tuple[str, ...]
    same_text: tuple[str, ...] = ()
    """Other facts with the text of this one, which its writer may know of: ids, newest first."""


def record(
    repo: Repository,
    branch: Branch,
    memory: NewMemory,
    origin: Origin,
    request_id: str | None = None,
) -> Recorded:
    """Add a memory to a branch, unless it was added by the same request or a moment ago.

    Raises:
        RequestReused: the request wrote something else, or its row was removed since.
    """
    with repo.store.adding(branch.name) as work:
        kind, row = _new(repo, memory, origin, work.now)
        alike = near_duplicates(work, str(row["content_hash"])) if kind is FACT else None
        put = put_once(work, kind, row, request_id, alike)
    same_text = [
        str(other["id"])
        for other in alike or ()
        if other["id"] != put.row["id"] and _may_be_named(other, memory.space, work.now)
    ]
    return Recorded(put.row, BranchAfter.of(work, put.fresh), put.notes, tuple(same_text))


def _new(repo: Repository, memory: NewMemory, origin: Origin, now: int) -> tuple[Kind, Row]:
    """The kind and the row of a new memory."""
    match memory:
        case NewFact():
            return FACT, fact_row(repo.new_id(FACT.prefix, now), memory, origin, now)
        case NewObservation():
            row_id = repo.new_id(OBSERVATION.prefix, now)
            return OBSERVATION, observation_row(row_id, memory, origin, now)
        case NewRelation():
            return RELATION, relation_row(repo.new_id(RELATION.prefix, now), memory, origin, now)


def _may_be_named(fact: Row, space: str | None, now: int) -> bool:
    """Whether somebody who writes in a space is told of a fact with the same text."""
    shared = space is None or fact["space"] == space
    return shared and not is_secret(fact) and not is_expired(fact, now)


@dataclass(frozen=True, slots=True)
class Put:
    """The row of a write, and whether this call added it."""

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
    """Add a row, unless this request did, or without a request id the same words lately.

    Args:
        work: a unit of work on the branch.
        kind: of the row.
        row: with the id that the request gives.
        request_id: as the client gave it.
        alike: rows that may say the same, where they are known.

    Raises:
        RequestReused: the request wrote something else, or its row was removed since.
    """
    if request_id is not None:
        first = written_by(work, kind, str(row["id"]), {c: row[c] for c in kind.group(WHOLE)})
        if first is not None:
            return Put(first, fresh=False, notes=(BY_REQUEST,))
    else:
        rows = _alike(work, kind, row) if alike is None else alike
        first = written_lately(rows, kind, row) if rows else None
        if first is not None:
            return Put(first, fresh=False, notes=(LATELY,))
    work.add(kind, [row])
    return Put(row)


def _alike(work: Additions, kind: Kind, row: Row) -> list[Row]:
    # Either has an index.
    key = "content_hash" if kind.text else kind.says[0]
    return work.find(kind, Query(equal={key: row[key]}, created_after=work.now - MINUTE))


@dataclass(frozen=True, slots=True)
class EditedCells:
    """Cells of a row that were edited, the row as it is after that, and why."""

    kind: Kind
    row: Row
    cells: Sequence[str]
    """Names of cells; `*` says that the row was removed."""
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
    """Edits for values that neither side had: they are by the one who decided the plan."""
    for row in plan.rows:
        if row.result is None or row.target is None or "value" not in row.decided.values():
            continue
        groups = [
            g
            for g in changed_groups(row.kind, row.target, row.result)
            if row.source is None or any(row.source[c] != row.result[c] for c in row.kind.group(g))
        ]
        edited = EditedCells(row.kind, row.result, groups)
        for edit in edit_rows(edited, origin, now, new_id):
            yield EDIT, edit


def changed_groups(kind: Kind, before: Row, after: Mapping[str, Cell]) -> list[str]:
    """The names of the cells in which two versions of a row differ."""
    return [
        group[0]
        for group in kind.groups
        if any(before[column] != after.get(column, before[column]) for column in group)
    ]


def near_duplicates(reading: Reading, hashed: str) -> list[Row]:
    """Live facts whose text has this hash, the newest first."""
    equal: Row = {"content_hash": hashed, "status": "active"}
    return reading.find(FACT, Query(equal=equal, descending=True, limit=_NEAREST))


def in_order(after: Row, columns: Mapping[str, Cell]) -> None:
    """See that the valid time of a row that gets some columns does not end before it begins.

    Raises:
        InvalidRequest: it does, by these columns.
    """
    start, end = after.get("happened_at"), after.get("valid_until")
    if start is None or end is None or int(end) >= int(start):
        return
    if not {"happened_at", "valid_until"}.isdisjoint(columns):
        raise InvalidRequest(
            "With this its `valid_until` is earlier than its `happened_at`: give both, or `never` "
            "as `valid_until`.",
            happened_at=show(int(start)),
            valid_until=show(int(end)),
        )


def close_items(
    work: Work, items: Iterable[HeldItem], decision: Resolution, origin: Origin, new_id: NewId
) -> None:
    """Close held items by a decision, in an open unit."""
    columns = origin_columns(origin, work.now)
    work.add(
        HELD,
        [closing_row(item, decision, new_id(HELD.prefix, work.now), columns) for item in items],
    )


def newest_edits(
    kind: Kind, row: Row, edits: Sequence[Row], hidden: Collection[str] = ()
) -> dict[str, Row]:
    """The newest edit of each cell whose value is the cell's present one, by cell.

    Of a cell with `hidden` columns no value can be compared: there the newest edit counts.
    """
    of_cells = [(str(e["cell"]), e) for e in edits if e["cell"] not in {WHOLE, *BASES}]
    unknown = {cell for cell, _ in of_cells if not set(hidden).isdisjoint(kind.group(cell))}
    found = {cell: edit for cell, edit in of_cells if cell in unknown}
    told = {c: edit for c, edit in of_cells if edit["value"] == cell_value(kind, row, c)}
    return found | told
