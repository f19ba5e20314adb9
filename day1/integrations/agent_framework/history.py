"""A provider of Agent Framework that keeps the messages of sessions in a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, Final, TypedDict

from agent_framework import (
    AgentSession,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)
from typing_extensions import Unpack

import day1
from day1.integrations.agent_framework.providing import OnMemory
from day1.integrations.branching import BranchOfCall
from day1.integrations.waiting import finished

_EXCLUDED: Final = "_excluded"
"""The property by which a compaction of the framework marks a message."""
_agent_name: ContextVar[str | None] = ContextVar("agent_name", default=None)
"""The agent whose run is saved now: the framework does not tell it to `save_messages`."""


class HistoryOptions(TypedDict, total=False):
    """Options of the framework's own providers of history, with the same defaults.

    Attributes:
        load_messages: whether the agent gets the messages before a run; default: yes.
        store_inputs: whether the messages to the agent are saved; default: yes.
        store_outputs: whether its answers are saved; default: yes.
        store_context_messages: whether the messages of other providers are saved; default: no.
        store_context_from: only those of the providers with these source ids.
    """

    load_messages: bool
    store_inputs: bool
    store_outputs: bool
    store_context_messages: bool
    store_context_from: set[str] | None


class Day1History(OnMemory, HistoryProvider):
    """A provider whose sessions are conversations on a branch of a memory.

    Event loops and threads may share it. What it adds to `HistoryProvider`: `memory_branch`,
    `close` and `with`.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "day1_history"

    def __init__(
        self,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "sessions",
        branch: BranchOfCall = None,
        source_id: str = DEFAULT_SOURCE_ID,
        skip_excluded: bool = False,
        **options: Unpack[HistoryOptions],
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            memory: a memory or a branch of one, or what `day1.connect` takes; a memory that is
                connected here is closed by `close`.
            name: tells sets of sessions in one memory apart: the conversations are in the space
                `agent-framework:NAME`.
            branch: the branch of the memory to read and write, by its name or by a function that
                is called at each operation; it is made when it is first used. Default, also if the
                function returns None: that of `memory`.
            source_id: the provider's name in the framework.
            skip_excluded: whether messages that a compaction excluded are left out.
            **options: see `HistoryOptions`.
        """
        super().__init__(source_id, **options)
        self.skip_excluded = skip_excluded
        self._connect(memory, name, branch)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Read the messages of a session in their order, without redacted ones.

        Args:
            session_id: the session; without one, that of the key `default`.
            state: not used.
            **kwargs: not used.

        Raises:
            HandleClosed: the provider is closed.
        """
        del state, kwargs
        messages = await asyncio.to_thread(self._sessions.read, self._on(), session_id)
        if self.skip_excluded:
            return [each for each in messages if not each.additional_properties.get(_EXCLUDED)]
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Add messages at the end of a session, all of them or none.

        What the session ends with already is not added again, as in the framework's own
        providers: an agent may be given its whole transcript.

        Args:
            session_id: the session; without one, that of the key `default`.
            messages: at most 10,000 messages.
            state: not used.
            **kwargs: not used.

        Raises:
            InvalidRequest: the session's id or a message does not fit (`ValueTooLarge`: it has
                more than 8 MiB as JSON).
            HandleClosed: the provider is closed.
        """
        del state, kwargs
        on = self._on()
        if messages:
            await finished(self._sessions.save, on, session_id, messages, _agent_name.get())

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Save the messages of a run.

        Args:
            agent: the agent; the messages are written by its name.
            session: its session.
            context: the messages of the run.
            state: not used.

        Raises:
            InvalidRequest: see `save_messages`.
            HandleClosed: the provider is closed.
        """
        token = _agent_name.set(agent.name)
        try:
            await super().after_run(agent=agent, session=session, context=context, state=state)
        finally:
            _agent_name.reset(token)
