"""A provider of Agent Framework that tells an agent what a memory knows, and records its runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar

from agent_framework import (
    AgentSession,
    ContextProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

import day1
from day1.integrations.agent_framework.history import Day1History
from day1.integrations.agent_framework.providing import OnMemory
from day1.integrations.branching import BranchOfCall
from day1.integrations.queries import query_of
from day1.integrations.waiting import finished


class Day1Context(OnMemory, ContextProvider):
    """A provider that adds the prime and the facts near a question to each run of an agent.

    Event loops and threads may share it. What it adds to `ContextProvider`: `memory_branch`,
    `close` and `with`.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "day1_context"

    def __init__(
        self,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "sessions",
        branch: BranchOfCall = None,
        source_id: str = DEFAULT_SOURCE_ID,
        record: bool = True,
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            memory: as in `Day1History`.
            name: the set of sessions to record in, as in `Day1History`.
            branch: as in `Day1History`.
            source_id: the provider's name in the framework.
            record: whether the messages of a run are recorded after it, if the agent has no
                `Day1History`, which records them itself.
        """
        super().__init__(source_id)
        self.record = record
        self._connect(memory, name, branch)

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Add a message with what the memory knows, marked as data that is no instruction.

        Args:
            agent: not used.
            session: not used.
            context: the messages to the agent, by which facts are recalled. NUL and half
                characters do not count; without other characters no facts are recalled.
            state: not used.

        Raises:
            UnknownBranch: the branch that the memory is on is missing.
            HandleClosed: the provider is closed.
        """
        del agent, session, state
        question = "\n".join(message.text for message in context.input_messages)
        text = await asyncio.to_thread(self._recalled, self._on(), question)
        context.extend_messages(self, [Message("user", [text])])

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Record the messages of a run, all of them or none, unless a `Day1History` does so.

        Args:
            agent: the agent; the messages are written by its name.
            session: not used: `context` names it.
            context: the messages of the run.
            state: not used.

        Raises:
            InvalidRequest: see `Day1History.save_messages`.
            HandleClosed: the provider is closed.
        """
        del session, state
        on = self._on()
        providers = getattr(agent, "context_providers", ())
        if not self.record or any(isinstance(each, Day1History) for each in providers):
            return
        answers = context.response.messages if context.response else ()
        messages = [*context.input_messages, *answers]
        if messages:
            await finished(self._sessions.save, on, context.session_id, messages, agent.name)

    def _recalled(self, on: day1.Branch, question: str) -> str:
        """Return the prime of the memory, and the facts near a question if there are any."""
        prime: str = self._sessions.call(on, "memory_prime")["text"]
        prompt = query_of(question)
        if prompt is None:
            return prime
        # A session of its own: the agent does not see what earlier runs were told.
        near = self._sessions.call(on, "memory_recall_hint", prompt=prompt, session_id=token_hex(8))
        return "\n".join(text for text in (prime, near["text"]) if text)
