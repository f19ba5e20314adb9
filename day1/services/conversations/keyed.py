"""Conversations under keys: a program's log of messages, in which each keeps what it was made from.

One key in one space is one conversation on all branches. Messages are appended together, read from
the end, and removed from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from day1.errors import NotFound
from day1.model.branches.branch import Branch
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import CommitId, Message, Query
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    MESSAGE,
    WHOLE,
    Cell,
    Row,
    canonical,
    complete,
)
from day1.model.rows.origin import Origin
from day1.model.values.ids import derived_id
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.conversations.messages import NewMessage, last_message, may_have_brought
from day1.services.conversations.order import FROM_THE_END, messages_of, order_of
from day1.services.repository.idempotency import reused, written_by
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor
from day1.services.rows.recording import BranchAfter, new_row
from day1.services.rows.value_sizes import refuse_large_answer, refuse_large_rows


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """The place of a conversation: a key in a space (None: among the rows without a space)."""

    space: str | None
    key: str

    @property
    def conversation_id(self) -> str:
        """The id of the conversation, on all branches."""
        return derived_id(CONVERSATION.prefix, None, "keyed", self.space or "", self.key)


@dataclass(frozen=True, slots=True)
class AppendedMessages:
    """The ids of appended messages in their order, and the branch afterwards."""

    message_ids: Sequence[str]
    after: BranchAfter


@dataclass(frozen=True, slots=True)
class RemovedMessages:
    """The ids of removed messages, and the branch's state afterwards."""

    message_ids: Sequence[str]
    tip: CommitId
    pending: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages to append to a conversation, in their order."""

    at: ConversationKey
    messages: Sequence[NewMessage]
    title: str | None = None
    """The title of the conversation if it is new."""


def append(repo: Repository, branch: Branch, batch: Batch, origin: Origin) -> AppendedMessages:
    """Add messages at the end of a conversation as one unit of work, all of them or none.

    The conversation is made if it is missing. A request that is repeated adds nothing.

    Raises:
        RequestReused: the request id was used before, for other messages.
    """
    conversation_id = batch.at.conversation_id
    with repo.store.adding(branch.name) as work:
        # Rows of one time are read in the order of their ids.
        message_ids = sorted(repo.new_id(MESSAGE.prefix, work.now) for _ in batch.messages)
        message_columns = [
            {**complete(MESSAGE, new_message.columns), "conversation_id": conversation_id}
            for new_message in batch.messages
        ]
        if repo.of_request and _appended_before(work, message_ids, message_columns):
            return AppendedMessages(message_ids, BranchAfter.of(work, 0))
        is_new_conversation = not work.get(CONVERSATION, [conversation_id])
        if is_new_conversation:
            work.add(CONVERSATION, [conversation_row(batch, origin, work.now)])
        last_id = None if is_new_conversation else last_message(repo, work, conversation_id)
        work.add(
            MESSAGE,
            [
                new_row(
                    MESSAGE, message_id, {**columns, "previous_id": previous_id}, origin, work.now
                )
                for message_id, columns, previous_id in zip(
                    message_ids, message_columns, [last_id, *message_ids[:-1]], strict=True
                )
            ],
        )
    return AppendedMessages(
        message_ids, BranchAfter.of(work, len(message_ids) + is_new_conversation)
    )


def conversation_row(batch: Batch, origin: Origin, now: int) -> Row:
    """Build the row of a new conversation under a key."""
    columns: Row = {
        "title": batch.title,
        "space": batch.at.space,
        "detail": canonical({"key": batch.at.key}),
    }
    return new_row(CONVERSATION, batch.at.conversation_id, columns, origin, now)


def _appended_before(work: Additions, ids: Sequence[str], columns: Sequence[Row]) -> bool:
    """Whether an earlier call of the same request appended these messages."""
    if written_by(work, MESSAGE, ids[0], columns[0]) is None:
        return False
    for row_id, row_columns in zip(ids, columns, strict=True):
        if written_by(work, MESSAGE, row_id, row_columns) is None:
            raise reused(row_id)
    return True


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Which messages of a conversation `newest` returns."""

    limit: int | None = None
    """How many of the newest, at least 1; None: all."""
    before: str | None = None
    """The id of a message: only those in front of it; None: up to the last one."""
    most_bytes: int | None = None
    """Maximum number of bytes of their values; None: any number."""


ALL: Final = MessagePage()
"""All messages of a conversation."""


def newest(
    repo: Repository, reading: Reading, at: ConversationKey, page: MessagePage = ALL
) -> list[Row]:
    """Return the newest messages of a conversation in sequence, without redacted ones.

    The cost of a limit grows with it, not with the conversation, unless a commit brought messages
    to the branch, or removed some, since the oldest of them. With `before` the order of the whole
    conversation is read.

    Args:
        repo: the store.
        reading: the state to read.
        at: the place of the conversation; without messages, the result is empty.
        page: which messages.

    Raises:
        NotFound: the conversation has no message with the id `before`.
        AnswerTooLarge: the values of the messages have too many bytes.
    """
    if page.limit is None and page.before is None:
        equal = {"conversation_id": at.conversation_id}
        scanned_messages = reading.scan(MESSAGE, ("id", "content_hash"), Query(equal=equal))
        hidden_ids = [row_id for row_id, text_hash in scanned_messages if not _is_shown(text_hash)]
        visible_query = Query(equal=equal, without={"id": hidden_ids} if hidden_ids else {})
        message_count = len(scanned_messages) - len(hidden_ids)
        refuse_large_answer(reading, MESSAGE, visible_query, message_count, page.most_bytes)
        rows = [row for _, row in messages_of(repo, reading, at.conversation_id)]
        return [row for row in rows if _is_shown(row["content_hash"])]
    visible_ids = _visible_ids(repo, reading, at.conversation_id, page)
    refuse_large_rows(reading, MESSAGE, visible_ids, page.most_bytes)
    row_by_id = reading.get(MESSAGE, visible_ids)
    return [row_by_id[row_id] for row_id in visible_ids]


def _is_shown(text_hash: Cell) -> bool:
    return text_hash != REDACTED_HASH


def _visible_ids(
    repo: Repository, reading: Reading, conversation_id: str, page: MessagePage
) -> list[str]:
    """Return the ids of the messages of a page that are not redacted, in sequence.

    Raises:
        NotFound: the conversation has no message with the id `page.before`.
    """
    limit = page.limit or 0  # 0: all
    read_count = limit
    while True:
        hash_by_id = (
            _last_hashes(repo, reading, conversation_id, read_count)
            if page.before is None
            else _hashes_before(repo, reading, conversation_id, page.before)
        )
        visible_ids = [row_id for row_id, text_hash in hash_by_id.items() if _is_shown(text_hash)]
        has_read_all = page.before is not None or len(hash_by_id) < read_count
        if len(visible_ids) >= limit or has_read_all:
            return visible_ids[-limit:]
        read_count *= 2  # redacted messages took some of the places


def _hashes_before(
    repo: Repository, reading: Reading, conversation_id: str, before: str
) -> dict[str, Cell]:
    """Return the hashes of the texts in front of a message by the messages' ids, in sequence.

    Raises:
        NotFound: the conversation has no message with the id `before`.
    """
    message_ids = order_of(repo, reading, conversation_id)
    if before not in message_ids:
        raise no_message_before(before)
    return _hashes(reading, message_ids[: message_ids.index(before)])


def _last_hashes(
    repo: Repository, reading: Reading, conversation_id: str, count: int
) -> dict[str, Cell]:
    """Return the hashes of the texts of the last messages by their ids, in sequence."""
    equal_columns = {"conversation_id": conversation_id}
    query = Query(equal=equal_columns, order="created_at", descending=True, limit=count)
    scanned_messages = sorted(
        (int(created_at or 0), str(row_id), previous_id, text_hash)
        for row_id, previous_id, created_at, text_hash in reading.scan(
            MESSAGE, ("id", "previous_id", "created_at", "content_hash"), query
        )
    )
    hash_by_id = {row_id: text_hash for _, row_id, _, text_hash in scanned_messages}
    is_chain = all(
        followed_id == row_id
        for (_, _, followed_id, _), row_id in zip(scanned_messages[1:], hash_by_id, strict=False)
    )
    if not scanned_messages or (is_chain and not may_have_brought(reading, scanned_messages[0][0])):
        return hash_by_id
    return _hashes(reading, order_of(repo, reading, conversation_id)[-count:])


def no_message_before(before: str) -> NotFound:
    """Return the error of a page in front of a message that is not there."""
    return NotFound(
        f"There is no message {before!r} here: read the newest messages again, without `before`.",
        id=before,
    )


def _hashes(reading: Reading, message_ids: Sequence[str]) -> dict[str, Cell]:
    row_by_id = reading.get(MESSAGE, message_ids, ("content_hash",))
    return {row_id: row_by_id[row_id]["content_hash"] for row_id in message_ids}


@dataclass(frozen=True, slots=True)
class Cut:
    """Arguments of `remove`."""

    at: ConversationKey
    last: str | None = None
    """Remove this message, and only if it is the last one; None: all messages."""
    after: str | None = None
    """Remove the messages that follow this one; None: see `last`."""
    first_edit: str | None = None
    """The id that the request gives its first edit: if the branch has it, the request was done
    before, and nothing is removed."""


def remove(repo: Repository, branch: Branch, cut: Cut, origin: Origin) -> RemovedMessages:
    """Remove messages from the end of a conversation in one commit; history keeps them.

    The conversation stays, also without messages.
    """
    with repo.store.adding(branch.name) as adding_unit:
        earlier_removed_ids = _removed_before(adding_unit, cut)
        message_rows = [] if earlier_removed_ids else _rows_to_remove(repo, adding_unit, cut)
        if not message_rows:
            return RemovedMessages(earlier_removed_ids, adding_unit.tip, adding_unit.pending.count)
        # A redacted message may follow the last one that is shown.
        is_cut_at_end = cut.last in {None, last_message(repo, adding_unit, cut.at.conversation_id)}
        work = adding_unit.to_change()
        Editor(repo, work, origin).remove([(MESSAGE, row) for row in message_rows])
        commit_line = f"remove {len(message_rows)} messages of {cut.at.conversation_id}"
        tip = work.commit(Message("remove", commit_line, meta={FROM_THE_END: is_cut_at_end}))
        return RemovedMessages([str(row["id"]) for row in message_rows], tip, 0)


def _rows_to_remove(repo: Repository, reading: Reading, cut: Cut) -> list[Row]:
    if cut.last is not None:
        newest_rows = newest(repo, reading, cut.at, MessagePage(1))
        return [row for row in newest_rows if row["id"] == cut.last]
    message_ids = order_of(repo, reading, cut.at.conversation_id)
    if cut.after is not None:
        message_ids = (
            message_ids[message_ids.index(cut.after) + 1 :] if cut.after in message_ids else []
        )
    row_by_id = reading.get(MESSAGE, message_ids)
    return [row_by_id[row_id] for row_id in message_ids]


def _removed_before(reading: Reading, cut: Cut) -> list[str]:
    """Return the ids of the messages that an earlier call of the same request removed."""
    edit_by_id = {} if cut.first_edit is None else reading.get(EDIT, [cut.first_edit])
    edit_times = {edit["created_at"] for edit in edit_by_id.values()}
    if not edit_times:
        return []
    query = Query(among={"created_at": [*edit_times]}, equal={"cell": WHOLE})
    return [str(edit["row_id"]) for edit in reading.find(EDIT, query)]
