"""Recording turns: messages at the end of a thread, in one unit of work.

`ThreadUnit` adds messages and the record of a session; turns and transcripts are stored by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from day1.errors import Advice, InvalidRequest, RequestReused
from day1.model.branches.branch import Branch
from day1.model.layers.row_detail import detail_of
from day1.model.layers.thread import SESSION, Thread, turn_message_id
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import REMOVED, Message, Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    MESSAGE,
    OBSERVATION,
    WHOLE,
    Row,
    canonical,
    complete,
)
from day1.model.rows.origin import Origin
from day1.model.values.parts import MAX_TEXT
from day1.ports.additions import Additions
from day1.ports.store import AddingUnit
from day1.services.conversations.messages import NewMessage, last_message
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor
from day1.services.rows.recording import BranchAfter, changed_groups, new_row

NewMessages = Sequence[tuple[str, NewMessage]]
"""Messages to add at the end of a thread, with their ids, which ascend."""
HIDDEN: Final = (
    "The record of this session was redacted, so its summary, tokens and metadata are not kept: "
    "begin another session to keep new ones."
)


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A caller's description of a session. None, or an empty value, leaves a field unchanged."""

    summary: str | None = None
    tokens: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to keep."""
        return self.summary is not None or self.tokens is not None or bool(self.metadata)


@dataclass(frozen=True, slots=True)
class ThreadUnit:
    """An open unit of work on the thread of a session."""

    repo: Repository
    adding: AddingUnit
    thread: Thread
    origin: Origin

    def put(self, messages: NewMessages, record: SessionRecord) -> tuple[BranchAfter, list[str]]:
        """Add messages and write the session's record; return the branch after it, and notes.

        A record that exists and differs is changed, so that the unit ends in a commit of its own.
        """
        if not record:
            return self._added(messages, []), []
        record_id = self.thread.record_id
        if record_id in self.adding.mask.rows:
            return self._added(messages, []), [HIDDEN]
        old_record = self.adding.get(OBSERVATION, [record_id]).get(record_id)
        record_columns = self._columns(old_record, record)
        if old_record is None:
            now = self.adding.now
            return self._added(
                messages, [new_row(OBSERVATION, record_id, record_columns, self.origin, now)]
            ), []
        if not changed_groups(OBSERVATION, old_record, complete(OBSERVATION, record_columns)):
            return self._added(messages, []), []
        changing_unit = self.adding.to_change()
        Editor(self.repo, changing_unit, self.origin).change(
            OBSERVATION, old_record, record_columns
        )
        self._add(changing_unit, messages)
        tip = changing_unit.commit(Message("change", f"describe session {record_id}"))
        return BranchAfter(tip, 0, changing_unit.now), []

    def _added(self, messages: NewMessages, records: Sequence[Row]) -> BranchAfter:
        if records:
            self.adding.add(OBSERVATION, records)
        added_count = self._add(self.adding, messages) + len(records)
        return BranchAfter.of(self.adding, added_count)

    def _add(self, work: Additions, messages: NewMessages) -> int:
        """Add messages; the first ones of a thread create its conversation. Returns the rows."""
        if not messages:
            return 0
        thread_conversation_id, last_id = self.thread.conversation_id, None
        is_new_thread = not work.get(CONVERSATION, [thread_conversation_id])
        if is_new_thread:
            owner = self.thread.owner
            conversation_columns: Row = {
                "space": owner.space,
                "detail": detail_of(owner, threadId=self.thread.name),
            }
            work.add(
                CONVERSATION,
                [
                    new_row(
                        CONVERSATION,
                        thread_conversation_id,
                        conversation_columns,
                        self.origin,
                        work.now,
                    )
                ],
            )
        else:
            last_id = last_message(self.repo, work, thread_conversation_id)
        message_rows = []
        for row_id, message in messages:
            message_columns: Row = {
                **message.columns,
                "conversation_id": thread_conversation_id,
                "previous_id": last_id,
            }
            message_rows.append(new_row(MESSAGE, row_id, message_columns, self.origin, work.now))
            last_id = row_id
        work.add(MESSAGE, message_rows)
        self.repo.point("turn.after_rows")
        return len(message_rows) + is_new_thread

    def _columns(self, before: Row | None, record: SessionRecord) -> Row:
        """Build the columns of the session's record: those of `before` with what is new."""
        old_detail = {} if before is None else read_detail(before["detail"])
        thread = self.thread
        placeholder = f"Session {thread.session} of thread {thread.name}."
        old_summary = placeholder if before is None else str(before["summary"])
        metadata = _fitting({**_object(old_detail.get("metadata")), **record.metadata})
        detail = detail_of(
            thread.owner,
            threadId=thread.name,
            sessionId=thread.session,
            tokenCount=old_detail.get("tokenCount") if record.tokens is None else record.tokens,
            metadata=metadata,
            summarized=True if record.summary is not None else old_detail.get("summarized"),
        )
        return {
            "summary": record.summary or old_summary,
            "observation_type": SESSION,
            "space": thread.owner.space,
            "detail": detail,
        }


def removed_of(work: Additions, message_ids: Sequence[str]) -> set[str]:
    """Return the ids of those missing messages that somebody removed."""
    query = Query(equal={"cell": WHOLE, "value": REMOVED}, among={"row_id": message_ids})
    return {str(row[0]) for row in work.scan(EDIT, ("row_id",), query)} if message_ids else set()


def _fitting(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse metadata that have grown too long.

    Raises:
        InvalidRequest: they have more characters as JSON than a memory may have.
    """
    if len(canonical(metadata)) > MAX_TEXT:
        problem = f"with the session's other keys it has more than {MAX_TEXT:,} characters as JSON"
        problems = [{"argument": "metadata", "problem": problem}]
        raise InvalidRequest(f"metadata: {problem}.", problems=problems)
    return metadata


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Turn:
    """A turn to record."""

    thread: Thread
    id: str
    messages: Sequence[NewMessage]
    """What was said, then the events of tools."""
    record: SessionRecord

    @property
    def message_ids(self) -> list[str]:
        """The ids of the messages, which ascend."""
        return self._ids[:-1]

    @property
    def next_id(self) -> str:
        """The id of the message that would come after the last one."""
        return self._ids[-1]

    @cached_property
    def _ids(self) -> list[str]:
        thread_conversation_id = self.thread.conversation_id
        message_numbers = range(1, len(self.messages) + 2)
        return [
            turn_message_id(thread_conversation_id, self.id, number) for number in message_numbers
        ]


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """The branch after a turn was recorded, and notes."""

    after: BranchAfter
    notes: Sequence[str] = ()


def record_turn(repo: Repository, branch: Branch, turn: Turn, origin: Origin) -> RecordedTurn:
    """Add a turn at the end of its thread in one unit of work; a repeated turn adds nothing.

    Raises:
        RequestReused: the thread has a turn of this id with other messages, or somebody removed
            a message of the turn since.
    """
    with repo.store.adding(branch.name) as unit_of_work:
        if _was_recorded(unit_of_work, turn, origin):
            return RecordedTurn(BranchAfter.of(unit_of_work, 0))
        messages_with_ids = list(zip(turn.message_ids, turn.messages, strict=True))
        thread_unit = ThreadUnit(repo, unit_of_work, turn.thread, origin)
        branch_after, notes = thread_unit.put(messages_with_ids, turn.record)
    return RecordedTurn(branch_after, notes)


def _was_recorded(work: Additions, turn: Turn, origin: Origin) -> bool:
    """Whether the thread has this turn.

    Raises:
        RequestReused: it has another turn of this id, or had this one.
    """
    message_ids = turn.message_ids
    present_rows = work.get(MESSAGE, [*message_ids, turn.next_id])
    if removed_of(work, [row_id for row_id in message_ids if row_id not in present_rows]):
        raise RequestReused(
            f"A message of the turn {turn.id!r} was removed since it was recorded.",
            Advice("{memory_restore} restores it; to record the turn anew, use another turnId."),
            turn_id=turn.id,
        )
    if not present_rows:
        return False
    message_by_id = dict(zip(message_ids, turn.messages, strict=True))
    if present_rows.keys() != message_by_id.keys() or not all(
        _is_same(row, message_by_id[row_id], origin) for row_id, row in present_rows.items()
    ):
        raise RequestReused(
            f"The turn {turn.id!r} was recorded before with other messages: give each turn a "
            "turnId of its own, and the same one only to record that turn again.",
            turn_id=turn.id,
        )
    return True


def _is_same(row: Row, message: NewMessage, origin: Origin) -> bool:
    if row["content_hash"] == REDACTED_HASH:
        return True
    columns: Row = {**message.columns, "session_id": origin.session_id}
    return all(row[column] == value for column, value in columns.items())
