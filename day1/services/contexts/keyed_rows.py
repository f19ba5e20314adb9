"""Rows that have to be there with given values: added, changed, or left as they are.

What is new only is added like any write, and shares its commit. As soon as one row is there with
other values, all of them are one commit of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from day1.errors import Refused
from day1.model.branches.branch import Branch
from day1.model.rows.change import CommitId, Message
from day1.model.rows.kind import WHOLE, Cell, Kind, Row
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.repository.idempotency import reused
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor
from day1.services.rows.recording import changed_groups, new_row


@dataclass(frozen=True, slots=True)
class KeyedRow:
    """A row by its id, and the columns that it is to have."""

    kind: Kind
    id: str
    columns: Mapping[str, Cell]
    always: Mapping[str, Cell] = field(default_factory=dict)
    """Columns that are set as well, where one of the others changes the row's text."""
    endings: tuple[str, ...] = ()
    """Columns that are emptied as well, where the instant that they hold is past. Not of a row that
    was superseded or archived: that was decided, and stays."""
    origin_id: str | None = None
    """The row that it is made from, if it is new."""
    of_request: bool = False
    """The id was made for this request: a row that has it was written by the same request."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was done, and the state of the branch after it."""

    rows: dict[str, Row]
    added: int
    changed: int
    tip: CommitId
    pending: int


Rows = Callable[[Reading, int], Sequence[KeyedRow]]
"""The rows to keep at a state of the branch and an instant: asked under the branch's lock."""


def keep(repo: Repository, branch: Branch, wanted: Rows, origin: Origin) -> Kept:
    """Bring rows about on a branch, all of them or none.

    Raises:
        RequestReused: the request wrote something else before.
    """
    with repo.store.adding(branch.name) as adding:
        rows = wanted(adding, adding.now)
        there = _there(adding, rows)
        if any(_differs(row, there[row.id], adding.now) for row in rows if row.id in there):
            return _change(repo, adding.to_change(), rows, there, origin)
        new = [row for row in rows if row.id not in there]
        made = [_new(row, origin, adding.now) for row in new]
        for kind in dict.fromkeys(row.kind for row in new):
            adding.add(kind, [m for r, m in zip(new, made, strict=True) if r.kind is kind])
        there |= {str(row["id"]): row for row in made}
        pending = adding.pending.count + len(made)
        return Kept(there, len(made), 0, adding.tip, pending)


def unredacted(reading: Reading, rows: list[KeyedRow]) -> list[KeyedRow]:
    """The same rows, once it is known that their callers will find them again.

    Raises:
        Refused: one is redacted, and with it whatever its namespace would be from now on.
    """
    gone = [row.id for row in rows if row.id in reading.mask.rows]
    if gone:
        raise Refused(
            "What has this key or id was redacted, and what replaced it would not be found: use "
            "another key or id.",
            ids=gone,
        )
    return rows


def _change(
    repo: Repository, work: Work, rows: Sequence[KeyedRow], there: dict[str, Row], origin: Origin
) -> Kept:
    editor = Editor(repo, work, origin)
    added = changed = 0
    for row in rows:
        before = there.get(row.id)
        if before is None:
            there[row.id] = _new(row, origin, work.now)
            work.add(row.kind, [there[row.id]])
            added += 1
        elif _differs(row, before, work.now):
            columns = _columns(row, before, work.now)
            there[row.id] = editor.change(row.kind, before, columns).row
            changed += 1
    tip = work.commit(Message("change", _line(added, changed)))
    return Kept(there, added, changed, tip, 0)


def _new(row: KeyedRow, origin: Origin, now: int) -> Row:
    made = new_row(row.kind, row.id, dict(row.columns), origin, now)
    return {**made, "origin_id": row.origin_id}


def _there(reading: Reading, rows: Sequence[KeyedRow]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        found |= reading.get(kind, [row.id for row in rows if row.kind is kind])
    return found


def _columns(row: KeyedRow, before: Row, now: int) -> dict[str, Cell]:
    text = row.kind.text
    new = text is not None and row.columns.get(text, before[text]) != before[text]
    active = before.get("status") in {None, "active"}
    past = [
        c for c in row.endings if active and before[c] is not None and int(before[c] or 0) <= now
    ]
    return {**row.columns, **dict.fromkeys(past), **(row.always if new else {})}


def _differs(row: KeyedRow, before: Row, now: int) -> bool:
    if row.of_request:
        # When it expires follows from when it is asked, so only what it says is compared.
        said = row.kind.group(row.kind.text or WHOLE)
        if any(before[column] != row.columns.get(column, before[column]) for column in said):
            raise reused(row.id)
        return False
    return bool(changed_groups(row.kind, before, _columns(row, before, now)))


def _line(added: int, changed: int) -> str:
    parts = [f"change {changed} keyed rows"] if changed else []
    return ", ".join([*parts, *([f"add {added}"] if added else [])])
