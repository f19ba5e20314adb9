# Written by scripts/asynchronous.py: do not edit.
"""Several changes of a branch that are made together or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from day1.interfaces.python.asynchronous.calls import AsyncCalls
from day1.interfaces.python.asynchronous.handle import AsyncHandle
from day1.interfaces.python.calls import Who
from day1.interfaces.python.entry_arguments import json_of, new_entry, place
from day1.interfaces.python.handle import copied, plain
from day1.interfaces.python.options import (
    BatchChanges,
    BatchEntry,
    BatchFact,
    BatchObservation,
    BatchRelation,
    SpaceName,
)

if TYPE_CHECKING:
    from day1.toolsets.day1.library.applying import Applied


class AsyncBatch(AsyncHandle):
    """Changes that are made at the end of a `async with` block, in one commit or not at all.

    Nothing is sent before the end of the block, and nothing at all if it ends by an exception. What
    the arguments contain is copied at once. Another block begins with no change.
    """

    def __init__(
        self, calls: AsyncCalls, who: Who, reason: str | None, signed: Mapping[str, Any]
    ) -> None:
        """Begin with no change."""
        super().__init__(calls, who)
        self._reason, self._signed = reason, signed
        self._changes: list[dict[str, Any]] = []
        self.result: Applied | None = None
        """The ids and the commit; None before the end of the block, or without changes."""

    def add(
        self,
        text: str,
        *,
        category: str | None = None,
        confidence: float = 1.0,
        **options: Unpack[BatchFact],
    ) -> None:
        """Remember a fact: see `Branch.add`.

        Args:
            text: the claim.
            category: a label of your own.
            confidence: how sure you are, from 0 to 1.
            **options: see `BatchFact`.
        """
        self._then("add", fact_text=text, category=category, confidence=confidence, **options)

    def observe(
        self,
        summary: str,
        kind: Literal["tool_use", "discovery", "decision", "error", "insight"] = "discovery",
        *,
        tool_name: str | None = None,
        **options: Unpack[BatchObservation],
    ) -> None:
        """Log what a moment of work showed: see `Branch.observe`.

        Args:
            summary: what was seen.
            kind: what kind of moment it was.
            tool_name: the tool that was used.
            **options: see `BatchObservation`.
        """
        self._then(
            "observe", summary=summary, observation_type=kind, tool_name=tool_name, **options
        )

    def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        properties: Mapping[str, Any] | None = None,
        **options: Unpack[BatchRelation],
    ) -> None:
        """Link two entities: see `Branch.relate`.

        Args:
            source: the entity that the relation starts from.
            relation: what the source is to the target.
            target: the entity that the relation leads to.
            properties: more about the relation, as a JSON object.
            **options: see `BatchRelation`.
        """
        self._then(
            "relate",
            source_entity=source,
            relation_type=relation,
            target_entity=target,
            properties=properties,
            **options,
        )

    def update(
        self,
        row_id: str,
        *,
        text: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        **options: Unpack[BatchChanges],
    ) -> None:
        """Correct a memory in place: see `Branch.update`.

        Args:
            row_id: the memory.
            text: the new text; default for each column: as it is.
            category: the new category.
            confidence: the new confidence, from 0 to 1.
            **options: see `BatchChanges`.
        """
        self._then(
            "update",
            id=row_id,
            fact_text=text,
            category=category,
            confidence=confidence,
            **options,
        )

    def retract(self, row_id: str) -> None:
        """Remove a memory: see `Branch.retract`.

        Args:
            row_id: the memory.
        """
        self._then("retract", id=row_id)

    def set(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        space: SpaceName | None = None,
        ttl: float | timedelta | None = None,
        **options: Unpack[BatchEntry],
    ) -> None:
        """Put a JSON object under a key of a space: see `Branch.set`.

        Args:
            key: its key in the space.
            value: the object.
            space: the space; default: that of the handle, else none.
            ttl: how long it is kept, in seconds or as a `timedelta`; None: for ever.
            **options: see `BatchEntry`.

        Raises:
            InvalidRequest: the value is no JSON.
            ValueTooLarge: it is longer than an entry may be.
        """
        own_value = json.loads(json_of(key, value))  # the caller may go on to change `value`
        entry = new_entry(key, own_value, space, ttl, copied(options))
        self._changes.append({"action": "set", **entry})

    def delete(
        self, key: str, *, space: SpaceName | None = None, expect_revision: str | None = None
    ) -> None:
        """Remove an entry by its key; nothing is done if it is not there: see `Branch.delete`.

        Args:
            key: its key in the space.
            space: the space; default: that of the handle, else none.
            expect_revision: the `revision` that was read.
        """
        revision_argument = plain({"expect_revision": expect_revision})
        self._changes.append({"action": "delete", **place(key, space), **revision_argument})

    def _then(self, action: str, /, **arguments: Any) -> None:
        self._changes.append({"action": action, **copied(plain(arguments))})

    def __len__(self) -> int:
        """Count the changes that wait for the end of the block."""
        return len(self._changes)

    def __bool__(self) -> bool:
        """A batch is true, also while it is empty."""
        return True

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Make the changes, unless the block failed.

        Raises:
            NotFound: a memory is not on the branch; nothing was done.
            RevisionChanged: a memory or an entry has another revision than its `expect_revision`;
                nothing was done.
            InvalidRequest: a change does not fit; nothing was done.
        """
        changes, self._changes, self.result = self._changes, [], None
        if kind is None and changes:
            self.result = await self._ask(
                "rows_apply", changes=changes, reason=self._reason, **self._signed
            )
