"""Correcting, superseding and removing rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from day1.errors import Advice, InvalidRequest, NotFound, Refused, RevisionChanged
from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem, keeps_out, open_items
from day1.model.merge.row_merge import successor_of
from day1.model.rows.change import CommitId, Message, Query, Writes
from day1.model.rows.kind import (
    EDIT,
    FACT,
    HELD,
    MEMORIES,
    WHOLE,
    Cell,
    Kind,
    Row,
    complete,
    kind_of,
    revision,
    text_of,
    when,
)
from day1.model.rows.origin import Origin
from day1.ports.store import Work
from day1.services.repository.idempotency import (
    edited_before,
    reused,
    sets,
    written_by,
    written_lately,
)
from day1.services.repository.repository import Repository
from day1.services.rows.recording import (
    EditedCells,
    NewFact,
    changed_groups,
    close_items,
    edit_rows,
    fact_row,
    in_order,
)


@dataclass(frozen=True, slots=True)
class Edited:
    """A row after a change, and the ids of held items that the change closed."""

    kind: Kind
    row: Row
    commit: CommitId
    at: int
    closed: tuple[str, ...] = ()
    superseded: Row | None = None
    ends: Row = field(default_factory=dict)
    """`expires_at` and `valid_until` that the replaced fact had and the new one lacks."""


@dataclass(frozen=True, slots=True)
class Correction:
    """Arguments of `update`: the columns to set on a row."""

    row_id: str
    columns: Mapping[str, Cell]
    reason: str | None = None
    expect_revision: str | None = None
    """Refuse the correction unless the row still has this revision."""
    first_edit: str | None = None
    """The id that the request gives its first edit. If the branch has that edit, the request was
    done before; it is not done again, so later changes by others stay."""


def update(repo: Repository, branch: Branch, correction: Correction, origin: Origin) -> Edited:
    """Set columns of a row in one commit; a fact with a new text becomes unverified.

    Raises:
        RequestReused: the request id was used before, for another change.
        NotFound: the row is not on this branch.
        InvalidRequest: rows of its kind have no such column.
        RevisionChanged: `expect_revision` is given and is not the row's revision.
    """
    with repo.store.changing(branch.name) as unit:
        correction_result = correct(repo, unit, branch, correction, origin)
        kind, changed_row = correction_result.kind, correction_result.changed
        if not changed_row.groups:
            return Edited(kind, changed_row.row, unit.tip, correction_result.at)
        commit_title = f"change {kind.name} {correction.row_id}: {', '.join(changed_row.groups)}"
        commit_id = unit.commit(Message("change", commit_title))
        return Edited(kind, changed_row.row, commit_id, unit.now, changed_row.closed)


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected row: what changed in it, and when; nothing if the request did it before."""

    kind: Kind
    changed: "Changed"
    at: int


def correct(
    repo: Repository, work: Work, branch: Branch, correction: Correction, origin: Origin
) -> Corrected:
    """Set columns of a row in open work. Errors as in `update`."""
    row_id, columns, expected = correction.row_id, correction.columns, correction.expect_revision
    kind, row = present(work, row_id, branch)
    edited_at = edited_before(work, correction.first_edit, row_id, sets(kind, row, dict(columns)))
    if edited_at is not None:
        return Corrected(kind, Changed(row, []), edited_at)
    if expected is not None and expected != revision(kind, row):
        raise RevisionChanged(
            "The row was changed since you read it: read it again, then decide.",
            id=row_id,
            revision=revision(kind, row),
        )
    change = Editor(repo, work, origin, correction.reason).change(kind, row, columns)
    return Corrected(kind, change, work.now)


@dataclass(frozen=True, slots=True)
class Changed:
    """A row changed in open work: the changed cells, and the held items that this closed."""

    row: Row
    groups: list[str]
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Editor:
    """Changes rows in open work for one author and reason; adds edits and closes held items."""

    repo: Repository
    work: Work
    origin: Origin
    reason: str | None = None

    def change(self, kind: Kind, row: Row, columns: Mapping[str, Cell]) -> Changed:
        """Set columns of a row, add an edit for each changed cell and close held items about them.

        Raises:
            InvalidRequest: rows of its kind have no such column, or its valid time would end before
                it begins.
        """
        row_id = str(row["id"])
        unknown_columns = sorted(set(columns) - set(kind.group(WHOLE)))
        if unknown_columns:
            raise InvalidRequest(
                f"{row_id} is a{'n' if kind.name[0] in 'aeiou' else ''} {kind.name}, which has no "
                f"{', '.join(unknown_columns)}.",
                id=row_id,
            )
        new_values = complete(kind, _without_equal_text(row, kind.text, columns))
        if kind is FACT and new_values.get("fact_text", row["fact_text"]) != row["fact_text"]:
            new_values = {"verification": "unverified", "scores": None, **new_values}
        cells = changed_groups(kind, row, new_values)
        if not cells:
            return Changed(row, cells)
        changed_row = {**row, **new_values}
        in_order(changed_row, columns)
        self.work.change(kind, row_id, new_values)
        self.add_edits(kind, changed_row, cells)
        return Changed(changed_row, cells, self.close(_held_about(self.work, row_id, cells)))

    def add_edits(self, kind: Kind, after: Row, groups: Sequence[str]) -> None:
        """Add an edit for each changed cell of a row."""
        edited_cells = EditedCells(kind, after, groups, self.reason)
        self.work.add(EDIT, edit_rows(edited_cells, self.origin, self.work.now, self.repo.new_id))

    def remove(self, rows: Sequence[tuple[Kind, Row]]) -> None:
        """Remove rows, with an edit for each, and close held items that keep them out elsewhere."""
        writes: Writes = {}
        for kind, row in rows:
            writes.setdefault(kind.table, {})[str(row["id"])] = None
        removed_cells = [EditedCells(kind, row, [WHOLE], self.reason) for kind, row in rows]
        args = self.origin, self.work.now, self.repo.new_id
        self.work.apply(writes)
        self.work.add(EDIT, [edit for cells in removed_cells for edit in edit_rows(cells, *args)])
        self.close(_withholding_items(self.work, [str(row["id"]) for _, row in rows]))

    def close(self, items: Sequence[HeldItem]) -> tuple[str, ...]:
        """Close held items that a change of their row decides; return their ids."""
        close_items(self.work, items, "edited", self.origin, self.repo.new_id)
        return tuple(item.id for item in items)


def _without_equal_text(row: Row, text: str | None, columns: Mapping[str, Cell]) -> Row:
    """Return the columns without the text column if its value would not change."""
    return {
        column: value for column, value in columns.items() if column != text or value != row[column]
    }


@dataclass(frozen=True, slots=True)
class Replacement:
    """Arguments of `supersede`: the new fact, and the fact that it replaces."""

    fact_id: str
    """The id of the fact to replace."""
    text: str
    new_fact_id: str | None = None
    """The id of the new fact; None: a new id is made."""
    category: str | None = None
    """None: the category of the replaced fact."""
    confidence: float = 1.0
    happened_at: int | None = None
    valid_until: int | None = None
    closes: bool = True
    """Whether the valid time of the replaced fact ends when the new one became true."""
    reason: str | None = None
    first_edit: str | None = None
    """The id that the request gives its first edit (see `Correction`)."""


def supersede(repo: Repository, branch: Branch, new: Replacement, origin: Origin) -> Edited:
    """Add a fact that replaces another, in one commit; the old fact stays and points to it.

    A fact whose successor was removed from this branch can be superseded again.

    Raises:
        NotFound: the fact is not on this branch.
        Refused: another fact of this branch supersedes it already (not one by this request).
        RequestReused: the request id was used before, for another change.
    """
    with repo.store.changing(branch.name) as unit:
        kind, old_fact = present(unit, new.fact_id, branch)
        if kind is not FACT:
            raise Refused("Only facts can be superseded: change this row in place.", id=new.fact_id)
        new_id = new.new_fact_id or repo.new_id(FACT.prefix, unit.now)
        category = text_of(old_fact["category"]) if new.category is None else new.category
        fact = NewFact(
            new.text,
            category,
            new.confidence,
            new.happened_at,
            new.valid_until,
            space=text_of(old_fact["space"]),
            sensitivity=text_of(old_fact["sensitivity"]),
        )
        new_fact = fact_row(new_id, fact, origin, unit.now)
        if (successor := _superseded_before(unit, old_fact, new_fact)) is not None:
            made_at = int(successor["created_at"] or 0)
            return Edited(
                FACT, successor, unit.tip, made_at, (), old_fact, _ends(old_fact, successor)
            )
        last_successor_id = _last_successor(unit, old_fact)
        if last_successor_id is not None:
            raise Refused(
                f"{new.fact_id} is superseded already, by {last_successor_id}: "
                f"supersede {last_successor_id} in its place.",
                Advice("{memory_update_fact} changes its text."),
                id=new.fact_id,
                superseded_by=last_successor_id,
            )
        if new.first_edit is not None and unit.get(EDIT, [new.first_edit]):
            raise reused(new.first_edit)
        changed_values: Row = {"status": "superseded", "superseded_by": new_id}
        if new.closes:
            changed_values["valid_until"] = end_of(old_fact, new_fact)
        unit.add(FACT, [new_fact])
        unit.change(FACT, new.fact_id, changed_values)
        changed_cells = changed_groups(FACT, old_fact, changed_values)
        editor = Editor(repo, unit, origin, new.reason)
        superseded_fact = {**old_fact, **changed_values}
        editor.add_edits(FACT, superseded_fact, changed_cells)
        closed_ids = editor.close(_held_about(unit, new.fact_id, changed_cells))
        commit = unit.commit(Message("change", f"supersede fact {new.fact_id} by {new_id}"))
        return Edited(
            FACT, new_fact, commit, unit.now, closed_ids, superseded_fact, _ends(old_fact, new_fact)
        )


def _ends(old_fact: Row, new_fact: Row) -> Row:
    """Return the end times that a replaced fact had and its replacement lacks."""
    old_ends = {column: old_fact[column] for column in ("expires_at", "valid_until")}
    if old_ends["valid_until"] is not None and int(old_ends["valid_until"]) <= when(new_fact):
        old_ends["valid_until"] = None  # the old fact had ended before the new one began
    return {c: end for c, end in old_ends.items() if end is not None and new_fact[c] is None}


def _last_successor(work: Work, fact: Row) -> str | None:
    """Follow the successors of a fact on this branch; return the id of the last one."""
    last_id, visited_ids = None, {str(fact["id"])}
    while (successor_id := successor_of(fact)) is not None and successor_id not in visited_ids:
        successor_by_id = work.get(FACT, [successor_id])
        if not successor_by_id:
            break
        visited_ids.add(successor_id)
        last_id, fact = successor_id, successor_by_id[successor_id]
    return last_id


def end_of(old_fact: Row, new_fact: Row) -> int:
    """Return when a replaced fact's valid time ends: as planned if earlier, not before it began."""
    start_time, planned_end = old_fact["happened_at"], old_fact["valid_until"]
    end_time = when(new_fact) if start_time is None else max(when(new_fact), int(start_time))
    return end_time if planned_end is None else min(end_time, int(planned_end))


def _superseded_before(work: Work, old_fact: Row, new_fact: Row) -> Row | None:
    """Find the successor that this request, or an equal one in the last minute, gave a fact.

    Raises:
        RequestReused: the request id was used before, for another fact.
    """
    content = {column: new_fact[column] for column in ("fact_text", "category", "confidence")}
    successor = written_by(work, FACT, str(new_fact["id"]), content)
    if successor is not None and old_fact["superseded_by"] != successor["id"]:
        raise reused(str(successor["id"]))
    if successor is None and old_fact["superseded_by"] is not None:
        successor_by_id = work.get(FACT, [str(old_fact["superseded_by"])])
        successor = written_lately([*successor_by_id.values()], FACT, new_fact)
    return successor


@dataclass(frozen=True, slots=True)
class Removal:
    """Arguments of `remove`: the rows to remove, and why."""

    row_ids: Sequence[str]
    reason: str | None = None
    first_edit: str | None = None
    """The id that the request gives its first edit (see `Correction`)."""


def remove(repo: Repository, branch: Branch, removal: Removal, origin: Origin) -> Edited:
    """Remove rows from a branch in one commit; history keeps them for `restore`.

    Raises:
        NotFound: a row is not on this branch; nothing is removed then.
        RequestReused: the request id was used before, for another change.
    """
    first_edit, row_ids = removal.first_edit, list(dict.fromkeys(removal.row_ids))
    with repo.store.changing(branch.name) as unit:
        removed_at = edited_before(unit, first_edit, row_ids[0], lambda values, _: WHOLE in values)
        if removed_at is not None:
            removal_edits = unit.find(EDIT, Query(equal={"created_at": removed_at, "cell": WHOLE}))
            if {edit["row_id"] for edit in removal_edits} != set(row_ids):
                raise reused(str(first_edit))
            return Edited(FACT, {"id": row_ids[0]}, unit.tip, removed_at)
        editor = Editor(repo, unit, origin, removal.reason)
        kinds_and_rows = [present(unit, row_id, branch) for row_id in row_ids]
        editor.remove(kinds_and_rows)
        row_names = ", ".join(f"{kind.name} {row['id']}" for kind, row in kinds_and_rows)
        return Edited(
            *kinds_and_rows[0], unit.commit(Message("remove", f"remove {row_names}")), unit.now
        )


def present(work: Work, row_id: str, branch: Branch) -> tuple[Kind, Row]:
    """Return the kind and the row of an id on the branch.

    Raises:
        NotFound: the row is not on the branch; the message says where to look.
    """
    kind = kind_of(row_id)
    row = None if kind not in MEMORIES else work.get(kind, [row_id]).get(row_id)
    if kind is None or row is None:
        raise NotFound(
            f"{row_id} is not on branch {branch.name!r}. It may be on another branch, or was "
            "removed.",
            Advice("{memory_log} shows when, {memory_restore} brings it back."),
            id=row_id,
            branch=branch.name,
        )
    return kind, row


def _held_about(work: Work, row_id: str, groups: Collection[str]) -> list[HeldItem]:
    """Find open held items about these cells, except items that keep the row out of a branch."""
    item_rows = work.find(HELD, Query(equal={"row_id": row_id}))
    if not item_rows:  # as nearly always
        return []
    return [
        item
        for item in open_items(item_rows)
        if item.cell in {*groups, WHOLE} and not keeps_out(item)
    ]


def _withholding_items(work: Work, row_ids: Sequence[str]) -> list[HeldItem]:
    """Find the items that keep rows out of another branch, open or dismissed."""
    item_rows = work.find(HELD, Query(among={"row_id": row_ids}))
    return [
        item
        for item in open_items(row for row in item_rows if row["decision"] != "dismissed")
        if keeps_out(item)
    ]
