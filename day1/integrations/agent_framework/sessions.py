"""The sessions of Agent Framework: conversations of a memory, each on the branch that is meant."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from agent_framework import Message

import day1
from day1 import errors
from day1.integrations.agent_framework.messages import message_of, rebuilt, unsaved
from day1.integrations.branching import Branching, BranchOfCall
from day1.integrations.paging import newest_messages

_KIND: Final = "agent-framework"
_NO_SESSION: Final = "default"
"""The key of the messages that are saved without a session, as in the framework's files."""
_MOST_TITLE: Final = 200
_MOST_NAME: Final = 255


class Sessions:
    """The conversations of sessions in the space `agent-framework:NAME`; threads may share it."""

    def __init__(self, memory: day1.Branch, name: str, branch: BranchOfCall) -> None:
        """Name the sessions; nothing is asked."""
        self._branching = Branching(memory, branch)
        self.call = self._branching.call
        self._space = [_KIND, name]
        self._saving = threading.Lock()

    def on(self) -> day1.Branch:
        """Return the branch of the memory that an operation is about."""
        return self._branching.now()

    def read(self, on: day1.Branch, session_id: str | None) -> list[Message]:
        """Read the messages of a session in their order."""
        return [rebuilt(row) for row in self._rows(on, session_id, None)]

    def save(
        self,
        on: day1.Branch,
        session_id: str | None,
        messages: Sequence[Message],
        agent_name: str | None,
    ) -> None:
        """Add messages at the end of a session, all or none, but for those that are there already.

        Raises:
            InvalidRequest: a message is no JSON.
        """
        new = [message_of(message) for message in messages]
        with self._saving:
            # What is older cannot be what `new` begins with.
            last = self._rows(on, session_id, len(new))
            added = unsaved(last, new)
            if added:
                self._append(on, session_id or _NO_SESSION, added, _name(agent_name))

    def _rows(
        self, on: day1.Branch, session_id: str | None, limit: int | None
    ) -> list[dict[str, Any]]:
        """Read the newest messages of a session, or all, in their order."""
        at = {"key": session_id or _NO_SESSION, "space": self._space}

        def read(**page: Any) -> list[dict[str, Any]]:
            rows: list[dict[str, Any]] = self.call(on, "message_list", **at, **page)["messages"]
            return rows

        return newest_messages(read, limit)

    def _append(
        self,
        on: day1.Branch,
        key: str,
        messages: Sequence[dict[str, Any]],
        agent_name: str | None,
    ) -> None:
        change: dict[str, Any] = {
            "key": key,
            "space": self._space,
            "messages": list(messages),
            "title": key.strip()[:_MOST_TITLE] or None,
            "session_id": _name(key),
        }
        try:
            self.call(on, "message_append", **change, agent_id=agent_name)
        except errors.Forbidden as exc:
            if agent_name is None or "agent_id" not in exc.details:
                raise
            # The token names the agent that writes, so the framework's name does not count.
            self.call(on, "message_append", **change)


def _name(text: str | None) -> str | None:
    """Return a text as the name of a writer; None if it cannot be one."""
    name = (text or "").strip()[:_MOST_NAME]
    return name if name and name.isprintable() else None
