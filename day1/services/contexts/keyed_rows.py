"""Upserting rows by id: each row is added, changed, or left if it has the values already.

If all rows are new, they are added like any write and share its commit. If one row exists with
other values, all of them become one commit of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from day1.errors import Refused
from day1.model.branches.branch import Branch
from day1.model.contexts.keyed import passage_id, passage_ids
from day1.model.rows.change import CommitId, Message
from day1.model.rows.kind import EDIT, FACT, WHOLE, Cell, Kind, Row
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.repository.idempotency import reused
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor
from day1.services.rows.recording import EditedCells, changed_groups, edit_rows, new_row


@dataclass(frozen=True, slots=True)
class KeyedRow:
    """A row to upsert: its id and the columns that it must have afterwards."""

    kind: Kind
    id: str
    columns: Mapping[str, Cell]
    always: Mapping[str, Cell] = field(default_factory=dict)
    """Columns that are set too if `columns` change the row's text."""
    endings: tuple[str, ...] = ()
    """Columns that are emptied too if the instant that they hold is past, except in a row that
    was superseded or archived: such a decision stays."""
    origin_id: str | None = None
    """The id of the row that a new row is made from."""
    of_request: bool = False
    """Whether the id was made for this request: then an existing row means a repeated request."""


@dataclass(frozen=True, slots=True)
class UpsertedRows:
    """The rows of an upsert, how many were added and changed, and the branch's state after it."""

    rows: dict[str, Row]
    added: int
    changed: int
    tip: CommitId
    pending: int


RowsAt = Callable[[Reading, int], Sequence[KeyedRow]]
"""A function that chooses the rows to upsert, by the branch's state and the time, under the
lock."""


def upsert_rows(
    repo: Repository,
    branch: Branch,
    rows_at: RowsAt,
    origin: Origin,
    first_edit: str | None = None,
) -> UpsertedRows:
    """Add or change rows on a branch in one unit of work, all of them or none.

    Args:
        repo: the store.
        branch: where.
        rows_at: chooses the rows.
        origin: who writes.
        first_edit: the id that the request gives its first edit: if the branch has it, the request
            was done before, and changes nothing.

    Raises:
        RequestReused: the request wrote something else before.
    """
    with repo.store.adding(branch.name) as adding_unit:
        if first_edit is not None and adding_unit.get(EDIT, [first_edit]):
            return UpsertedRows({}, 0, 0, adding_unit.tip, adding_unit.pending.count)
        keyed_rows = rows_at(adding_unit, adding_unit.now)
        row_by_id = _present(adding_unit, keyed_rows)
        if any(
            _differs(row, row_by_id[row.id], adding_unit.now)
            for row in keyed_rows
            if row.id in row_by_id
        ):
            return _change(repo, adding_unit.to_change(), keyed_rows, row_by_id, origin)
        added_by_kind: dict[Kind, list[Row]] = {}
        for row in keyed_rows:
            if row.id not in row_by_id:
                row_by_id[row.id] = new_keyed_row(row, origin, adding_unit.now)
                added_by_kind.setdefault(row.kind, []).append(row_by_id[row.id])
        added_count = sum(map(len, added_by_kind.values()))
        if first_edit is not None and added_count:
            # An edit identifies the request. Without it, a repeat would add rows that were removed
            # since, or undo later changes of others.
            kind, (first_row, *_) = next(iter(added_by_kind.items()))
            first_cells = EditedCells(kind, first_row, [str(kind.text)])
            added_by_kind[EDIT] = edit_rows(first_cells, origin, adding_unit.now, repo.new_id)
        for kind, new_rows in added_by_kind.items():
            adding_unit.add(kind, new_rows)
        pending_count = adding_unit.pending.count + sum(map(len, added_by_kind.values()))
        return UpsertedRows(row_by_id, added_count, 0, adding_unit.tip, pending_count)


def unredacted(reading: Reading, rows: list[KeyedRow]) -> list[KeyedRow]:
    """Return the rows unchanged if none of their ids is redacted.

    Raises:
        Refused: an id is redacted, so that the new row would be hidden too.
    """
    redacted_ids = [row.id for row in rows if row.id in reading.mask.rows]
    if redacted_ids:
        raise Refused(
            "The memory with this key or id was redacted, and a new one would not be found: use "
            "another key or id.",
            ids=redacted_ids,
        )
    return rows


def of_older_versions(reading: Reading, ends: Mapping[str, Mapping[str, Cell]]) -> list[KeyedRow]:
    """Return the facts that are made of older versions of contexts, with the columns to set.

    `ends` has by the id of a context its new expiry and sensitivity.
    """
    context_id_by_first_fact = {passage_id(row_id, 0): row_id for row_id in ends}
    promoted_ids = [
        context_id_by_first_fact[first_fact_id]
        for first_fact_id in reading.get(FACT, list(context_id_by_first_fact))
    ]
    return [
        KeyedRow(FACT, fact_id, ends[row_id])
        for row_id in promoted_ids
        for fact_id in reading.get(FACT, passage_ids(row_id))
    ]


def put_row(work: Work, editor: Editor, row: KeyedRow, origin: Origin) -> str:
    """Add or change one row in open work; return what was done: `add`, `change` or nothing."""
    present_row = work.get(row.kind, [row.id]).get(row.id)
    if present_row is None:
        work.add(row.kind, [new_keyed_row(row, origin, work.now)])
        return "add"
    if not _differs(row, present_row, work.now):
        return ""
    editor.change(row.kind, present_row, _columns(row, present_row, work.now))
    return "change"


def _change(
    repo: Repository, work: Work, rows: Sequence[KeyedRow], present: dict[str, Row], origin: Origin
) -> UpsertedRows:
    editor = Editor(repo, work, origin)
    added_count = changed_count = 0
    for row in rows:
        old_row = present.get(row.id)
        if old_row is None:
            present[row.id] = new_keyed_row(row, origin, work.now)
            work.add(row.kind, [present[row.id]])
            added_count += 1
        elif _differs(row, old_row, work.now):
            columns = _columns(row, old_row, work.now)
            present[row.id] = editor.change(row.kind, old_row, columns).row
            changed_count += 1
    tip = work.commit(Message("change", _line(added_count, changed_count)))
    return UpsertedRows(present, added_count, changed_count, tip, 0)


def new_keyed_row(row: KeyedRow, origin: Origin, now: int) -> Row:
    """Build a row that is added, with all its columns."""
    complete_row = new_row(row.kind, row.id, dict(row.columns), origin, now)
    return {**complete_row, "origin_id": row.origin_id}


def _present(reading: Reading, rows: Sequence[KeyedRow]) -> dict[str, Row]:
    row_by_id: dict[str, Row] = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        row_by_id |= reading.get(kind, [row.id for row in rows if row.kind is kind])
    return row_by_id


def _columns(row: KeyedRow, before: Row, now: int) -> dict[str, Cell]:
    text_column = row.kind.text
    is_new_text = (
        text_column is not None
        and row.columns.get(text_column, before[text_column]) != before[text_column]
    )
    has_active_status = before.get("status") in {None, "active"}
    ended_columns = [
        column
        for column in row.endings
        if has_active_status and before[column] is not None and int(before[column] or 0) <= now
    ]
    return {**row.columns, **dict.fromkeys(ended_columns), **(row.always if is_new_text else {})}


def _differs(row: KeyedRow, before: Row, now: int) -> bool:
    if row.of_request:
        # The expiry depends on the time of the request, so only the text is compared.
        text_columns = row.kind.group(row.kind.text or WHOLE)
        if any(
            before[column] != row.columns.get(column, before[column]) for column in text_columns
        ):
            raise reused(row.id)
        return False
    return bool(changed_groups(row.kind, before, _columns(row, before, now)))


def _line(added: int, changed: int) -> str:
    change_phrases = [f"change {changed} keyed rows"] if changed else []
    return ", ".join([*change_phrases, *([f"add {added}"] if added else [])])
