"""Recording a turn of a thread: its messages and tool events, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from day1.errors import Advice, RequestReused
from day1.model.branches.branch import Branch
from day1.model.layers.thread import Thread, turn_message_id
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.kind import MESSAGE, Row
from day1.model.rows.origin import Origin
from day1.ports.additions import Additions
from day1.services.conversations.messages import NewMessage
from day1.services.repository.repository import Repository
from day1.services.rows.recording import BranchAfter
from day1.services.turns.thread_messages import (
    SessionRecord,
    ThreadUnit,
    message_columns,
    removed_of,
)


@dataclass(frozen=True, slots=True)
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
        return [self._message_id(place) for place in range(1, len(self.messages) + 1)]

    @property
    def next_id(self) -> str:
        """The id of the message that would come after the last one."""
        return self._message_id(len(self.messages) + 1)

    def _message_id(self, place: int) -> str:
        return turn_message_id(self.thread.conversation_id, self.id, place)


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
    with repo.store.adding(branch.name) as work:
        if _was_recorded(work, turn, origin):
            return RecordedTurn(BranchAfter.of(work, 0))
        messages = list(zip(turn.message_ids, turn.messages, strict=True))
        unit = ThreadUnit(repo, work, turn.thread, origin)
        after, notes = unit.put(messages, turn.record)
    return RecordedTurn(after, notes)


def _was_recorded(work: Additions, turn: Turn, origin: Origin) -> bool:
    """Whether the thread has this turn.

    Raises:
        RequestReused: it has another turn of this id, or had this one.
    """
    ids = turn.message_ids
    present = work.get(MESSAGE, [*ids, turn.next_id])
    if removed_of(work, [row_id for row_id in ids if row_id not in present]):
        raise RequestReused(
            f"A message of the turn {turn.id!r} was removed since it was recorded.",
            Advice("{memory_restore} brings it back; another turnId records the messages again."),
            turn_id=turn.id,
        )
    if not present:
        return False
    said = {i: message_columns(m) for i, m in zip(ids, turn.messages, strict=True)}
    if present.keys() != said.keys() or not all(
        _is_same(row, said[row_id], origin) for row_id, row in present.items()
    ):
        raise RequestReused(
            f"The turn {turn.id!r} was recorded before with other messages: give each turn a "
            "turnId of its own, and the same one only to record that turn again.",
            turn_id=turn.id,
        )
    return True


def _is_same(row: Row, columns: Row, origin: Origin) -> bool:
    if row["content_hash"] == REDACTED_HASH:
        return True
    columns = {**columns, "session_id": origin.session_id}
    return all(row[column] == value for column, value in columns.items())
