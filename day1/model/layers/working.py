"""The working memory of a session: what an agent has at hand; it is not memory and ends by itself.

The text of a turn's message is not copied: the id of the message is kept, and the message is read
when it is shown. So a redacted or removed message leaves the working memory too.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from day1.model.rows.kind import canonical
from day1.model.values.ids import content_hash
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner

LASTS: Final = DAY
"""Microseconds from the last write to the end of a working session."""
MOST_BYTES: Final = 64 * 1024
"""Bytes of a working memory as JSON, at most."""
_MESSAGES: Final = 50
"""Messages of turns in a working memory, at most: the newest ones."""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The working memory of a session; `context` are lines that the caller wrote."""

    user: str | None = None
    """The user of the first writer; None: the wallet itself."""
    device: str | None = None
    thread: str | None = None
    context: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    """Ids of messages of turns, oldest first."""
    entities: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def is_of(self, owner: Owner) -> bool:
        """Whether this working memory belongs to the owner's user and device."""
        return (self.user, self.device) == (owner.user, owner.device)

    def with_messages(self, message_ids: Sequence[str]) -> "WorkingMemory":
        """Append the ids of messages that it lacks, and keep the newest."""
        distinct_ids = tuple(dict.fromkeys((*self.messages, *message_ids[-_MESSAGES:])))
        return replace(self, messages=distinct_ids[-_MESSAGES:])

    def merged(self, new: "WorkingMemory") -> "WorkingMemory":
        """Return this working memory with the lines and keys of a new one added."""
        return replace(
            self,
            thread=new.thread or self.thread,
            context=tuple(dict.fromkeys((*self.context, *new.context))),
            entities={**self.entities, **new.entities},
            state={**self.state, **new.state},
            metadata={**self.metadata, **new.metadata},
        )

    def lines(self, redacted: Collection[str]) -> tuple[str, ...]:
        """Return the lines of the caller, without those whose hash is that of a redacted text.

        A redaction takes its text out of all working memories; a caller may write it again.
        """
        return tuple(line for line in self.context if content_hash(line) not in redacted)

    @property
    def value(self) -> str:
        """The working memory as canonical JSON."""
        return canonical(
            {memory_field.name: getattr(self, memory_field.name) for memory_field in fields(self)}
        )

    @property
    def longest(self) -> str:
        """The name of the part that takes most room, of those that the caller writes."""
        part_names = ("context", "entities", "state", "metadata")
        return max(part_names, key=lambda name: len(canonical(getattr(self, name))))


def working_memory(value: str) -> WorkingMemory:
    """Read a working memory from JSON; a redaction may have changed the name of a part."""
    value_by_part: dict[str, Any] = json.loads(value)
    known_parts = {
        memory_field.name: value_by_part[memory_field.name]
        for memory_field in fields(WorkingMemory)
        if memory_field.name in value_by_part
    }
    for name in ("context", "messages"):
        known_parts[name] = tuple(known_parts.get(name, ()))
    return WorkingMemory(**known_parts)
