"""The yardstick: the same low-level SDK server as day1's, with one tool that answers `{}`."""

import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

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


def _serve_http() -> None:
    server: Server[Any] = Server("empty", on_list_tools=_list_tools, on_call_tool=_call_tool)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as taken:
        taken.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{taken.getsockname()[1]} ", file=sys.stderr, flush=True)
        config = uvicorn.Config(server.streamable_http_app(), http="h11", log_level="error")
        uvicorn.Server(config).run(sockets=[taken])


if __name__ == "__main__":
    _serve_http() if "--http" in sys.argv else anyio.run(_serve)
