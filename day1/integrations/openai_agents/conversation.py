"""The conversation of a session, read and written on the branches of a memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

import day1
from day1 import errors
from day1.integrations.branching import Branching, BranchOfCall
from day1.integrations.openai_agents.items import Item, is_user_turn, item_of, preview
from day1.integrations.paging import newest_messages

FIRST: Final = "main"
"""The id of the branch that a session begins on."""
_MOST_TITLE: Final = 200
_MOST_LIMIT: Final = 1_000_000
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,23}")
_HASHED: Final = 24
_NO_BRANCH: Final = {errors.UnknownBranch, errors.InvalidRequest}
"""The errors of a branch that is missing, or whose name no branch can have."""
_JUST_BEFORE: Final = timedelta(microseconds=1)

Message = dict[str, Any]
"""A message as `message_list` answers it."""


class Conversation:
    """The conversation of a session, on the branches of a memory.

    The branch that the session begins on is called `main`; each other one is the branch
    `session/NAME/SESSION/BRANCH` of the memory.
    """

    def __init__(
        self, memory: day1.Branch, session_id: str, name: str, branch: BranchOfCall
    ) -> None:
        """Keep the memory and ids of the conversation; call nothing yet."""
        self._memory = memory
        self._branching = Branching(memory, branch)
        self._at: dict[str, Any] = {"key": session_id, "space": ["openai", name]}
        self._forks = f"session/{_plain(name)}/{_plain(session_id)}/"
        self._title = session_id.strip()[:_MOST_TITLE] or None

    def on(self, branch_id: str) -> day1.Branch:
        """Return the memory branch that stores a branch of the session."""
        if branch_id != FIRST:
            return self._memory.branch(f"{self._forks}{branch_id}")
        return self._branching.now()

    def messages(self, on: day1.Branch, limit: int | None = None, **more: Any) -> list[Message]:
        """Read the newest messages, oldest first; without a limit, or below 1, read all.

        Args:
            on: the branch of the memory.
            limit: how many.
            **more: further arguments of `message_list`.
        """

        def read(**page: Any) -> list[Message]:
            messages: list[Message] = self._call(on, "message_list", **page, **more)["messages"]
            return messages

        message_limit = limit if limit is not None and 0 < limit <= _MOST_LIMIT else None
        return newest_messages(read, message_limit)

    def append(self, on: day1.Branch, messages: Sequence[Message]) -> None:
        """Add messages at the end, all or none."""
        self._call(on, "message_append", messages=list(messages), title=self._title)

    def pop(self, on: day1.Branch) -> Item | None:
        """Remove the last message and return its item; return None from an empty conversation."""
        while messages := self.messages(on, 1):
            (last_message,) = messages
            # Nothing is removed if somebody added or removed an item meanwhile.
            if self._call(on, "message_remove", last=last_message["id"])["ids"]:
                return item_of(last_message)
        return None

    def clear(self, on: day1.Branch) -> None:
        """Remove all messages."""
        self._call(on, "message_remove")

    def require(self, branch_id: str) -> None:
        """Raise an error if the session has no such branch.

        Raises:
            ValueError: it does not exist.
        """
        try:
            self.messages(self.on(branch_id), 1)
        except (errors.UnknownBranch, errors.InvalidRequest) as exc:
            if type(exc) not in _NO_BRANCH:  # such as AnswerTooLarge
                raise
            raise ValueError(f"Branch {branch_id!r} does not exist") from exc

    def fork(self, on: day1.Branch, turn: int, branch_id: str) -> None:
        """Create a branch of the session with the messages before a turn.

        Raises:
            ValueError: there is no such turn, or the id is taken or does not fit.
        """
        if branch_id == FIRST:
            raise _used(branch_id)
        messages = self.messages(on)
        turn_message = next(
            (message for turn_number, message, _ in turns(messages) if turn_number == turn), None
        )
        if turn_message is None:
            raise ValueError(f"Turn {turn} does not contain a user message in branch {on.name!r}")
        messages_before = messages[: messages.index(turn_message)]
        just_before = (
            datetime.fromisoformat(turn_message["created_at"]) - _JUST_BEFORE
        ).isoformat()
        has_past_state = self.messages(on, at=just_before) == messages_before
        try:
            new_branch = self._memory.create_branch(
                f"{self._forks}{branch_id}",
                source=on.name,
                at=just_before if has_past_state else None,
            )
        except errors.BranchExists as exc:
            raise _used(branch_id) from exc
        except errors.InvalidRequest as exc:
            raise ValueError(str(exc)) from exc
        if not has_past_state:
            self._call(
                new_branch,
                "message_remove",
                after=messages_before[-1]["id"] if messages_before else None,
            )

    def delete(self, branch_id: str) -> None:
        """Delete a branch of the session, with what was not merged."""
        self.on(branch_id).drop(force=True)

    def branches(self, current: str) -> list[dict[str, Any]]:
        """Describe the branches of the session: `main`, then the others, oldest first."""
        created_at_by_id = {
            branch.branch_name.removeprefix(self._forks): branch.created_at
            for branch in self._memory.branches()
            if branch.branch_name.startswith(self._forks)
        }
        branch_documents = []
        for branch_id in (FIRST, *created_at_by_id):
            messages = self.messages(self.on(branch_id))
            first_message_at = messages[0]["created_at"] if messages else None
            branch_documents.append(
                {
                    "branch_id": branch_id,
                    "message_count": len(messages),
                    "user_turns": sum(1 for _ in turns(messages)),
                    "is_current": branch_id == current,
                    "created_at": created_at_by_id.get(branch_id, first_message_at),
                }
            )
        return branch_documents

    def _call(self, on: day1.Branch, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation; create the session's first branch if it is missing."""
        if on.name.startswith(self._forks):
            return on.call(operation, **self._at, **arguments)
        return self._branching.call(on, operation, **self._at, **arguments)


def turns(messages: Sequence[Message]) -> Iterator[tuple[int, Message, Item]]:
    """Yield the user's messages with their numbers, from 1, and their items."""
    turn_number = 0
    for message in messages:
        item = item_of(message)
        if is_user_turn(item):
            turn_number += 1
            yield turn_number, message, item


def described_turn(
    number: int, message: Message, item: Item, length: int | None = None
) -> dict[str, Any]:
    """Describe a turn as `AdvancedSQLiteSession` does; `content` is cut after `length`."""
    content = item.get("content", "")
    return {
        "turn": number,
        "content": preview(content, length),
        "full_content": content,
        "timestamp": message["created_at"],
        "can_branch": True,
    }


def _used(branch_id: str) -> ValueError:
    return ValueError(f"Branch ID {branch_id!r} has already been used. Choose a new branch ID.")


def _plain(text: str) -> str:
    """Return a text if a branch name can contain it, else its hash."""
    if _PLAIN.fullmatch(text):
        return text
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASHED]
