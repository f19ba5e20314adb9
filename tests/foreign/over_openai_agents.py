"""The story by the MCP client of openai-agents, as its agents call tools: in strict schemas."""

import json
from typing import Any

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext
from story import Arguments, run, tell


async def client(server: Any) -> dict[str, Any]:
    if "url" in server:
        headers = {"Authorization": f"Bearer {server['token']}"}
        where: Any = {"url": server["url"], "headers": headers}
        wire: Any = MCPServerStreamableHttp(where, client_session_timeout_seconds=60)
    else:
        wire = MCPServerStdio(server, client_session_timeout_seconds=60)
    async with wire:
        listed = await wire.list_tools()
        tools = {
            tool.name: MCPUtil.to_function_tool(tool, wire, convert_schemas_to_strict=True)
            for tool in listed
        }

        async def call(name: str, arguments: Arguments) -> Any:
            given = json.dumps(arguments)
            context = ToolContext(None, tool_name=name, tool_call_id=name, tool_arguments=given)
            answer = await tools[name].on_invoke_tool(context, given)
            blocks = answer if isinstance(answer, list) else [answer]
            first = blocks[0]
            return json.loads(first["text"] if isinstance(first, dict) else first.text)

        return await tell(call)


run(client)
