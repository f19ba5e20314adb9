"""The yardstick: the same low-level SDK server as day1's, with one tool that answers `{}`."""

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

_ANYTHING = {"type": "object"}


async def _list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
    tool = Tool(
        name="empty", description="Nothing.", input_schema=_ANYTHING, output_schema=_ANYTHING
    )
    return ListToolsResult(tools=[tool])


async def _call_tool(_ctx: Any, _params: CallToolRequestParams) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="{}")], structured_content={})


async def _serve() -> None:
    server: Server[Any] = Server("empty", on_list_tools=_list_tools, on_call_tool=_call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
