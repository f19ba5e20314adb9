"""Several changes of a branch in one unit of work: all of them, in one commit, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.rows.change import CommitId, Message
from day1.model.rows.kind import EDIT, WHOLE
from day1.model.rows.origin import Origin
from day1.ports.store import Work
from day1.services.contexts.entries import EntryKey, NewEntry
from day1.services.contexts.entry_writes import check_revisions, put_in, rows_at
from day1.services.conversations.log_changes import SaidMessages, UnsaidMessages, say, unsay
from day1.services.repository.idempotency import edited_before
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Correction, Editor, Removal, correct, present
from day1.services.rows.recording import NewMemory, new_memory, put_once


@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry to put, or to remove if there is no new one."""

    at: EntryKey
    new: NewEntry | None = None
    reason: str | None = None
    expect_revision: str | None = None
    """The revision that the entry must have (see `NewEntry`)."""
    first_edit: str | None = None
    """The id that the request gives its first edit (see `Correction`)."""


Change = NewMemory | Correction | Removal | EntryChange | SaidMessages | UnsaidMessages
"""A memory to add, to correct or to remove, an entry, or messages of a log; a removal names one
row."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The rows of a batch, in the order of its changes, and the state of the branch after it."""

    row_ids: tuple[str, ...]
    commit: CommitId
    at: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbered:
    """A change, and the store that makes the ids of its new rows."""

    change: Change
    repo: Repository
    """With a request id its new ids follow from the request and the change's place."""
    request_id: str | None = None


def apply(repo: Repository, branch: Branch, changes: Sequence[Numbered], origin: Origin) -> Applied:
    """Make changes of a branch in their order, in one commit.

    A memory is added once: the same request, or the same words less than a minute ago, add
    nothing.

    Raises:
        NotFound: a row, or the message that others are to follow, is not on this branch.
        Conflict: the key of a message is that of another one.
        InvalidRequest: rows of its kind have no such column.
        ValueTooLarge: the value of an entry is longer than a row keeps.
        RevisionChanged: a row or an entry has another revision than its change expects.
        RequestReused: the request id was used before, for other changes.
    """
    counts: Counter[str] = Counter()
    notes: dict[str, None] = {}
    row_ids: list[str] = []
    with repo.store.changing(branch.name) as work:
        for numbered in changes:
            row_id, result = _apply(work, branch, numbered, origin)
            row_ids.append(row_id)
            counts.update([result.what] if result.what else [])
            notes |= dict.fromkeys(result.notes)
        if not counts:
            return Applied(tuple(row_ids), work.tip, work.now, tuple(notes))
        line = ", ".join(f"{what} {count}" for what, count in counts.items())
        commit = work.commit(Message("change", f"batch: {line}"))
        return Applied(tuple(row_ids), commit, work.now, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Done:
    """The kind of a change that was made ("" if nothing changed), and notes."""

    what: str = ""
    notes: tuple[str, ...] = ()


def _apply(work: Work, branch: Branch, numbered: Numbered, origin: Origin) -> tuple[str, _Done]:
    """Make one change in open work; return its row's id and what was done."""
    match numbered.change:
        case Correction() as correction:
            corrected = correct(numbered.repo, work, branch, correction, origin)
            return correction.row_id, _Done("change" if corrected.changed.groups else "")
        case Removal() as removal:
            return removal.row_ids[0], _Done(_remove(work, branch, numbered.repo, removal, origin))
        case EntryChange() as change:
            return change.at.row_id, _Done(_entry(work, numbered.repo, change, origin))
        case SaidMessages() as said:
            return said.row_id, _Done(say(work, said, origin))
        case UnsaidMessages() as unsaid:
            return unsaid.conversation_id, _Done(unsay(numbered.repo, work, unsaid, origin))
        case memory:
            kind, row = new_memory(numbered.repo, memory, origin, work.now)
            written = put_once(work, kind, row, numbered.request_id)
            return str(written.row["id"]), _Done("add" if written.fresh else "", written.notes)


def _entry(work: Work, repo: Repository, change: EntryChange, origin: Origin) -> str:
    """Put or remove an entry in open work, unless this request did it before."""
    if change.first_edit is not None and work.get(EDIT, [change.first_edit]):
        return ""
    check_revisions(work, {change.at: change.expect_revision}, work.now)
    editor = Editor(repo, work, origin, change.reason)
    if change.new is None:
        rows = rows_at(work, [change.at])
        if rows:
            editor.remove(rows)
        return "remove" if rows else ""
    return put_in(work, editor, change.new, origin)


def _remove(work: Work, branch: Branch, repo: Repository, removal: Removal, origin: Origin) -> str:
    """Remove a row in open work, unless this request did it before."""
    row_id = removal.row_ids[0]
    if edited_before(work, removal.first_edit, row_id, lambda values, _: WHOLE in values):
        return ""
    Editor(repo, work, origin, removal.reason).remove([present(work, row_id, branch)])
    return "remove"
