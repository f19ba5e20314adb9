# Written by scripts/asynchronous.py: do not edit.
"""Methods about entries: JSON objects under keys of spaces."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack

from day1.interfaces.python.asynchronous.handle import AsyncHandle
from day1.interfaces.python.entry_arguments import json_of, new_entry, place
from day1.interfaces.python.handle import plain
from day1.interfaces.python.options import EntryFindOptions, EntryOptions, Signed, SpaceName, When
from day1.interfaces.python.results import Results

if TYPE_CHECKING:
    from day1.toolsets.day1.keyed.entries import (
        EntriesFound,
        EntriesGot,
        EntriesPut,
        EntriesRemoved,
        EntryItem,
        SpaceItem,
        SpacesFound,
    )


class AsyncEntryReads(AsyncHandle):
    """Reads entries of a branch: in its present state, or in that of a moment."""

    _at: When | None = None
    """The moment to read; None: the present state."""

    async def get(self, key: str, *, space: SpaceName | None = None) -> EntryItem | None:
        """Get an entry by its key, as it is or was.

        Args:
            key: its key in the space.
            space: the space; default: that of the handle, else none.

        Returns:
            The entry with its `value`; None if it is not there, or has expired.

        Raises:
            InvalidRequest: an argument does not fit.
            UnknownBranch: the branch does not exist.
        """
        answer: EntriesGot = await self._ask("entry_get", keys=[place(key, space)], at=self._at)
        return answer.entries[0]

    async def entries(
        self,
        *,
        under: SpaceName | None = None,
        where: Mapping[str, Any] | None = None,
        query: str | None = None,
        limit: int = 50,
        offset: int = 0,
        **options: Unpack[EntryFindOptions],
    ) -> Results[EntryItem]:
        """Find entries of a space and those below it, by conditions, a query, or both.

        Args:
            under: the space, such as `app:users`; `shared`: entries of none; `*`: all. Default:
                that of the handle, else all.
            where: conditions on the values, such as `{"status": "open", "score": {"$gt": 5}}`, with
                `$eq`, `$ne`, `$gt`, `$gte`, `$lt` and `$lte`. A key that a value does not have at
                its top is a path with dots.
            query: a question or words: the entries that fit best come first. Default: the newest
                first.
            limit: how many entries to answer, 1 to 1,000.
            offset: how many to leave out first.
            **options: see `EntryFindOptions`.

        Returns:
            The entries, without secret ones; `total` is how many fit in all, or with a query how
            many were found.

        Raises:
            InvalidRequest: an argument does not fit, such as an unknown operator.
        """
        answer: EntriesFound = await self._ask(
            "entry_find",
            under=under,
            where=where,
            query=query,
            limit=limit,
            offset=offset,
            at=self._at,
            **options,
        )
        return Results(answer.entries, answer.read, answer.total)

    async def spaces(self, *, under: SpaceName | None = None) -> Results[SpaceItem]:
        """List the spaces that have entries, below a space or all.

        Args:
            under: the space, which is listed too; default: that of the handle, else all.

        Returns:
            The spaces by name, each with the number of its own entries.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: SpacesFound = await self._ask("entry_spaces", under=under, at=self._at)
        return Results(answer.spaces, answer.read)


class AsyncEntryWrites(AsyncHandle):
    """Writes entries to a branch."""

    async def set(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        space: SpaceName | None = None,
        ttl: float | timedelta | None = None,
        **options: Unpack[EntryOptions],
    ) -> EntriesPut:
        """Put a JSON object under a key of a space; it replaces the one that is there.

        Args:
            key: its key in the space: any text of 1 to 1,024 characters, to the letter.
            value: the object, of at most 8 MiB as JSON in UTF-8; it comes back as it is.
            space: the space, by a name such as `project:metal` or by labels such as
                `("app", "Users", "Ann")`, which are kept to the letter; default: that of the
                handle, else none.
            ttl: how long it is kept, in seconds or as a `timedelta`; None: for ever.
            **options: see `EntryOptions`.

        Returns:
            The id of its row in `ids`, and whether it was added or changed.

        Raises:
            ValueTooLarge: the value is longer than that.
            InvalidRequest: the value is no JSON, or another argument does not fit.
            Refused: the entry of this key was redacted.
            RevisionChanged: the entry has another revision than `expect_revision`.
        """
        writer_arguments = {name: options.pop(name, None) for name in Signed.__annotations__}  # type: ignore[misc]  # its own names
        json_of(key, value)
        entry = new_entry(key, value, space, ttl, options)
        answer: EntriesPut = await self._ask("entry_put", entries=[entry], **writer_arguments)
        return answer

    async def delete(
        self,
        key: str,
        *,
        space: SpaceName | None = None,
        expect_revision: str | None = None,
        **signed: Unpack[Signed],
    ) -> bool:
        """Remove an entry by its key; history keeps it.

        Args:
            key: its key in the space.
            space: the space; default: that of the handle, else none.
            expect_revision: the `revision` that was read.
            **signed: see `Signed`.

        Returns:
            Whether it was there.

        Raises:
            InvalidRequest: an argument does not fit.
            RevisionChanged: the entry has another revision than `expect_revision`.
        """
        revision_argument = plain({"expect_revision": expect_revision})
        removals = [{**place(key, space), **revision_argument}]
        answer: EntriesRemoved = await self._ask("entry_remove", keys=removals, **signed)
        return bool(answer.ids)
