"""What every foreign client does: write, branch, write there, merge, search.

It runs under the client's own interpreter, which has nothing of day1's. The
arguments are how the server is reached, as JSON (`{"url", "token"}`, or `{"command", "args",
"env"}` for stdio), and the name of the branch.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Generator
from typing import Any

Arguments = dict[str, Any]
Call = Callable[[str, Arguments], Awaitable[Any]]
Story = Generator[tuple[str, Arguments], Any, dict[str, Any]]


def story(branch: str) -> Story:
    """Yields each call, is sent what the client made of its answer, and returns what was seen."""
    kept = yield "memory_write_fact", {"fact_text": "Tea is served at four.", "confidence": 0.9}
    yield "memory_branch_create", {"branch_name": branch, "description": "Kettles"}
    new = yield (
        "memory_write_fact",
        {"fact_text": f"The kettle whistles: {branch}.", "branch": branch},
    )
    before = yield "memory_search", {"query": "kettle whistles", "branch": "main"}
    plan = yield "memory_merge_preview", {"source_branch": branch}
    merge = {"source_branch": branch, "strategy": "auto", "expect": plan["digest"]}
    merged = yield "memory_branch_merge", merge
    after = yield "memory_search", {"query": "kettle whistles", "branch": "main", "limit": 5}
    return {
        "kept": kept["id"],
        "new": new["id"],
        "before": [hit["id"] for hit in hits(before)],
        "merged": merged["merged_count"],
        "after": [hit["id"] for hit in hits(after)],
    }


def hits(answer: Any) -> list[Any]:
    """The rows of a search: clients give the list, or the object that holds it."""
    rows: list[Any] = answer["result"] if isinstance(answer, dict) else answer
    return rows


async def tell(call: Call) -> dict[str, Any]:
    """Let a client that calls tools directly go through the story."""
    steps, answer = story(sys.argv[2]), None
    while True:
        try:
            tool, arguments = steps.send(answer)
        except StopIteration as end:
            seen: dict[str, Any] = end.value
            return seen
        answer = await call(tool, arguments)


def run(client: Callable[[Any], Awaitable[dict[str, Any]]]) -> None:
    """Run a client's story with the server that is named; prints what it saw."""
    print(json.dumps(asyncio.run(client(json.loads(sys.argv[1])))))
