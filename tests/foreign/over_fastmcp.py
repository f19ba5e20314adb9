"""The story by fastmcp's client."""

from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from story import Arguments, run, tell


async def client(server: Any) -> dict[str, Any]:
    if "url" in server:
        wire: Any = StreamableHttpTransport(server["url"], auth=server["token"])
    else:
        wire = StdioTransport(server["command"], server["args"], server["env"])
    async with Client(wire, timeout=60, init_timeout=60) as session:

        async def call(tool: str, arguments: Arguments) -> Any:
            return (await session.call_tool(tool, arguments)).structured_content

        return await tell(call)


run(client)
