"""A plugin of pytest that puts `Day1Store` in the place of LangGraph's own stores.

It runs in the environment of a public suite, and replaces names, never a line of the suite. All
stores of a run are in one memory, each under a name of its own.
"""

import itertools
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

sys.path.append(os.environ["DAY1_PACKAGES"])  # what day1 itself needs, behind the suite's own

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio

import day1
from day1.integrations.langgraph import Day1Store

_numbers = itertools.count(1)
_memory = day1.connect(tempfile.mkdtemp(), settings={"embedder": {"kind": "none"}})


class InDay1(Day1Store):
    """A new store, opened as the suite opens its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(_memory, name=f"s{next(_numbers)}", **options)

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Iterator[Day1Store]:
        yield cls(**options)

    def setup(self) -> None:
        """There is nothing to set up."""


class AsyncInDay1(InDay1):
    """The same store, with methods that are awaited."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncIterator[Day1Store]:  # type: ignore[override]  # asynchronous, as no method of Day1Store is
        yield cls(**options)

    async def setup(self) -> None:  # type: ignore[override]  # as above
        """There is nothing to set up."""

    async def sweep_ttl(self) -> int:  # type: ignore[override]  # as above
        return super().sweep_ttl()

    async def start_ttl_sweeper(self, *_: Any) -> Any:  # type: ignore[override]  # as above
        return super().start_ttl_sweeper()

    async def stop_ttl_sweeper(self, *_: Any) -> bool:  # type: ignore[override]  # as above
        return super().stop_ttl_sweeper()


langgraph.store.sqlite.SqliteStore = InDay1
langgraph.store.sqlite.AsyncSqliteStore = AsyncInDay1
langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncInDay1
if os.environ.get("DAY1_IN_PLACE_OF") == "memory":
    langgraph.store.memory.InMemoryStore = InDay1
