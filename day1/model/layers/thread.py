"""Threads of Compose: conversations whose ids follow from their owner's space and their names.

Two branches that record the same thread, turn or transcript make rows with the same ids, so that a
merge of the branches has each row once.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from day1.model.rows.kind import CONVERSATION, MESSAGE, OBSERVATION
from day1.model.values.ids import derived_id
from day1.model.values.wallet_space import Owner

SESSION: Final = "session"
"""The type of the observation that holds a session's summary, tokens and metadata."""
_MILLISECOND: Final = 1_000


@dataclass(frozen=True)
class Thread:
    """A thread of an owner, and the session in which it goes on."""

    owner: Owner
    name: str
    session: str

    @cached_property
    def conversation_id(self) -> str:
        """The id of the thread's conversation."""
        return conversation_id(self.owner.space, self.name)

    @property
    def record_id(self) -> str:
        """The id of the session's record."""
        return record_id(self.conversation_id, self.session)


def conversation_id(space: str | None, thread: str) -> str:
    """Return the id of the conversation of a thread."""
    return derived_id(CONVERSATION.prefix, None, "compose", space or "", thread)


def record_id(conversation: str, session: str) -> str:
    """Return the id of the observation that describes a session of a conversation."""
    return derived_id(OBSERVATION.prefix, None, "compose", SESSION, conversation, session)


def turn_message_id(conversation: str, turn: str, place: int) -> str:
    """Return the id of a turn's message: ids ascend with the place, as all have one time."""
    return _message_id(place, conversation, turn, str(place))


def transcript_message_id(conversation: str, session: str, place: int, content_hash: str) -> str:
    """Return the id of a transcript's message: ids ascend with the place, as a turn's do."""
    return _message_id(place, conversation, "transcript", session, str(place), content_hash)


def _message_id(place: int, *keys: str) -> str:
    return derived_id(MESSAGE.prefix, place * _MILLISECOND, "compose", *keys)
