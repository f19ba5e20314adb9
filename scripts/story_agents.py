"""The agents of the story, as MCP clients, and what is printed of their calls."""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client, StdioServerParameters

DAY1 = [sys.executable, "-m", "day1"]
WIDTH = 96
"""Columns of what is printed of a call."""
SHOWN = 3
"""Rows of a plan that are printed."""


class Agent:
    """An agent with a server process of its own."""

    def __init__(self, name: str, client: Client) -> None:
        self.name, self.client = name, client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; print what was asked and answer what came back."""
        answer = await self.client.call_tool(tool, arguments)
        body = answer.structured_content or {}
        if answer.is_error:
            raise SystemExit(f"{tool}: {body}")
        call_text = f"{self.name}: {tool}({_arguments(arguments)})"
        print(f"  {call_text if len(call_text) <= WIDTH else call_text[: WIDTH - 1] + '…'}")
        return body


def _arguments(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{k}={clip(v)}" for k, v in arguments.items())


def clip(value: Any, most: int = 60) -> str:
    """A value as JSON, cut to so many characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


async def agent(stack: AsyncExitStack, name: str, env: dict[str, str]) -> Agent:
    """Start a server process and connect to it."""
    server = StdioServerParameters(
        command=DAY1[0],
        args=[*DAY1[1:], "mcp", "--toolsets", "core,review"],
        env={**env, "DAY1_AGENT_ID": name},
    )
    return Agent(name, await stack.enter_async_context(Client(server)))


async def merge(who: Agent, branch: str, target: str) -> None:
    """Preview a merge, then merge exactly what was previewed."""
    both = {"source_branch": branch, "target_branch": target}
    plan = await who.call("memory_merge_preview", **both)
    rows = sorted(plan["rows"], key=lambda row: not row["held"])  # what is held comes first
    for row in rows[:SHOWN]:
        state = f"held: {', '.join(row['held'])}" if row["held"] else row["effect"]
        print(f"      {state:18} {row['type']}: {clip(row['text'], 70)}")
    if len(rows) > SHOWN:
        print(f"      … and {len(rows) - SHOWN} more rows")
    merged = await who.call("memory_branch_merge", **both, strategy="auto", expect=plan["digest"])
    print(f"      merged {merged['merged_count']}, held {merged['rejected_count']}")
