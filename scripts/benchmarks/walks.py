"""How far a call walks through day1, counted by the interpreter's profiler.

It is counted from where wires enter (`Tool.call`) to the answer; what they do around it is not. A
*file* is one of the package, some function of which ran. A *move* is a call of a function in one
file by a function in another, with nothing of day1 between them (libraries and generated code do
not count); going back is no move of its own, going on with a generator is one. A *statement* is one
that the versioned engine was sent: those to the ledger and to the index, which are files of
SQLite, are not counted.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import day1
from day1.adapters.versioned.doltlite.dbapi import driver
from day1.app.open import open_store
from day1.services.access.caller import Caller
from day1.settings import EmbedderSettings, SearchSettings, Settings
from day1.toolsets import TOOLSETS
from day1.toolsets.compose import COMPOSE

PACKAGE = f"{Path(day1.__file__).parent}/"
_SENT: set[CodeType] = {driver.Connection.run.__code__, driver.Connection.run_many.__code__}
"""The functions that send the engine a statement, which is their argument `sql`."""

_TURN = {"agentWallet": "gateway", "threadId": "slow", "userMessage": "Is it slow?"}
"""Arguments of each turn of a thread."""
Prepare = Callable[..., Callable[[], dict[str, Any]]]
"""A tool's name and arguments in, a call of it out."""


@dataclass(slots=True)
class Walk:
    """What one call ran through."""

    files: Counter[str] = field(default_factory=Counter)
    """Files in order of first entry, with how often one was moved to."""
    functions: dict[str, dict[str, None]] = field(default_factory=dict)
    """What ran of each file, in order of first entry."""
    statements: list[str] = field(default_factory=list)

    @property
    def figures(self) -> tuple[int, int, int]:
        """Files, moves and statements."""
        return len(self.files), self.files.total(), len(self.statements)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what this thread runs in the block."""
        gc.collect()
        gc.disable()  # what it would call is no part of the walk
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            gc.enable()

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        file = code.co_filename.removeprefix(PACKAGE)
        if code.co_filename != _file_below(frame.f_back):
            self.files[file] += 1
        self.functions.setdefault(file, {})[code.co_qualname] = None
        if code in _SENT:
            self.statements.append(" ".join(frame.f_locals["sql"].split()))


def _file_below(frame: FrameType | None) -> str | None:
    """The file of the nearest function of day1 that is running."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return frame.f_code.co_filename
        frame = frame.f_back
    return None


def walks() -> dict[str, Walk]:
    """Each call once, on an embedded store where the like was done before."""
    with (
        tempfile.TemporaryDirectory(prefix="day1-walks-") as folder,
        _store(Path(folder)) as prepare,
    ):
        walk_by_name: dict[str, Walk] = {}

        def walk(tool: str, **arguments: str) -> None:
            walk_by_name[tool] = walked = Walk()
            prepared = prepare(tool, **arguments)
            with walked.counted():
                prepared()

        def call(tool: str, **arguments: str) -> None:
            prepare(tool, **arguments)()

        def fork(name: str) -> None:
            call("memory_branch_create", branch_name=name)
            for number in range(2):
                call("memory_write_fact", fact_text=f"{name} knows {number}.", branch=name)

        for _ in range(2):
            call("memory_write_fact", fact_text="The gateway is slow on Tuesdays.")
            call("memory_search", query="gateway", search_type="keyword")
        walk("memory_write_fact", fact_text="The gateway is counted.")
        key = {"namespace": "project:gateway", "key": "state"}
        for content in ("slow", "slower"):
            call("save_context", **key, content=content)
        walk("save_context", **key, content="quick")
        _turns(call, walk)
        for name in ("first", "second"):
            fork(name)
            for _ in range(2):
                walk("memory_branch_diff", source_branch=name, target_branch="main")
            walk("memory_branch_merge", source_branch=name, target_branch="main", strategy="auto")
        for _ in range(2):
            walk("memory_search", query="gateway", search_type="keyword")
        return walk_by_name


def _turns(call: Callable[..., None], walk: Callable[..., None]) -> None:
    """Record turns of a thread; the last one is counted."""
    for tell, turn in ((call, "first"), (call, "second"), (walk, "counted")):
        tell("turn_record", **_TURN, assistantMessage="Yes.", turnId=turn)


@contextmanager
def _store(folder: Path) -> Iterator[Prepare]:
    """A new store, called as a wire does; nothing works beside the calls."""
    tools = {tool.name: tool for tool in TOOLSETS.choose("core,kompanion")}
    tools |= COMPOSE.tools
    settings = Settings(
        home=folder,
        embedder=EmbedderSettings(kind="none"),
        search=SearchSettings(chroma=False),
    )
    store = open_store(settings, create=True)

    def prepare(tool: str, **arguments: str) -> Callable[[], dict[str, Any]]:
        return partial(tools[tool].call, store.context(Caller()), arguments)

    try:
        yield prepare
    finally:
        store.close()
