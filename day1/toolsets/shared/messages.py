"""Types of arguments about messages under keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from day1.call.context import Context
from day1.call.fields import Label, MemoryText, Request
from day1.errors import ValueTooLarge
from day1.model.contexts.content import readable_json, size_of_value
from day1.model.rows.validation import clean
from day1.model.values.parts import MOST_VALUE
from day1.services.conversations.chains import LogKey
from day1.services.conversations.keyed import Batch, ConversationKey
from day1.services.conversations.log_changes import SaidMessages, UnsaidMessages
from day1.services.conversations.messages import NewMessage
from day1.toolsets.shared.entries import EntrySpace, Key, space_of

MOST_MESSAGES: Final = 10_000
"""Maximum number of messages in one call."""
_MOST_NAMES: Final = 20
"""Maximum number of members of an entry that may name messages."""


def _structure(text: str) -> str:
    if size_of_value(text) > MOST_VALUE:
        return text  # the call refuses it, with a code of its own
    try:
        parsed_json = json.loads(clean(text), parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise ValueError("must be JSON with finite numbers and at most 64 levels") from exc
    if not isinstance(parsed_json, dict):
        raise ValueError("must be a JSON object")  # noqa: TRY004 - what a validator raises
    readable_json(parsed_json)
    return text


def _no_number(name: str) -> None:
    raise ValueError(f"must not have {name}: JSON has no such number")


class MessageGiven(Request):
    """A message to append.

    Attributes:
        role: Who speaks.
        content: What was said: search finds the message by it, and people read it.
        structure: What the message was made from, a JSON object as text of at most 8 MiB
            in UTF-8; it comes back to the letter. Redacting the message hides it too.
    """

    role: Literal["user", "assistant", "system", "tool"]
    content: MemoryText
    structure: Annotated[str, AfterValidator(_structure)] | None = None


class LogMessage(MessageGiven):
    """A message to add under a key of its own in a log."""

    key: Key


class SayMessages(Request):
    """Messages to add to the conversation of a key, each after the one before it.

    The first one follows the message `after`, of any conversation, which must be there; without
    `after` it begins. `log` is the space in which the keys of messages count, by default `space`.
    """

    action: Literal["say"]
    key: Key
    space: EntrySpace | None = None
    log: EntrySpace | None = None
    after: Key | None = None
    messages: Annotated[list[LogMessage], Field(max_length=MOST_MESSAGES)]
    title: Label | None = None


class UnsayMessages(Request):
    """Messages to remove: those of the conversation of a key, and of the chains of `ends`.

    A message stays if an entry of the space `log` or below it names it, or one that follows it:
    `named_at` are the members of the entries' values that have such a key, or a list of them.
    """

    action: Literal["unsay"]
    key: Key
    space: EntrySpace | None = None
    log: EntrySpace | None = None
    ends: Annotated[list[Key], Field(max_length=MOST_MESSAGES)] | None = None
    named_at: Annotated[list[Label], Field(min_length=1, max_length=_MOST_NAMES)]


def said_messages(ctx: Context, asked: SayMessages) -> SaidMessages:
    """Build the messages that a `say` change adds.

    Raises:
        ValueTooLarge: the JSON of a message is too long.
    """
    log_space = space_of(ctx, asked.log or asked.space)
    conversation_key = ConversationKey(space_of(ctx, asked.space), asked.key)
    return SaidMessages(
        Batch(conversation_key, new_messages(asked.messages), asked.title),
        [LogKey(log_space, message.key) for message in asked.messages],
        None if asked.after is None else LogKey(log_space, asked.after),
    )


def unsaid_messages(ctx: Context, asked: UnsayMessages, reason: str | None) -> UnsaidMessages:
    """Build the removal of messages that an `unsay` change asks for."""
    log_space = space_of(ctx, asked.log or asked.space)
    return UnsaidMessages(
        ConversationKey(space_of(ctx, asked.space), asked.key).conversation_id,
        [LogKey(log_space, key) for key in asked.ends or ()],
        log_space,
        asked.named_at,
        reason,
    )


def new_messages(given: Sequence[MessageGiven]) -> list[NewMessage]:
    """Build the new messages of a request.

    Raises:
        ValueTooLarge: the JSON of a message is too long.
    """
    for message in given:
        size = size_of_value(message.structure or "")
        if size > MOST_VALUE:
            raise ValueTooLarge(
                f"The JSON of a message has {size:,} bytes, and at most {MOST_VALUE:,} (8 MiB) "
                "are kept: keep long parts in a file, and the file's name in the message.",
                limit=MOST_VALUE,
            )
    return [
        NewMessage(given_message.role, given_message.content, structure=given_message.structure)
        for given_message in given
    ]


def texts_of_messages(given: Sequence[MessageGiven]) -> tuple[str | None, ...]:
    """Return the texts of messages that may hold a secret."""
    return tuple(text for message in given for text in (message.content, message.structure))
