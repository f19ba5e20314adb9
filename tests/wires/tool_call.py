"""One call of a tool over MCP of 2026, as a plain POST without a session."""

from typing import Any

import httpx2

ERA = "2026-07-28"


def post_call(http: httpx2.Client, tool: str, arguments: dict[str, Any]) -> httpx2.Response:
    """Call a tool of every toolset that agents have."""
    protocol = "io.modelcontextprotocol/"
    meta = {f"{protocol}protocolVersion": ERA, f"{protocol}clientCapabilities": {}}
    call = {"name": tool, "arguments": arguments, "_meta": meta}
    return http.post(
        "/mcp/all",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": ERA,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        },
    )
