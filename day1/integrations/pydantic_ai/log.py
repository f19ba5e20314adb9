"""The log of a store of conversations, read and written on a branch of a memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)

import day1
from day1 import errors
from day1.integrations.branching import Branching, BranchOfCall
from day1.integrations.paging import entries_in_pages, newest_messages
from day1.integrations.pydantic_ai.messages import entries_of, message_of, record_of, value_of

_KIND: Final = "pydantic-ai"
_ABSENT: Final = "none"
_ENDS: Final = ["head_id", "branches"]
"""The fields of a record that hold ids of entries."""
_MOST_ID: Final = 1_024
_UNFIT: Final = re.compile("[\0\ud800-\udfff]")
_MOST_SCOPE: Final = 16
"""Maximum length of a scope that fits a space's name, whatever characters it has."""
_PLAIN: Final = re.compile(r"[\x21-\x7e]{1,64}")
_MOST_MESSAGES: Final = 10_000
_MOST_LIMIT: Final = 1_000_000


class Log:
    """The conversations of a store: records in the space `pydantic-ai:NAME`, and their messages.

    The messages of a conversation with a scope are in the space `pydantic-ai:NAME/SCOPE`.
    """

    def __init__(self, memory: day1.Branch, name: str, branch: BranchOfCall) -> None:
        """Keep the memory, name and branch of the log; call nothing yet."""
        self._branching = Branching(memory, branch)
        self._call = self._branching.call
        self._space = [_KIND, name]

    def on(self) -> day1.Branch:
        """Return the memory branch that a call reads and writes now."""
        return self._branching.now()

    def record(self, on: day1.Branch, conversation_id: str) -> ConversationRecord | None:
        """Read the record of a conversation, or return None if it has no record."""
        entry = self._entry(on, conversation_id)
        return None if entry is None else record_of(entry)

    def records(
        self, on: day1.Branch, scope: str | None, limit: int | None
    ) -> list[ConversationRecord]:
        """Read the records, last saved first."""
        if scope is not None and _UNFIT.search(scope):
            return []  # no record has it
        condition = None if scope is None else {"scope": scope}
        records = [record_of(entry) for entry in self._entries(on, condition)]
        records.reverse()  # of those that were saved at one time, the first one is first
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    def write(
        self,
        on: day1.Branch,
        record: ConversationRecord,
        new_entries: Sequence[ConversationEntry],
        expected_revision: str | None,
    ) -> None:
        """Add entries and put a record in one commit.

        Raises:
            ConversationConflict: another record is there, or an entry to go on from is not.
        """
        conversation_id = record.conversation_id
        entry = self._entry(on, conversation_id)
        self._check(entry, conversation_id, expected_revision)
        record_change = {
            "action": "set",
            **self._place(conversation_id),
            "value": value_of(record),
            "text": conversation_id if conversation_id.strip() else _KIND,
            "expect_revision": _ABSENT if entry is None else entry["revision"],
        }
        self._apply(on, conversation_id, [*self._said(record, new_entries), record_change])

    def delete(self, on: day1.Branch, conversation_id: str, expected_revision: str) -> None:
        """Remove a record, and the entries that no other record reaches, in one commit.

        Raises:
            ConversationConflict: another record is there, or none.
        """
        entry = self._entry(on, conversation_id)
        self._check(entry, conversation_id, expected_revision)
        if entry is None:
            raise ConversationConflict(conversation_id)
        record = record_of(entry)
        record_place = self._place(conversation_id)
        end_ids = [
            entry_id for entry_id in (record.head_id, *record.branches) if entry_id is not None
        ]
        changes = [
            {"action": "delete", **record_place, "expect_revision": entry["revision"]},
            {
                "action": "unsay",
                "key": conversation_id,
                "space": self._space_of(record.scope),
                "log": self._space,
                "ends": end_ids,
                "named_at": _ENDS,
            },
        ]
        self._apply(on, conversation_id, changes)

    def history(
        self, on: day1.Branch, head_id: str | None, limit: int | None
    ) -> list[ConversationEntry]:
        """Read an entry and the entries before it, or only the last `limit` of them.

        Raises:
            KeyError: an entry is not in the log.
        """
        if head_id is None or (limit is not None and limit <= 0):
            return []
        if not _fits(head_id):
            raise KeyError(head_id)
        entry_limit = limit if limit is not None and limit <= _MOST_LIMIT else None
        entry_place = {"key": head_id, "space": self._space}

        def read(**page: Any) -> list[dict[str, Any]]:
            answer = self._call(on, "message_chain", **entry_place, **page)
            messages: list[dict[str, Any]] = answer["messages"]
            return messages

        try:
            return entries_of(newest_messages(read, entry_limit))
        except errors.NotFound as exc:
            if type(exc) is not errors.NotFound:  # such as UnknownBranch
                raise
            raise KeyError(head_id) from exc

    def _said(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry]
    ) -> Iterator[dict[str, Any]]:
        """Yield the changes that add entries and check that the record's head entry exists."""
        common_fields = {
            "action": "say",
            "key": record.conversation_id,
            "space": self._space_of(record.scope),
            "log": self._space,
        }
        for entry_chain in _lines(entries):
            messages = [message_of(entry) for entry in entry_chain]
            yield {**common_fields, "after": entry_chain[0].parent_id, "messages": messages}
        if record.head_id is not None and record.head_id not in {entry.id for entry in entries}:
            yield {**common_fields, "after": record.head_id, "messages": []}

    def _apply(self, on: day1.Branch, conversation_id: str, changes: list[dict[str, Any]]) -> None:
        try:
            self._call(on, "rows_apply", changes=changes)
        except (errors.RevisionChanged, errors.NotFound) as exc:
            if type(exc) not in {errors.RevisionChanged, errors.NotFound}:  # such as UnknownBranch
                raise
            raise ConversationConflict(conversation_id) from exc

    def _check(
        self, entry: dict[str, Any] | None, conversation_id: str, expected_revision: str | None
    ) -> None:
        """Refuse a change if the record is not at the revision that the writer expects."""
        # What is read here is compared again under the lock of the branch.
        revision = None if entry is None else record_of(entry).revision
        if revision != expected_revision:
            raise ConversationConflict(conversation_id)

    def _entry(self, on: day1.Branch, conversation_id: str) -> dict[str, Any] | None:
        if not _fits(conversation_id):
            return None
        entry_places = [self._place(conversation_id)]
        entry: dict[str, Any] | None = self._call(on, "entry_get", keys=entry_places)["entries"][0]
        return entry

    def _entries(self, on: day1.Branch, where: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Read the entries of all records, the newest first."""

        def read(limit: int, offset: int) -> dict[str, Any]:
            return self._call(
                on, "entry_find", under=self._space, where=where, limit=limit, offset=offset
            )

        return [*entries_in_pages(read)]

    def _place(self, conversation_id: str) -> dict[str, Any]:
        return {"key": conversation_id, "space": self._space}

    def _space_of(self, scope: str | None) -> list[str]:
        """Return the space of the messages of a scope; a long scope is replaced by its hash."""
        if not scope:
            return self._space
        if len(scope) > _MOST_SCOPE and not _PLAIN.fullmatch(scope):
            scope = sha256(scope.encode("utf-8", "surrogatepass")).hexdigest()
        return [*self._space, scope]


def _fits(text: str) -> bool:
    """Whether day1 takes a text as a key."""
    return 1 <= len(text) <= _MOST_ID and _UNFIT.search(text) is None


def _lines(entries: Sequence[ConversationEntry]) -> Iterator[list[ConversationEntry]]:
    """Divide entries into chains, in which each entry is the child of the one before."""
    entry_chain: list[ConversationEntry] = []
    for entry in entries:
        if entry_chain and (
            entry.parent_id != entry_chain[-1].id or len(entry_chain) == _MOST_MESSAGES
        ):
            yield entry_chain
            entry_chain = []
        entry_chain.append(entry)
    if entry_chain:
        yield entry_chain
