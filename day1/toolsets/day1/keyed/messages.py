"""Operations on conversations under keys: messages that keep what they were made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    MemoryText,
    OnBranch,
    Read,
    Request,
    Response,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import ValueTooLarge
from day1.model.contexts.content import readable_json
from day1.model.rows.kind import Row, text_of
from day1.model.rows.validation import clean, secret_notes
from day1.model.values.instant import show
from day1.model.values.parts import MOST_VALUE
from day1.services.access.calls import (
    branch_of,
    first_edit,
    new_space,
    repeatable,
    writable,
    writer,
)
from day1.services.branches.resolving import shown_at
from day1.services.conversations import keyed
from day1.services.conversations.keyed import Batch, ConversationKey, Cut
from day1.services.conversations.messages import NewMessage
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.entries import EntrySpace, Key
from day1.toolsets.shared.fields import absent

_MOST: Final = 10_000


def _structure(text: str) -> str:
    if len(text) > MOST_VALUE:
        return text  # the call refuses it, with a code of its own
    try:
        value = json.loads(clean(text), parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise ValueError("must be JSON with finite numbers and at most 64 levels") from exc
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")  # noqa: TRY004 - what a validator raises
    readable_json(value)
    return text


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


class MessageGiven(Request):
    """A message to append.

    Attributes:
        role: Who speaks.
        content: What was said: search finds the message by it, and people read it.
        structure: What the message was made from, a JSON object as text of at most 1,048,576
            characters; it comes back to the letter. Redacting the message hides it too.
    """

    role: Literal["user", "assistant", "system", "tool"]
    content: MemoryText
    structure: Annotated[str, AfterValidator(_structure)] | None = None


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
    messages: Annotated[list[MessageGiven], Field(min_length=1, max_length=_MOST)]
    title: Label | None = None
    branch: OnBranch = None


class MessagesAppended(Response):
    """The ids of the messages in their order, and the conversation that has them."""

    conversation_id: str
    ids: list[str]
    written: Written


def message_append(ctx: Context, request: MessageAppend) -> MessagesAppended:
    """Add messages at the end of the conversation of a key, all or none."""
    for given in request.messages:
        _refuse_long(given.structure)
    notes = dict.fromkeys(
        note
        for given in request.messages
        for note in secret_notes(ctx.limits.secrets, given.content, given.structure)
    )
    at = _place(ctx, request.key, request.space)
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    new = [
        NewMessage(given.role, given.content, structure=given.structure)
        for given in request.messages
    ]
    batch = Batch(at, new, request.title)
    done = keyed.append(repeatable(ctx, request, branch), branch, batch, origin)
    return MessagesAppended(
        conversation_id=at.conversation_id,
        ids=list(done.message_ids),
        written=Written(
            branch=branch.name,
            commit=done.after.tip,
            pending=done.after.pending,
            notes=list(notes),
        ),
    )


class MessageList(Request):
    """The arguments of `message_list`.

    Attributes:
        key: The key of the conversation in its space.
        space: The space, as for `entry_put`.
        limit: How many of the newest messages to answer; default: all.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
    """

    key: Key
    space: EntrySpace | None = None
    limit: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
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
    at = _place(ctx, request.key, request.space)
    branch = branch_of(ctx, request.branch)
    with ctx.repo.store.reading(shown_at(ctx.repo, branch, request.at)) as reading:
        rows = keyed.newest(ctx.repo, reading, at, request.limit)
        return MessagesListed(
            conversation_id=at.conversation_id,
            messages=[_item(row) for row in rows],
            read=read_of(reading, branch.name),
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
    at = _place(ctx, request.key, request.space)
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    cut = Cut(at, request.last, request.after, first_edit(ctx, request, branch))
    done = keyed.remove(repeatable(ctx, request, branch), branch, cut, origin)
    return MessagesRemoved(
        ids=list(done.message_ids),
        written=Written(branch=branch.name, commit=done.tip, pending=done.pending),
    )


def _place(ctx: Context, key: str, space: str | list[str] | None) -> ConversationKey:
    name = None if space is None else str(space)  # the validator made a name of labels
    return ConversationKey(new_space(ctx, name), key)


def _refuse_long(structure: str | None) -> None:
    if structure is not None and len(structure) > MOST_VALUE:
        raise ValueTooLarge(
            f"The JSON of a message has {len(structure):,} characters, and at most "
            f"{MOST_VALUE:,} are kept: keep long parts in a file, and the file's name in the "
            "message.",
            limit=MOST_VALUE,
        )


def _item(row: Row) -> KeyedMessage:
    structure = text_of(row["structure"])
    text: Mapping[str, Any] = (
        {"content": str(row["content"])} if structure is None else {"structure": structure}
    )
    return KeyedMessage(
        id=str(row["id"]),
        role=str(row["role"]),
        created_at=show(int(row["created_at"] or 0)),
        **text,
    )


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("message_append", message_append, Effect.WRITE),
    Operation("message_list", message_list, Effect.READ),
    Operation("message_remove", message_remove, Effect.DESTROY),
)
