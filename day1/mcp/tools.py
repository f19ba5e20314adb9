"""The core tools by name, and a function that runs one of them, for programs that import day1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from anyio import to_thread

from day1.call.context import Context
from day1.errors import Json, UnknownTool
from day1.toolsets import TOOLSETS

TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core")}


async def handle_tool_call(
    name: str, arguments: Mapping[str, Any], context: Context
) -> dict[str, Json]:
    """Run one tool of the core toolset in a worker thread; return its structured answer.

    Raises:
        UnknownTool: there is no such tool.
        Day1Error: the tool refused or failed.
    """
    if name not in TOOLS:
        raise UnknownTool(f"There is no tool {name[:80]!r} here.", tools=sorted(TOOLS))
    return await to_thread.run_sync(partial(TOOLS[name].call, context, arguments))
