"""The story by the tools that langchain-mcp-adapters makes; its SDK is that of MCP's first years."""

import json
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from story import Arguments, run, tell


async def client(server: Any) -> dict[str, Any]:
    if "url" in server:
        headers = {"Authorization": f"Bearer {server['token']}"}
        wire = {"transport": "streamable_http", "url": server["url"], "headers": headers}
    else:
        wire = {"transport": "stdio", **server}
    async with MultiServerMCPClient({"day1": wire}).session("day1") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(name: str, arguments: Arguments) -> Any:
            asked = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
            message = await tools[name].ainvoke(asked)
            assert message.status == "success", message.content
            return json.loads(message.content[0]["text"])

        return await tell(call)


run(client)
