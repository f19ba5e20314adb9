"""An event that a client sent to a hook: one line of the spool, and the ids derived from it.

The ids follow from what was told, so that an event which is told or taken in twice gives each row
once: by two files of hooks, after a kill, or by two processes at the same time.
"""

import json
from dataclasses import dataclass, fields
from typing import Any, Final

from day1.formats.events import EVENTS, FORMAT, MOST_TEXT, sum_of
from day1.model.rows.origin import MAX_LABEL
from day1.model.rows.validation import clean
from day1.model.values.ids import content_hash, derived_id
from day1.model.values.instant import LAST_LEARNED, SECOND

AGAIN: Final = 10 * SECOND
"""Without a turn, the same text in the same session within this time is the same event."""
_MOST_TEXT: Final = MOST_TEXT + 100
"""Maximum number of characters of a text, with the note of how many were cut."""


@dataclass(frozen=True, slots=True)
class ClientEvent:
    """One event of a session of a client."""

    event: str
    agent: str
    session: str
    at: int
    """The time at which the hook got the event: microseconds UTC."""
    turn: str | None = None
    branch: str | None = None
    task: str | None = None
    space: str | None = None
    subagent: str | None = None
    kind: str | None = None
    """The kind of the subagent."""
    source: str | None = None
    """Why the session began or ended."""
    parent: str | None = None
    """The session that this one was forked from."""
    model: str | None = None
    text: str | None = None

    @property
    def writer(self) -> str:
        """The name of the writer: the agent, or AGENT/SUBAGENT if a subagent wrote."""
        return self.agent if self.subagent is None else f"{self.agent}/{self.subagent}"[:MAX_LABEL]

    @property
    def conversation_id(self) -> str:
        """The conversation of the session, or of a subagent in it."""
        return derived_id("conv", None, "hook", self.session, self.subagent or "")

    def id(self, prefix: str, role: str, text: str) -> str:
        """Derive the id of a row that is made from a text of this event."""
        turn_or_time = self.turn or f"at {self.at}"
        id_parts = (self.session, self.subagent or "", role, turn_or_time, content_hash(text))
        return derived_id(prefix, None, "hook", *id_parts)


def fork_id(session: str) -> str:
    """Return the id of the branch of a forked session."""
    return derived_id("branch", None, "hook", session)


def read_event(line: bytes) -> ClientEvent:
    """Parse an event from a line of the spool.

    Raises:
        ValueError: it is none.
    """
    document = json.loads(line)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("not an event of this format")
    if document.get("sum") not in {None, sum_of(document)}:  # an earlier day1 wrote none
        raise ValueError("the event does not match the checksum of its line")
    field_names = {field.name for field in fields(ClientEvent)}
    value_by_field: dict[str, Any] = {
        name: value for name, value in document.items() if name in field_names
    }
    event_time = value_by_field.get("at")
    if (
        not isinstance(event_time, int)
        or isinstance(event_time, bool)
        or not 0 <= event_time <= LAST_LEARNED
    ):
        raise ValueError("`at` is missing or not a time")
    for name, value in value_by_field.items():
        if name != "at":
            _check(name, value)
    if (
        not {"event", "agent", "session"} <= value_by_field.keys()
        or value_by_field["event"] not in EVENTS
    ):
        raise ValueError("event, agent or session is missing, or the event is unknown")
    return ClientEvent(**value_by_field)


def _check(name: str, value: object) -> None:
    if not isinstance(value, str) or not clean(value).strip():
        raise ValueError(f"{name} is not a text")
    if len(value) > (_MOST_TEXT if name == "text" else MAX_LABEL):
        raise ValueError(f"{name} is too long")
    if name != "text" and not value.isprintable():
        raise ValueError(f"{name} has characters that cannot be printed")
