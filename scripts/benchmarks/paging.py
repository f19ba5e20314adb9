"""The newest page of a list and of the timeline, and what more rows on the branch cost it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

from benchmarks.bench import Bench
from benchmarks.report import Row, quotient
from day1.interfaces.heads import ProcessHead
from day1.model.branches.branch import MAIN
from day1.services.access.caller import Caller
from day1.toolsets import TOOLSETS

_LIMIT = 1.5
_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "memory_list": ("memory_list", {"type": "fact"}),
    "memory_timeline": ("memory_timeline", {}),
}
_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core,browse")}


def rows(bench: Bench) -> Iterator[Row]:
    """The newest page at many facts and at few, by processor time, each size in turn."""
    few, many = bench.sizes.small, bench.sizes.large
    with (
        closing(bench.open(bench.store(few))) as small,
        closing(bench.open(bench.store(many))) as large,
    ):
        for name, (tool, arguments) in _CALLS.items():
            spent: dict[int, list[float]] = {few: [], many: []}
            for number in range(bench.sizes.warm + bench.sizes.calls):
                for count, store in ((few, small), (many, large)):
                    caller = Caller(agent_id="bench", head=ProcessHead(store.repo, MAIN))
                    read = partial(_TOOLS[tool].call, store.context(caller), arguments)
                    started = time.process_time()
                    read()
                    if number >= bench.sizes.warm:
                        spent[count].append(time.process_time() - started)
            above, below = (statistics.median(spent[count]) for count in (many, few))
            named = f"{name}, newest page, {many:,} facts / {few:,}, processor time"
            yield quotient(named, above, below, _LIMIT, f"at {few:,}")
