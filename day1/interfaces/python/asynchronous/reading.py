# Written by scripts/asynchronous.py: do not edit.
"""Methods that read, on a branch as it is or as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from day1.interfaces.python.asynchronous.keyed import AsyncEntryReads
from day1.interfaces.python.handle import plain
from day1.interfaces.python.options import EventOptions, Kind, SearchOptions, TimelineOptions, When
from day1.interfaces.python.results import Results

if TYPE_CHECKING:
    from day1.toolsets.day1.browse.browsing import Got, Rows
    from day1.toolsets.day1.core.search import (
        Graph,
        GraphEdge,
        Hits,
        MemoryHit,
        TimelineItem,
        TimelineItems,
    )


class AsyncReads(AsyncEntryReads):
    """Reads a branch: its present state, or that of a moment."""

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        search_type: Literal["hybrid", "vector", "keyword"] = "hybrid",
        category: str | None = None,
        types: Sequence[Literal["fact", "observation"]] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Results[MemoryHit]:
        """Find memories by meaning and by words, best first; superseded facts are left out.

        Args:
            query: what to look for, as a question or as words.
            limit: how many memories to answer, 1 to 200.
            search_type: `vector` goes by meaning, `keyword` by words, `hybrid` by both. Without a
                model all go by words; `results.read.mode` says what was done.
            category: only facts of this category.
            types: which memories to search; default: facts.
            **options: see `SearchOptions`.

        Returns:
            The memories that were found, each with its score from 0 to 1.

        Raises:
            InvalidRequest: an argument does not fit.
            UnknownBranch: the branch does not exist.
        """
        window = plain({"after": options.pop("after", None), "before": options.pop("before", None)})
        answer: Hits = await self._ask(
            "memory_search",
            query=query,
            limit=limit,
            search_type=search_type,
            category=category,
            types=types,
            time_range=window or None,
            at=self._at,
            **options,
        )
        return Results(answer.result, answer.read)

    async def row(self, row_id: str, *, space: str | None = None) -> Got:
        """Read one memory by its id.

        Args:
            row_id: the memory's id.
            space: only if it is in this space. A secret memory is shown with its words where its
                own space is named, or `shared` if it has none; else they read `[secret]`.

        Returns:
            The columns by name in `row`, and in `part` its place in a longer text.

        Raises:
            NotFound: it is not on the branch, or was not then.
        """
        answer: Got = await self._ask("memory_get", id=row_id, space=space, at=self._at)
        return answer

    async def rows(
        self,
        kind: Kind = "fact",
        *,
        limit: int = 50,
        offset: int = 0,
        active_only: bool = False,
        space: str | None = None,
    ) -> Results[dict[str, Any]]:
        """List memories of one type, newest first, page by page.

        Args:
            kind: the type of the memories.
            limit: how many memories to answer, 1 to 200.
            offset: how many to leave out first.
            active_only: whether superseded, archived and invalidated facts are left out.
            space: only memories of this space; `shared`: only those of none; `*`: all.

        Returns:
            The columns of each memory by name; `total` is how many there are in all.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: Rows = await self._ask(
            "memory_list",
            type=kind,
            limit=limit,
            offset=offset,
            active_only=active_only,
            space=space,
            at=self._at,
        )
        return Results(answer.rows, answer.read, answer.total)

    async def messages(
        self, conversation_id: str, *, limit: int = 50, offset: int = 0
    ) -> Results[dict[str, Any]]:
        """List the messages of a conversation, in their sequence, page by page.

        Args:
            conversation_id: the conversation.
            limit: how many messages to answer, 1 to 200.
            offset: how many to leave out first.

        Returns:
            The columns of each message by name; `total` is how many there are in all.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: Rows = await self._ask(
            "memory_list",
            type="message",
            conversation_id=conversation_id,
            limit=limit,
            offset=offset,
            at=self._at,
        )
        return Results(answer.rows, answer.read, answer.total)

    async def timeline(
        self,
        *,
        limit: int = 50,
        after: When | None = None,
        before: When | None = None,
        **options: Unpack[TimelineOptions],
    ) -> Results[TimelineItem]:
        """Read the newest facts and observations, oldest first, by when they happened.

        Args:
            limit: how many memories to answer, 1 to 500; the newest of the window.
            after: only what happened at this time or later.
            before: only what happened at this time or earlier.
            **options: see `TimelineOptions`.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: TimelineItems = await self._ask(
            "memory_timeline", limit=limit, after=after, before=before, at=self._at, **options
        )
        return Results(answer.result, answer.read)

    async def graph(
        self,
        entity: str,
        *,
        relation: str | None = None,
        depth: int = 1,
        **options: Unpack[EventOptions],
    ) -> Results[GraphEdge]:
        """Read the relations around an entity, in both directions, nearest first.

        Args:
            entity: the name as it was written.
            relation: only relations of this type.
            depth: how many relations to follow from the entity, 1 to 5.
            **options: see `EventOptions`.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: Graph = await self._ask(
            "memory_graph_query",
            entity=entity,
            relation_type=relation,
            depth=depth,
            at=self._at,
            **options,
        )
        return Results(answer.result, answer.read)
