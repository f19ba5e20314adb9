"""Writing the rows of a session: its conversation, messages, handoffs and end."""

import json
from dataclasses import dataclass
from typing import Final

from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.files.client_event import AGAIN, ClientEvent
from day1.model.prime.framing import without_frames
from day1.model.records.sharing import Handoff
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, EDIT, MESSAGE, Row, canonical, complete
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash, derived_id
from day1.model.values.instant import show
from day1.model.values.parts import parts_of, piece_of
from day1.model.values.space import EVERY, SHARED, asked_space
from day1.ports.additions import Additions
from day1.services.conversations.messages import last_message
from day1.services.repository.repository import Repository
from day1.services.rows.bulk_writes import was_removed
from day1.services.rows.deriving import add_new, basis_columns, basis_edit
from day1.services.rows.recording import EditedCells, edit_rows, new_row
from day1.services.tasks.sessions import register_writer

COMPACTED: Final = "session_handoff"
"""The type of the handoff that a session writes when its context is compacted."""
_TITLE: Final = 80
ROLES: Final = {
    "prompt": "user",
    "turn-end": "assistant",
    "subagent-start": "user",
    "subagent-stop": "assistant",
}
"""The events that are messages, each with the role of its author."""


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """A message that an event holds."""

    event: ClientEvent
    role: str
    text: str

    @property
    def id(self) -> str:
        """The id of the message's row, derived from the event."""
        return self.event.id(MESSAGE.prefix, self.role, self.text)


def message_of(event: ClientEvent) -> SessionMessage | None:
    """Return the message of an event without primes and hints; None if it has no message."""
    role = ROLES.get(event.event)
    if role is None or event.text is None:
        return None
    text = without_frames(event.text)
    return SessionMessage(event, role, text) if text.strip() else None


def add_message(repo: Repository, branch: Branch, message: SessionMessage) -> None:
    """Add a message at the end of its conversation; the first one creates the conversation.

    A long message is added in parts. Each message and part is added in its own unit of work, so
    each has its own time, which orders the messages.
    """
    register_writer(repo, branch, _origin(message.event), repo.clock())
    for part_id, part_text in parts_of(message.id, message.text):
        with repo.store.adding(branch.name) as work:
            if work.get(MESSAGE, [part_id]):
                continue
            if part_id == message.id and _is_repeated(work, message, part_text):
                return
            _add(repo, work, message, (part_id, part_text))
        repo.point("taking.after_part")


def _add(repo: Repository, work: Additions, message: SessionMessage, part: tuple[str, str]) -> None:
    """Add a message, or a part (id and text) of a message, unless somebody removed it."""
    part_id, part_text = part
    conversation_id = message.event.conversation_id
    is_new_conversation = not work.get(CONVERSATION, [conversation_id])
    if _was_removed(work, part_id) or (is_new_conversation and _was_removed(work, conversation_id)):
        return
    previous_id = None
    if is_new_conversation:
        work.add(CONVERSATION, [_conversation(message, work.now)])
        basis_sources = [{"id": part_id, "content_hash": content_hash(part_text)}]
        basis_values = basis_columns(CONVERSATION, conversation_id, basis_sources)
        add_new(work, [basis_edit(basis_values, _origin(message.event), work.now)])
    else:
        previous_id = last_message(repo, work, conversation_id)
    work.add(MESSAGE, [_message(message, part, previous_id, work.now)])


def add_handoff(repo: Repository, branch: Branch, event: ClientEvent, summary: str) -> None:
    """Store the summary of a compacted context as a handoff from the branch to itself."""
    handoff_id = event.id("handoff", COMPACTED, summary)
    if repo.ledger.record(Handoff, handoff_id) is not None:
        return
    earlier_handoffs = (
        repo.ledger.records(Handoff, target_id=branch.id) if event.turn is None else ()
    )
    if any(
        handoff.context_summary == summary and abs(handoff.created_at - event.at) < AGAIN
        for handoff in earlier_handoffs
    ):
        return
    commit = repo.store.commit_pending(branch.name)
    with repo.store.reading(Ref(commit=commit)) as reading:
        conversation_ids = tuple(reading.get(CONVERSATION, [event.conversation_id]))
    branch_ids = {"source_id": branch.id, "target_id": branch.id}
    repo.ledger.put(
        Handoff(
            id=handoff_id, handoff_type=COMPACTED, **branch_ids, commit=commit, facts=(),
            conversations=conversation_ids, context_summary=summary, left_out=0,
            created_by=event.writer, created_at=event.at,
        )
    )  # fmt: skip


def end_session(repo: Repository, branch: Branch, event: ClientEvent) -> None:
    """Record the end of a session in its conversation, and commit the branch's pending rows."""
    conversation_id = event.conversation_id
    with repo.store.changing(branch.name) as work:
        conversation_row = work.get(CONVERSATION, [conversation_id]).get(conversation_id)
        if conversation_row is None:
            return
        detail = _detail(conversation_row)
        earlier_end_time = detail.get("ended")
        if isinstance(earlier_end_time, int) and earlier_end_time > event.at - AGAIN:
            return
        detail |= {"ended": event.at, "ended_at": show(event.at)}
        detail |= {} if event.source is None else {"reason": event.source}
        new_columns: Row = {"detail": canonical(detail)}
        edited_cells = EditedCells(
            CONVERSATION, {**conversation_row, **new_columns}, ["detail"], "the session ended"
        )
        work.change(CONVERSATION, conversation_id, new_columns)
        work.add(
            EDIT,
            edit_rows(
                edited_cells,
                _origin(event),
                work.now,
                lambda prefix, _: derived_id(
                    prefix, None, "hook", conversation_id, "ended", str(event.at)
                ),
            ),
        )
        work.commit(Message("change", "close a session", conversation_id))


def _detail(row: Row) -> dict[str, object]:
    try:
        detail = json.loads(str(row["detail"] or "{}"))
    except ValueError:
        return {}
    return dict(detail) if isinstance(detail, dict) else {}


def _was_removed(work: Additions, row_id: str) -> bool:
    """Whether somebody removed the row; a removed row is not added again."""
    return was_removed(work.find(EDIT, Query(equal={"row_id": row_id})))


def _is_repeated(work: Additions, message: SessionMessage, text: str) -> bool:
    """Whether a client without turn ids reported the same message less than `AGAIN` before.

    `text` is the message, or its first part, whose mark differs each time.
    """
    event = message.event
    if event.turn is not None:
        return False
    equal_columns: Row = {"conversation_id": event.conversation_id, "role": message.role}
    if text != message.text:
        nearby_query = Query(
            equal=equal_columns, after=event.at - AGAIN + 1, before=event.at + AGAIN - 1
        )
        text_piece = piece_of(text)
        return any(
            piece_of(str(row["content"])) == text_piece for row in work.find(MESSAGE, nearby_query)
        )
    equal_columns["content_hash"] = content_hash(message.text)
    return any(
        abs(int(row["happened_at"] or 0) - event.at) < AGAIN
        for row in work.find(MESSAGE, Query(equal=equal_columns))
    )


def _origin(event: ClientEvent) -> Origin:
    return Origin(event.writer, event.session, event.task, "tool")


def _conversation(message: SessionMessage, now: int) -> Row:
    event = message.event
    first_line = message.text.strip().splitlines()[0]
    title = first_line if len(first_line) <= _TITLE else f"{first_line[: _TITLE - 1]}…"
    if event.kind is not None:
        title = f"{event.kind}: {title}"
    columns: Row = {"title": title, "happened_at": event.at, "space": _space(event.space)}
    return new_row(CONVERSATION, event.conversation_id, columns, _origin(event), now)


def _space(name: str | None) -> str | None:
    try:
        space = None if name is None else asked_space(name)
    except InvalidRequest:
        return None
    return None if space in {SHARED, EVERY} else space


def _message(message: SessionMessage, part: tuple[str, str], last: str | None, now: int) -> Row:
    event, (part_id, part_text) = message.event, part
    columns: Row = {"role": message.role, "content": part_text, "happened_at": event.at}
    columns |= {"model": event.model if message.role == "assistant" else None}
    columns |= {"thinking": None, "tool_calls": None}
    columns |= {"conversation_id": event.conversation_id, "previous_id": last}
    return new_row(MESSAGE, part_id, complete(MESSAGE, columns), _origin(event), now)
