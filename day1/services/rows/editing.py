"""Correcting, superseding and removing rows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from day1.errors import Advice, InvalidRequest, NotFound, Refused, RevisionChanged
from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem, keeps_out, open_items
from day1.model.merge.row_merge import successor_of
from day1.model.rows.change import CommitId, Message, Query, Ref
from day1.model.rows.kind import (
    EDIT,
    FACT,
    HELD,
    MEMORIES,
    WHOLE,
    Cell,
    Kind,
    Row,
    cell_value,
    complete,
    kind_of,
    revision,
    text_of,
    when,
)
from day1.model.rows.origin import Origin
from day1.ports.store import Work
from day1.services.repository.idempotency import reused, written_by, written_lately
from day1.services.repository.repository import Repository
from day1.services.rows.recording import (
    EditedCells,
    NewFact,
    changed_groups,
    close_items,
    edit_rows,
    fact_row,
    in_order,
    newest_edits,
)


@dataclass(frozen=True, slots=True)
class Edited:
    """A row after a change; `closed` are held items that the edit decided."""

    kind: Kind
    row: Row
    commit: CommitId
    at: int
    closed: tuple[str, ...] = ()
    superseded: Row | None = None
    ends: Row = field(default_factory=dict)
    """`expires_at` and `valid_until` of the fact that was replaced, as they were before."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What to set on a row."""

    row_id: str
    columns: Mapping[str, Cell]
    reason: str | None = None
    expect_revision: str | None = None
    """Refuse the correction if the row has another revision by now."""
    first_edit: str | None = None
    """The id that the request gives its first edit: where that edit is, the request was answered
    before, and what others changed since stays."""


def update(repo: Repository, branch: Branch, correction: Correction, origin: Origin) -> Edited:
    """Set columns of a row, as a commit of its own; a fact's new text makes it unverified.

    Raises:
        RequestReused: the request changed something else.
        NotFound: the row is not on this branch.
        InvalidRequest: rows of its kind have no such column.
        RevisionChanged: `expect_revision` is given and is not the row's.
    """
    row_id, columns, expected = correction.row_id, correction.columns, correction.expect_revision
    with repo.store.changing(branch.name) as work:
        kind, before = present(work, row_id, branch)
        done_at = _edited_before(
            work, correction.first_edit, row_id, _sets(kind, before, dict(columns))
        )
        if done_at is not None:
            return Edited(kind, before, work.tip, done_at)
        if expected is not None and expected != revision(kind, before):
            raise RevisionChanged(
                "The row was changed since you read it: read it again, then decide.",
                id=row_id,
                revision=revision(kind, before),
            )
        done = Editor(repo, work, origin, correction.reason).change(kind, before, columns)
        if not done.groups:
            return Edited(kind, before, work.tip, work.now)
        line = f"change {kind.name} {row_id}: {', '.join(done.groups)}"
        commit = work.commit(Message("change", line))
        return Edited(kind, done.row, commit, work.now, done.closed)


@dataclass(frozen=True, slots=True)
class Changed:
    """A row changed in open work: the cells that differ, and the held items that this decided."""

    row: Row
    groups: list[str]
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Editor:
    """Who changes rows in open work, and why: notes each change and closes held items."""

    repo: Repository
    work: Work
    origin: Origin
    reason: str | None = None

    def change(self, kind: Kind, before: Row, columns: Mapping[str, Cell]) -> Changed:
        """Set columns of a row, with all that goes with it.

        Raises:
            InvalidRequest: rows of its kind have no such column, or its valid time would end before
                it begins.
        """
        row_id = str(before["id"])
        foreign = sorted(set(columns) - set(kind.group(WHOLE)))
        if foreign:
            raise InvalidRequest(
                f"{row_id} is a{'n' if kind.name[0] in 'aeiou' else ''} {kind.name}, which has no "
                f"{', '.join(foreign)}.",
                id=row_id,
            )
        values = complete(kind, _other_than(before, kind.text, columns))
        if kind is FACT and values.get("fact_text", before["fact_text"]) != before["fact_text"]:
            values = {"verification": "unverified", "scores": None, **values}
        groups = changed_groups(kind, before, values)
        if not groups:
            return Changed(before, groups)
        after = {**before, **values}
        in_order(after, columns)
        self.work.change(kind, row_id, values)
        self.add_edits(kind, after, groups)
        return Changed(after, groups, self.close(_decided(self.work, row_id, groups)))

    def add_edits(self, kind: Kind, after: Row, groups: Sequence[str]) -> None:
        """Add an edit for each changed cell of a row."""
        edited = EditedCells(kind, after, groups, self.reason)
        self.work.add(EDIT, edit_rows(edited, self.origin, self.work.now, self.repo.new_id))

    def close(self, items: Sequence[HeldItem]) -> tuple[str, ...]:
        """Close held items that a change of their row decides; gives their ids."""
        close_items(self.work, items, "edited", self.origin, self.repo.new_id)
        return tuple(item.id for item in items)


def _other_than(before: Row, text: str | None, columns: Mapping[str, Cell]) -> Row:
    """Columns without a text that the row has already: what it renders stays."""
    return {c: value for c, value in columns.items() if c != text or value != before[c]}


@dataclass(frozen=True, slots=True)
class Replacement:
    """A fact to add in place of another."""

    fact_id: str
    """The fact that is replaced."""
    text: str
    new_fact_id: str | None = None
    """Given by tests; else made."""
    category: str | None = None
    """Default: that of the replaced fact."""
    confidence: float = 1.0
    happened_at: int | None = None
    valid_until: int | None = None
    closes: bool = True
    """The valid time of the replaced fact ends, if it has not, when the new one became true."""
    reason: str | None = None
    first_edit: str | None = None
    """As with `Correction`."""


def supersede(repo: Repository, branch: Branch, new: Replacement, origin: Origin) -> Edited:
    """Add a fact in place of another, which stays and points to it; one commit.

    A fact whose successor was removed from this branch can be superseded anew.

    Raises:
        NotFound: the fact is not on this branch.
        Refused: it is superseded already by a fact of this branch, unless by this request or the
            same words lately.
        RequestReused: the request did something else.
    """
    with repo.store.changing(branch.name) as work:
        kind, before = present(work, new.fact_id, branch)
        if kind is not FACT:
            raise Refused("Only a fact can be superseded.", id=new.fact_id)
        new_id = new.new_fact_id or repo.new_id(FACT.prefix, work.now)
        category = text_of(before["category"]) if new.category is None else new.category
        fact = NewFact(
            new.text,
            category,
            new.confidence,
            new.happened_at,
            new.valid_until,
            space=text_of(before["space"]),
            sensitivity=text_of(before["sensitivity"]),
        )
        made = fact_row(new_id, fact, origin, work.now)
        if (first := _superseded_before(work, before, made)) is not None:
            at = int(first["created_at"] or 0)
            return Edited(FACT, first, work.tip, at, (), before, _ends(before, first))
        last = _last_successor(work, before)
        if last is not None:
            raise Refused(
                f"{new.fact_id} is superseded already, by {last}: supersede {last} in its place.",
                Advice("{memory_update_fact} changes its text."),
                id=new.fact_id,
                superseded_by=last,
            )
        if new.first_edit is not None and work.get(EDIT, [new.first_edit]):
            raise reused(new.first_edit)
        values: Row = {"status": "superseded", "superseded_by": new_id}
        if new.closes:
            values["valid_until"] = end_of(before, made)
        work.add(FACT, [made])
        work.change(FACT, new.fact_id, values)
        groups = changed_groups(FACT, before, values)
        editor = Editor(repo, work, origin, new.reason)
        superseded = {**before, **values}
        editor.add_edits(FACT, superseded, groups)
        closed = editor.close(_decided(work, new.fact_id, groups))
        commit = work.commit(Message("change", f"supersede fact {new.fact_id} by {new_id}"))
        return Edited(FACT, made, commit, work.now, closed, superseded, _ends(before, made))


def _ends(before: Row, made: Row) -> Row:
    """The ends that a fact had or was to have, and that the one in its place has not."""
    ends = {column: before[column] for column in ("expires_at", "valid_until")}
    if ends["valid_until"] is not None and int(ends["valid_until"]) <= when(made):
        ends["valid_until"] = None  # it was over: the new fact begins after it
    return {c: end for c, end in ends.items() if end is not None and made[c] is None}


def _last_successor(work: Work, fact: Row) -> str | None:
    """The last fact on this branch that superseded a fact, or its successor, and so on."""
    last, seen = None, {str(fact["id"])}
    while (successor := successor_of(fact)) is not None and successor not in seen:
        rows = work.get(FACT, [successor])
        if not rows:
            break
        seen.add(successor)
        last, fact = successor, rows[successor]
    return last


def end_of(before: Row, made: Row) -> int:
    """When the valid time of a replaced fact ends: as planned if earlier, not before its start."""
    start, planned = before["happened_at"], before["valid_until"]
    end = when(made) if start is None else max(when(made), int(start))
    return end if planned is None else min(end, int(planned))


def _superseded_before(work: Work, before: Row, made: Row) -> Row | None:
    """The fact that superseded another for this request, or with the same words lately.

    Raises:
        RequestReused: the request wrote something else.
    """
    given = {column: made[column] for column in ("fact_text", "category", "confidence")}
    first = written_by(work, FACT, str(made["id"]), given)
    if first is not None and before["superseded_by"] != first["id"]:
        raise reused(str(first["id"]))
    if first is None and before["superseded_by"] is not None:
        newer = work.get(FACT, [str(before["superseded_by"])])
        first = written_lately([*newer.values()], FACT, made)
    return first


def _edited_before(
    work: Work, first_edit: str | None, row_id: str, same: Callable[[Row, Collection[Cell]], bool]
) -> int | None:
    """When a request made its first edit of a row; None if it did not.

    Args:
        work: a unit of work on the branch.
        first_edit: the id that the request gives its first edit.
        row_id: what it is to edit.
        same: whether that is what it did: given its values by cell, and the cells edited since.

    Raises:
        RequestReused: it edited something else.
    """
    edit = None if first_edit is None else work.get(EDIT, [first_edit]).get(first_edit)
    if edit is None:
        return None
    at = int(edit["created_at"] or 0)
    edits = work.find(EDIT, Query(equal={"row_id": row_id}))
    made = {str(e["cell"]): e["value"] for e in edits if e["created_at"] == at}
    since = {e["cell"] for e in edits if int(e["created_at"] or 0) > at}
    if edit["row_id"] != row_id or not same(made, since):
        raise reused(str(first_edit))
    return at


def _sets(kind: Kind, before: Row, columns: Row) -> Callable[[Row, Collection[Cell]], bool]:
    """Whether a request that is known by its edits set these columns.

    A cell that had the value already got no edit; it has it still, or was edited since.
    """
    after = {**before, **complete(kind, columns)}
    cells = [group[0] for group in kind.groups if columns.keys() & set(group)]

    def same(made: Row, since: Collection[Cell]) -> bool:
        return all(
            made[cell] == cell_value(kind, after, cell)
            if cell in made
            else cell in since
            or all(before[c] == value for c, value in columns.items() if c in kind.group(cell))
            for cell in cells
        )

    return same


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows to remove."""

    row_ids: Sequence[str]
    reason: str | None = None
    first_edit: str | None = None
    """As with `Correction`."""


def remove(repo: Repository, branch: Branch, removal: Removal, origin: Origin) -> Edited:
    """Remove rows from a branch, as one commit; history keeps them and `restore` brings them back.

    Raises:
        NotFound: a row is not on this branch; nothing is removed then.
        RequestReused: the request edited something else.
    """
    first, row_ids = removal.first_edit, list(dict.fromkeys(removal.row_ids))
    with repo.store.changing(branch.name) as work:
        done_at = _edited_before(work, first, row_ids[0], lambda made, _: WHOLE in made)
        if done_at is not None:
            edits = work.find(EDIT, Query(equal={"created_at": done_at, "cell": WHOLE}))
            if {edit["row_id"] for edit in edits} != set(row_ids):
                raise reused(str(first))
            return Edited(FACT, {"id": row_ids[0]}, work.tip, done_at)
        editor = Editor(repo, work, origin, removal.reason)
        rows = [present(work, row_id, branch) for row_id in row_ids]
        for kind, row in rows:
            work.apply({kind.table: {str(row["id"]): None}})
            editor.add_edits(kind, row, [WHOLE])
            editor.close(_untaken(work, str(row["id"])))  # it was here
        names = ", ".join(f"{kind.name} {row['id']}" for kind, row in rows)
        return Edited(*rows[0], work.commit(Message("remove", f"remove {names}")), work.now)


def present(work: Work, row_id: str, branch: Branch) -> tuple[Kind, Row]:
    """A row of any kind that is on the branch.

    Raises:
        NotFound: it is not; the message says where to look.
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


def authors(repo: Repository, ref: Ref, kind: Kind, row: Row) -> dict[str, Row]:
    """The newest edit of each cell whose value is the cell's present one, by cell."""
    with repo.store.reading(ref) as reading:
        edits = reading.find(EDIT, Query(equal={"row_id": row["id"]}))
        return newest_edits(kind, row, edits, reading.mask.hides(kind, row))


def _decided(work: Work, row_id: str, groups: Collection[str]) -> list[HeldItem]:
    """Items that an edit of some cells decides; not one that keeps the row out elsewhere."""
    rows = work.find(HELD, Query(equal={"row_id": row_id}))
    if not rows:  # as nearly always
        return []
    return [i for i in open_items(rows) if i.cell in {*groups, WHOLE} and not keeps_out(i)]


def _untaken(work: Work, row_id: str) -> list[HeldItem]:
    """Items that keep a row out elsewhere, dismissed or open."""
    rows = work.find(HELD, Query(equal={"row_id": row_id}))
    return [i for i in open_items(r for r in rows if r["decision"] != "dismissed") if keeps_out(i)]
