"""A session of the OpenAI Agents SDK as a conversation of a memory, with branches of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Self

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

import day1
from day1 import errors
from day1.integrations.branching import BranchOfCall
from day1.integrations.connecting import connected
from day1.integrations.openai_agents.conversation import (
    FIRST,
    Conversation,
    Message,
    described_turn,
    turns,
)
from day1.integrations.openai_agents.items import Item, item_of, message_of, texts_of
from day1.integrations.waiting import finished

_MOST_ID: Final = 1_024
_PREVIEW: Final = 100


class Day1Session:
    """A session whose items are the messages of a conversation on a branch of a memory.

    Event loops and threads may share it. It adds to the SDK's protocol the methods for branches
    that `AdvancedSQLiteSession` has.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "sessions",
        branch: BranchOfCall = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            session_id: the id of the session: any text of 1 to 1,024 characters.
            memory: a memory or a branch of one, or what `day1.connect` takes; a memory that is
                connected here is closed by `close`.
            name: tells sets of sessions in one memory apart: the conversations are in the space
                `openai:NAME`.
            branch: the branch that the session begins on, by its name or by a function that is
                called at each operation; it is made when it is first used. Default, also if the
                function returns None: that of `memory`.
            session_settings: `limit` is the number of items that `get_items` returns by default.

        Raises:
            InvalidRequest: the session id is empty or too long.
        """
        if not 1 <= len(session_id) <= _MOST_ID:
            raise errors.InvalidRequest(
                f"A session id is a text of 1 to {_MOST_ID:,} characters: give another one."
            )
        self.session_id = session_id
        self.session_settings = (
            SessionSettings()
            if session_settings is None
            else coerce_session_settings(session_settings)
        )
        memory_branch, self._owned = connected(memory)
        self._conversation = Conversation(memory_branch, session_id, name, branch)
        self._current = FIRST
        self._closed = False

    async def get_items(
        self, limit: int | None = None, branch_id: str | None = None
    ) -> list[TResponseInputItem]:
        """Read the items, oldest first.

        Args:
            limit: how many of the newest; default: as the session settings say, else all. A
                negative number means all, as in `SQLiteSession`.
            branch_id: the branch of the session; default: the present one.

        Raises:
            ValueError: the session has no such branch.
            HandleClosed: the session is closed.
        """
        item_limit = resolve_session_limit(limit, self.session_settings)
        messages = await self._messages(branch_id, item_limit)
        return [_typed(item_of(message)) for message in messages]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, all of them or none.

        Args:
            items: at most 10,000 JSON objects.

        Raises:
            InvalidRequest: an item is no JSON object, or has more than 64 levels.
            ValueTooLarge: an item has more than 8 MiB as JSON.
            HandleClosed: the session is closed.
        """
        branch = self._on(None)
        if not items:
            return
        messages = [message_of(item) for item in items]
        await finished(self._conversation.append, branch, messages)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item in a commit and return it; return None from an empty session.

        Raises:
            HandleClosed: the session is closed.
        """
        item = await finished(self._conversation.pop, self._on(None))
        return None if item is None else _typed(item)

    async def clear_session(self) -> None:
        """Remove all items of the present branch in one commit; history keeps them.

        Raises:
            HandleClosed: the session is closed.
        """
        await finished(self._conversation.clear, self._on(None))

    async def create_branch_from_turn(
        self, turn_number: int, branch_name: str | None = None
    ) -> str:
        """Make a branch that ends before a user's message, and switch to it.

        The memory of the branch is that of the moment before the message, and a merge brings what
        is said on the branch. If the messages before it are not those of that moment, such as
        after a merge, the branch is made of the present memory, and the later messages are removed
        there.

        Args:
            turn_number: the number of the user's message, from 1.
            branch_name: at most 40 ASCII letters, digits and `. _ -`; default: a name is made.

        Returns:
            The id of the branch: its name.

        Raises:
            ValueError: there is no such turn, or the name is taken or does not fit.
        """
        if branch_name is not None and not branch_name.strip():
            raise ValueError("Branch name cannot be empty")
        name = branch_name or f"branch_from_turn_{turn_number}_{token_hex(4)}"
        await finished(self._conversation.fork, self._on(None), turn_number, name)
        self._current = name
        return name

    async def create_branch_from_content(
        self, search_term: str, branch_name: str | None = None
    ) -> str:
        """Make a branch that ends before the first user's message with a text.

        Args:
            search_term: the text.
            branch_name: as in `create_branch_from_turn`.

        Raises:
            ValueError: no user's message has the text, or the name is taken or does not fit.
        """
        matching_turns = await self.find_turns_by_content(search_term)
        if not matching_turns:
            raise ValueError(f"No user turns found containing '{search_term}'")
        return await self.create_branch_from_turn(matching_turns[0]["turn"], branch_name)

    async def switch_to_branch(self, branch_id: str) -> None:
        """Read and write another branch from now on.

        Args:
            branch_id: its id; `main` is the branch that the session begins on.

        Raises:
            ValueError: the session has no such branch.
        """
        self._on(branch_id)
        if branch_id != FIRST:
            await asyncio.to_thread(self._conversation.require, branch_id)
        self._current = branch_id

    async def delete_branch(self, branch_id: str, force: bool = False) -> None:  # noqa: FBT001, FBT002 - the SDK's signature
        """Delete a branch of the memory, with what was not merged.

        Args:
            branch_id: its id.
            force: whether to delete the present branch, and to switch to `main`.

        Raises:
            ValueError: it is `main`, it is the present branch, or the session has no such branch.
        """
        self._on(branch_id)
        if branch_id == FIRST:
            raise ValueError("Cannot delete the 'main' branch")
        if branch_id == self._current and not force:
            raise ValueError(
                f"Cannot delete current branch {branch_id!r}. Use force=True or switch branches "
                "first"
            )
        await asyncio.to_thread(self._conversation.require, branch_id)
        if branch_id == self._current:
            self._current = FIRST
        await finished(self._conversation.delete, branch_id)

    async def list_branches(self) -> list[dict[str, Any]]:
        """List the branches of the session, oldest first.

        Returns:
            For each: `branch_id`, `message_count`, `user_turns`, `is_current` and `created_at`.
        """
        self._on(None)
        return await asyncio.to_thread(self._conversation.branches, self._current)

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[dict[str, Any]]:
        """List the user's messages of a branch.

        Args:
            branch_id: the branch; default: the present one.

        Returns:
            For each: `turn`, `content` (at most 100 characters), `full_content`, `timestamp` and
            `can_branch`.

        Raises:
            ValueError: the session has no such branch.
            HandleClosed: the session is closed.
        """
        messages = await self._messages(branch_id)
        return [described_turn(*turn, _PREVIEW) for turn in turns(messages)]

    async def find_turns_by_content(
        self, search_term: str, branch_id: str | None = None
    ) -> list[dict[str, Any]]:
        """List the user's messages that contain a text; the case of ASCII letters is ignored.

        Args:
            search_term: the text.
            branch_id: the branch; default: the present one.

        Returns:
            As `get_conversation_turns`, with whole contents.

        Raises:
            ValueError: the session has no such branch.
            HandleClosed: the session is closed.
        """
        messages = await self._messages(branch_id)
        folded_term = _folded(search_term)
        return [
            described_turn(turn_number, message, item)
            for turn_number, message, item in turns(messages)
            if any(folded_term in _folded(text) for text in texts_of(item.get("content")))
        ]

    @property
    def branch(self) -> day1.Branch:
        """The branch of the memory that the session reads and writes now."""
        return self._on(None)

    def close(self) -> None:
        """Close the session, and the memory if the session connected to it."""
        self._closed = True
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.close()

    async def _messages(self, branch_id: str | None, limit: int | None = None) -> list[Message]:
        """Read the newest messages of a branch of the session; default: of the present one.

        Raises:
            ValueError: the session has no branch `branch_id`.
            UnknownBranch: the present branch, or that of the memory, was deleted.
            HandleClosed: the session is closed.
        """
        branch = self._on(branch_id)
        if branch_id not in {None, FIRST}:
            await asyncio.to_thread(self._conversation.require, branch_id)
        if limit == 0:
            return []
        return await asyncio.to_thread(self._conversation.messages, branch, limit)

    def _on(self, branch_id: str | None) -> day1.Branch:
        """Return the memory branch that stores a branch of the session; default: the current one.

        Raises:
            HandleClosed: the session is closed.
        """
        if self._closed:
            raise errors.HandleClosed("This session is closed: create a new one.")
        return self._conversation.on(self._current if branch_id is None else branch_id)


def _folded(text: str) -> bytes:
    """Return a text for comparison in which the case of ASCII letters does not count."""
    return text.encode("utf-8", "surrogatepass").lower()


def _typed(item: Item) -> TResponseInputItem:
    typed_item: Any = item
    return typed_item  # type: ignore[no-any-return]  # as it was added
