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
    """An entry to put, or to remove if `new` is None."""

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
    """With a request id, ids of new rows are derived from it and the position of the change."""
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
    count_by_action: Counter[str] = Counter()
    notes: dict[str, None] = {}
    row_ids: list[str] = []
    with repo.store.changing(branch.name) as work:
        for numbered_change in changes:
            row_id, outcome = _apply(work, branch, numbered_change, origin)
            row_ids.append(row_id)
            count_by_action.update([outcome.what] if outcome.what else [])
            notes |= dict.fromkeys(outcome.notes)
        if not count_by_action:
            return Applied(tuple(row_ids), work.tip, work.now, tuple(notes))
        counts_text = ", ".join(f"{action} {count}" for action, count in count_by_action.items())
        commit = work.commit(Message("change", f"batch: {counts_text}"))
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
            correction_result = correct(numbered.repo, work, branch, correction, origin)
            return correction.row_id, _Done("change" if correction_result.changed.groups else "")
        case Removal() as removal:
            return removal.row_ids[0], _Done(_remove(work, branch, numbered.repo, removal, origin))
        case EntryChange() as entry_change:
            return entry_change.at.row_id, _Done(_entry(work, numbered.repo, entry_change, origin))
        case SaidMessages() as said_messages:
            return said_messages.row_id, _Done(say(work, said_messages, origin))
        case UnsaidMessages() as unsaid_messages:
            return unsaid_messages.conversation_id, _Done(
                unsay(numbered.repo, work, unsaid_messages, origin)
            )
        case memory:
            kind, row = new_memory(numbered.repo, memory, origin, work.now)
            put_result = put_once(work, kind, row, numbered.request_id)
            return str(put_result.row["id"]), _Done(
                "add" if put_result.fresh else "", put_result.notes
            )


def _entry(work: Work, repo: Repository, change: EntryChange, origin: Origin) -> str:
    """Put or remove an entry in open work, unless this request did it before."""
    if change.first_edit is not None and work.get(EDIT, [change.first_edit]):
        return ""
    check_revisions(work, {change.at: change.expect_revision}, work.now)
    editor = Editor(repo, work, origin, change.reason)
    if change.new is None:
        entry_rows = rows_at(work, [change.at])
        if entry_rows:
            editor.remove(entry_rows)
        return "remove" if entry_rows else ""
    return put_in(work, editor, change.new, origin)


def _remove(work: Work, branch: Branch, repo: Repository, removal: Removal, origin: Origin) -> str:
    """Remove a row in open work, unless this request did it before."""
    row_id = removal.row_ids[0]
    if edited_before(work, removal.first_edit, row_id, lambda values, _: WHOLE in values):
        return ""
    Editor(repo, work, origin, removal.reason).remove([present(work, row_id, branch)])
    return "remove"
