"""Pydantic AI's store of conversations as a log on a branch of a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic_ai.conversation_store import (
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

import day1
from day1 import errors
from day1.integrations.branching import BranchOfCall
from day1.integrations.connecting import connected
from day1.integrations.pydantic_ai.log import Log
from day1.integrations.waiting import finished


class Day1ConversationStore(ConversationStore):
    """A store whose entries are messages of conversations on a branch of a memory.

    Event loops and threads may share it. What it adds to `ConversationStore`: `memory_branch`,
    `close` and `with`.
    """

    def __init__(
        self,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "conversations",
        branch: BranchOfCall = None,
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            memory: a memory or a branch of one, or what `day1.connect` takes; a memory that is
                connected here is closed by `close`.
            name: tells stores in one memory apart: the conversations are in the space
                `pydantic-ai:NAME`, and those of a scope in `pydantic-ai:NAME/SCOPE`.
            branch: the branch of the memory to read and write, by its name or by a function that
                is called at each operation; it is made when it is first used. Default, also if the
                function returns None: that of `memory`.
        """
        memory_branch, self._owned = connected(memory)
        self._log = Log(memory_branch, name, branch)
        self._closed = False

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Read the record of a conversation.

        Args:
            conversation_id: the conversation.

        Returns:
            The record; None if the store does not have it.

        Raises:
            HandleClosed: the store is closed.
        """
        return await asyncio.to_thread(self._log.record, self._on(), conversation_id)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Read the records, last saved first.

        Args:
            scope: only those that were saved with this scope.
            limit: at most so many.

        Raises:
            HandleClosed: the store is closed.
        """
        return await asyncio.to_thread(self._log.records, self._on(), scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Put a record and add its new entries in one commit, or do nothing.

        Args:
            record: the record.
            new_entries: the entries, each after the one that it points at.
            expected_revision: the revision of the record that it replaces; None: there is none.

        Raises:
            ConversationConflict: another record is there, or an entry that the record or a new
                entry points at is not.
            InvalidRequest: an id, the record or a message does not fit (`ValueTooLarge`: it is too
                long).
            Conflict: an entry has the id of another one, or of one that was deleted.
            HandleClosed: the store is closed.
        """
        await finished(self._log.write, self._on(), record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a record and the entries that only it reaches, in one commit; history keeps them.

        Args:
            conversation_id: the conversation.
            expected_revision: the revision of its record.

        Raises:
            ConversationConflict: the record has another revision, or is not there.
            HandleClosed: the store is closed.
        """
        await finished(self._log.delete, self._on(), conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Read an entry.

        Args:
            entry_id: its id.

        Raises:
            KeyError: it is not in the store.
            HandleClosed: the store is closed.
        """
        entries = await self.read_history(entry_id, limit=1)
        if not entries or entries[0].id != entry_id:
            raise KeyError(entry_id)
        return entries[0]

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Read the entries from the first up to `head_id`, without removed and redacted ones.

        Args:
            head_id: the id of the last entry; None: there are no entries.
            limit: only so many of the last ones.

        Raises:
            KeyError: the last entry, or one before it, is not in the store.
            HandleClosed: the store is closed.
        """
        return await asyncio.to_thread(self._log.history, self._on(), head_id, limit)

    @property
    def memory_branch(self) -> day1.Branch:
        """The branch of the memory that the store reads and writes now."""
        return self._on()

    def close(self) -> None:
        """Close the store, and the memory if the store connected to it."""
        self._closed = True
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def _on(self) -> day1.Branch:
        """Return the memory branch that a call reads and writes now.

        Raises:
            HandleClosed: the store is closed.
        """
        if self._closed:
            raise errors.HandleClosed("This store is closed: create a new one.")
        return self._log.on()
