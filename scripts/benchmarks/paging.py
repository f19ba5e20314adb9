"""The newest page of a list and of the timeline, and what more rows on the branch cost it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from benchmarks.bench import Bench, Work
from benchmarks.report import Row, quotient
from day1.interfaces.heads import ProcessHead
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.services.access.caller import Caller
from day1.toolsets import TOOLSETS

_LIMIT = 1.5
_ARGUMENTS: dict[str, dict[str, Any]] = {"memory_list": {"type": "fact"}, "memory_timeline": {}}
"""By tool, the arguments that ask for its newest page."""
_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core,browse")}


def rows(bench: Bench) -> Iterator[Row]:
    """The newest page at many facts and at few, by processor time, each size in turn."""
    few, many = bench.sizes.small, bench.sizes.large
    with (
        closing(bench.open(bench.store(few))) as small,
        closing(bench.open(bench.store(many))) as large,
    ):
        for tool, arguments in _ARGUMENTS.items():
            works = (_reading(store, tool, arguments) for store in (small, large))
            below, above = bench.by_turns(*works, clock=time.process_time)
            row_name = f"{tool}, newest page, {many:,} facts / {few:,}, processor time"
            yield quotient(row_name, above, below, _LIMIT, f"at {few:,}")


def _reading(store: OpenStore, tool: str, arguments: Mapping[str, Any]) -> Work:
    caller = Caller(agent_id="bench", head=ProcessHead(store.repo, MAIN))
    return lambda _: _TOOLS[tool].call(store.context(caller), arguments)
