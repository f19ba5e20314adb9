"""Operations on conversations under keys: messages that keep what they were made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Read, Request, Response, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.model.rows.kind import Row, text_of
from day1.model.rows.validation import secret_notes
from day1.model.values.instant import show
from day1.services.access.calls import branch_of, first_edit, repeatable, writable, writer
from day1.services.branches.resolving import shown_at
from day1.services.conversations import keyed
from day1.services.conversations.chains import Chains, LogKey
from day1.services.conversations.keyed import Batch, ConversationKey, Cut, MessagePage
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.entries import EntrySpace, Key, space_of
from day1.toolsets.shared.fields import absent
from day1.toolsets.shared.messages import (
    MOST_MESSAGES,
    MessageGiven,
    new_messages,
    texts_of_messages,
)


class MessageAppend(WriteRequest):
    """The arguments of `message_append`.

    Attributes:
        key: The key of the conversation in its space: any text of 1 to 1,024 characters, to the
            letter. The conversation is made if it is missing.
        space: The space, as for `entry_put`.
        messages: 1 to 10,000 messages, in their order; all are added, or none.
        title: The title of the conversation if it is new.
    """

    key: Key
    space: EntrySpace | None = None
    messages: Annotated[list[MessageGiven], Field(min_length=1, max_length=MOST_MESSAGES)]
    title: Label | None = None
    branch: OnBranch = None


class MessagesAppended(Response):
    """The ids of the messages in their order, and the conversation that has them."""

    conversation_id: str
    ids: list[str]
    written: Written


def message_append(ctx: Context, request: MessageAppend) -> MessagesAppended:
    """Add messages at the end of the conversation of a key, all or none."""
    messages_to_add = new_messages(request.messages)
    notes = secret_notes(ctx.limits.secrets, *texts_of_messages(request.messages))
    conversation_key = _place(ctx, request.key, request.space)
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    message_batch = Batch(conversation_key, messages_to_add, request.title)
    append_result = keyed.append(repeatable(ctx, request, branch), branch, message_batch, origin)
    return MessagesAppended(
        conversation_id=conversation_key.conversation_id,
        ids=list(append_result.message_ids),
        written=Written(
            branch=branch.name,
            commit=append_result.after.tip,
            pending=append_result.after.pending,
            notes=notes,
        ),
    )


class MessageList(Request):
    """The arguments of `message_list`.

    Attributes:
        key: The key of the conversation in its space.
        space: The space, as for `entry_put`.
        limit: How many of the newest messages to answer; default: all.
        before: The id of a message: only those in front of it are answered; with the first id of an
            answer and `limit` these are the next older ones.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
    """

    key: Key
    space: EntrySpace | None = None
    limit: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    before: Label | None = None
    branch: OnBranch = None
    at: Label | None = None


class KeyedMessage(Response):
    """A message of a conversation.

    Attributes:
        id: The id of its row.
        role: Who speaks.
        content: What was said; left out if `structure` is there.
        structure: The JSON that it was made from, to the letter; missing if there is none.
        created_at: When it was appended.
    """

    id: str
    role: str
    content: str | None = absent()
    structure: str | None = absent()
    created_at: str


class MessagesListed(Response):
    """The messages in sequence, without redacted ones; none if there is no such conversation."""

    conversation_id: str
    messages: list[KeyedMessage]
    read: Read


def message_list(ctx: Context, request: MessageList) -> MessagesListed:
    """Read the newest messages of the conversation of a key in sequence."""
    conversation_key = _place(ctx, request.key, request.space)
    message_page = MessagePage(request.limit, request.before, ctx.limits.answer_bytes)
    branch = branch_of(ctx, request.branch)
    with ctx.repo.store.reading(shown_at(ctx.repo, branch, request.at)) as reading:
        message_rows = keyed.newest(ctx.repo, reading, conversation_key, message_page)
        return MessagesListed(
            conversation_id=conversation_key.conversation_id,
            messages=[_item(row) for row in message_rows],
            read=read_of(reading, branch.name),
        )


class MessageChain(Request):
    """The arguments of `message_chain`.

    Attributes:
        key: The key of the last message: see `say` of `rows_apply`.
        space: The space in which the keys of messages count, as for `entry_put`.
        limit: How many of the last messages to answer; default: all.
        before: The id of a message: only those in front of it are answered, as with `message_list`.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
    """

    key: Key
    space: EntrySpace | None = None
    limit: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    before: Label | None = None
    branch: OnBranch = None
    at: Label | None = None


class MessagesChained(Response):
    """The messages in sequence, without removed and redacted ones."""

    messages: list[KeyedMessage]
    read: Read


def message_chain(ctx: Context, request: MessageChain) -> MessagesChained:
    """Read the message of a key and those that it follows, also of other conversations."""
    last_message_key = LogKey(space_of(ctx, request.space), request.key)
    message_page = MessagePage(request.limit, request.before, ctx.limits.answer_bytes)
    branch = branch_of(ctx, request.branch)
    with ctx.repo.store.reading(shown_at(ctx.repo, branch, request.at)) as reading:
        message_rows = Chains(ctx.repo, reading).messages(last_message_key.row_id, message_page)
        return MessagesChained(
            messages=[_item(row) for row in message_rows], read=read_of(reading, branch.name)
        )


class MessageRemove(WriteRequest):
    """The arguments of `message_remove`; without `last` and `after` all messages are removed.

    Attributes:
        key: The key of the conversation in its space.
        space: The space, as for `entry_put`.
        last: The id of the last message: it alone is removed. Nothing is removed if another message
            is the last one by now.
        after: The id of a message: all that follow it are removed; `last` wins over it.
    """

    key: Key
    space: EntrySpace | None = None
    last: Label | None = None
    after: Label | None = None
    branch: OnBranch = None


class MessagesRemoved(Response):
    """The ids of the removed messages."""

    ids: list[str]
    written: Written


def message_remove(ctx: Context, request: MessageRemove) -> MessagesRemoved:
    """Remove messages from the end of the conversation of a key in one commit."""
    conversation_key = _place(ctx, request.key, request.space)
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    message_cut = Cut(
        conversation_key, request.last, request.after, first_edit(ctx, request, branch)
    )
    removal = keyed.remove(repeatable(ctx, request, branch), branch, message_cut, origin)
    return MessagesRemoved(
        ids=list(removal.message_ids),
        written=Written(branch=branch.name, commit=removal.tip, pending=removal.pending),
    )


def _place(ctx: Context, key: str, space: str | list[str] | None) -> ConversationKey:
    return ConversationKey(space_of(ctx, space), key)


def _item(row: Row) -> KeyedMessage:
    structure = text_of(row["structure"])
    content_or_structure: Mapping[str, Any] = (
        {"content": str(row["content"])} if structure is None else {"structure": structure}
    )
    return KeyedMessage(
        id=str(row["id"]),
        role=str(row["role"]),
        created_at=show(int(row["created_at"] or 0)),
        **content_or_structure,
    )


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("message_append", message_append, Effect.WRITE, long_values=True),
    Operation("message_list", message_list, Effect.READ),
    Operation("message_chain", message_chain, Effect.READ),
    Operation("message_remove", message_remove, Effect.DESTROY),
)
