# Written by scripts/asynchronous.py: do not edit.
"""Methods that write to a branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack

from day1.interfaces.python.asynchronous.keyed import AsyncEntryWrites
from day1.interfaces.python.options import (
    FactChanges,
    FactOptions,
    MessageOptions,
    ObservationOptions,
    RelationOptions,
    ReplacementOptions,
    Role,
    Signed,
    When,
)

if TYPE_CHECKING:
    from day1.toolsets.day1.core.conversations import MessageLogged
    from day1.toolsets.day1.core.memory import FactWritten, ObservationWritten, RelationWritten
    from day1.toolsets.day1.review.editing import FactRetracted, FactSuperseded, FactUpdated
    from day1.toolsets.day1.review.redacting import Redacted
    from day1.toolsets.day1.review.restoring import Restored


class AsyncWrites(AsyncEntryWrites):
    """Writes to a branch; each call is durable when it answers.

    Every method raises `BranchClosed` or `BranchProtected` where the branch takes no writes, and
    `UnknownBranch` where it does not exist; nothing is written then.
    """

    async def add(
        self,
        text: str,
        *,
        category: str | None = None,
        confidence: float = 1.0,
        **options: Unpack[FactOptions],
    ) -> FactWritten:
        """Remember one fact; facts that name their subject and date are found best.

        Args:
            text: the claim, as a sentence that can be understood alone.
            category: a label of your own to filter by.
            confidence: how sure you are, from 0 to 1.
            **options: see `FactOptions`.

        Returns:
            The new fact, or an equal one that was written less than a minute ago.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: FactWritten = await self._ask(
            "memory_write_fact", fact_text=text, category=category, confidence=confidence, **options
        )
        return answer

    async def observe(
        self,
        summary: str,
        kind: Literal["tool_use", "discovery", "decision", "error", "insight"] = "discovery",
        *,
        tool_name: str | None = None,
        raw_input: str | None = None,
        raw_output: str | None = None,
        **options: Unpack[ObservationOptions],
    ) -> ObservationWritten:
        """Log what a tool call or a moment of work showed; raw texts are cut.

        Args:
            summary: what was seen, in your own words: this is what search finds.
            kind: what kind of moment it was.
            tool_name: the tool that was used.
            raw_input: what the tool was given; not searched.
            raw_output: what the tool answered; not searched.
            **options: see `ObservationOptions`.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: ObservationWritten = await self._ask(
            "memory_write_observation",
            summary=summary,
            observation_type=kind,
            tool_name=tool_name,
            raw_input=raw_input,
            raw_output=raw_output,
            **options,
        )
        return answer

    async def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        properties: Mapping[str, Any] | None = None,
        **options: Unpack[RelationOptions],
    ) -> RelationWritten:
        """Link two entities, such as AuthService, depends_on, UserModel.

        Args:
            source: the entity that the relation starts from.
            relation: what the source is to the target.
            target: the entity that the relation leads to.
            properties: more about the relation, as a JSON object.
            **options: see `RelationOptions`.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: RelationWritten = await self._ask(
            "memory_write_relation",
            source_entity=source,
            relation_type=relation,
            target_entity=target,
            properties=properties,
            **options,
        )
        return answer

    async def say(
        self,
        conversation_id: str | None,
        role: Role,
        content: str,
        *,
        title: str | None = None,
        **options: Unpack[MessageOptions],
    ) -> MessageLogged:
        """Add a message to a conversation, or begin one.

        Args:
            conversation_id: the conversation; None: a new one.
            role: who speaks.
            content: what was said: this is what search finds.
            title: the title of a new conversation.
            **options: see `MessageOptions`.

        Returns:
            The ids of the message and of its conversation, and its place there, from 1.

        Raises:
            NotFound: the conversation is not on the branch.
            InvalidRequest: an argument does not fit.
        """
        answer: MessageLogged = await self._ask(
            "memory_log_message",
            conversation_id=conversation_id,
            role=role,
            content=content,
            title=title,
            **options,
        )
        return answer

    async def update(
        self,
        row_id: str,
        *,
        text: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        reason: str | None = None,
        **options: Unpack[FactChanges],
    ) -> FactUpdated:
        """Correct a fact in place; a new text makes it unverified. Also relations, observations.

        Args:
            row_id: the memory to correct.
            text: the new text; default for each column: as it is.
            category: the new category.
            confidence: the new confidence, from 0 to 1.
            reason: why it is changed; `history` and `blame` show it.
            **options: see `FactChanges`.

        Raises:
            NotFound: it is not on the branch.
            RevisionChanged: it has another revision than `expect_revision`.
            InvalidRequest: an argument does not fit, or nothing is to change.
        """
        answer: FactUpdated = await self._ask(
            "memory_update_fact",
            fact_id=row_id,
            fact_text=text,
            category=category,
            confidence=confidence,
            reason=reason,
            **options,
        )
        return answer

    async def supersede(
        self,
        row_id: str,
        text: str,
        *,
        category: str | None = None,
        confidence: float | None = None,
        reason: str | None = None,
        **options: Unpack[ReplacementOptions],
    ) -> FactSuperseded:
        """Replace a fact by a new one; the old one stays, marked, out of search.

        Args:
            row_id: the fact to replace.
            text: the text of the new fact.
            category: its category; default: that of the old one.
            confidence: how sure you are, from 0 to 1; default: 1.
            reason: why it is replaced.
            **options: see `ReplacementOptions`.

        Raises:
            NotFound: it is not on the branch.
            Refused: another fact supersedes it already.
            InvalidRequest: an argument does not fit.
        """
        answer: FactSuperseded = await self._ask(
            "memory_supersede_fact",
            fact_id=row_id,
            fact_text=text,
            category=category,
            confidence=confidence,
            reason=reason,
            **options,
        )
        return answer

    async def retract(
        self, row_id: str, *, reason: str | None = None, **signed: Unpack[Signed]
    ) -> FactRetracted:
        """Remove a memory from the branch; history keeps it, and `restore` brings it back.

        Args:
            row_id: the memory to remove: a fact, observation, relation, conversation or message.
            reason: why it is removed.
            **signed: see `Signed`.

        Returns:
            When it was removed, and in `restore` the arguments that bring it back.

        Raises:
            NotFound: it is not on the branch.
        """
        answer: FactRetracted = await self._ask(
            "memory_retract_fact", fact_id=row_id, reason=reason, **signed
        )
        return answer

    async def restore(
        self,
        to: When,
        *,
        row_id: str | None = None,
        confirm: str | None = None,
        **signed: Unpack[Signed],
    ) -> Restored:
        """Bring a row or the whole branch back to a snapshot or a moment, as a new commit.

        Args:
            to: a time, or the id or label of a snapshot.
            row_id: the memory to bring back; None: the whole branch.
            confirm: the branch's name, to bring the whole branch back.
            **signed: see `Signed`.

        Raises:
            ConfirmationNeeded: the whole branch is meant and `confirm` is not its name.
            NotFound: there is no such snapshot, or the memory was not there then.
        """
        answer: Restored = await self._ask(
            "memory_restore", to=to, id=row_id, confirm=confirm, **signed
        )
        return answer

    async def redact(
        self,
        row_id: str,
        *,
        reason: str | None = None,
        confirm: str | None = None,
        whole: bool = False,
        **signed: Unpack[Signed],
    ) -> Redacted:
        """Make a memory and equal texts read `[redacted]` everywhere, past included, for good.

        Args:
            row_id: the memory.
            reason: why.
            confirm: the memory's id again: this cannot be undone.
            whole: whether all parts of a longer text are meant.
            **signed: see `Signed`.

        Raises:
            ConfirmationNeeded: `confirm` is not the id; the message says what would be redacted.
            NotFound: it is nowhere.
        """
        answer: Redacted = await self._ask(
            "memory_redact", id=row_id, reason=reason, confirm=confirm, whole=whole, **signed
        )
        return answer
