"""Run LangGraph's conformance suite over a saver and over its stamped class: print both as JSON.

It runs in the environment of the suite.
"""

import asyncio
import json
import os
import sys
import tempfile
from typing import Any

sys.path.append(os.environ["DAY1_PACKAGES"])  # what day1 itself needs, behind the suite's own

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import day1
from day1.integrations.langgraph import stamped


async def results(kind: Any) -> dict[str, Any]:
    """By capability: how many tests passed, how many did not, and why."""

    @checkpointer_test(name=kind.__name__)
    async def opened() -> Any:
        if issubclass(kind, InMemorySaver):
            yield kind()
            return
        async with kind.from_conn_string(":memory:") as saver:
            yield saver

    report = await validate(opened)
    return {
        name: [result.tests_passed, result.tests_failed, result.failures]
        for name, result in report.results.items()
        if result.detected
    }


async def main() -> None:
    """Print the results by the name of the saver: of the saver alone, then stamped."""
    found = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        day1.connect(folder, settings={"embedder": {"kind": "none"}}) as memory,
    ):
        for kind in (InMemorySaver, AsyncSqliteSaver):
            found[kind.__name__] = [await results(kind), await results(stamped(kind, memory))]
    print(json.dumps(found))


asyncio.run(main())
