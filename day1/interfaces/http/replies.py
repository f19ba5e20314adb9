"""Responses that refuse a request: JSON-RPC errors for MCP clients, unchanged for others.

A JSON-RPC error keeps the HTTP status and headers, since proxies and OAuth need them. Its `data`
is the body of the REST error: `code`, `message`, `details`.
"""

from __future__ import annotations

import json
from typing import Final

import anyio
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope

_MCP: Final = "/mcp"
"""The path of MCP; endpoints of single toolsets lie below it."""
_MOST_BYTES: Final = 16_384
"""Maximum number of bytes of a body that are read to find the id of its message."""
_WAIT_S: Final = 2.0
"""Longest wait for a body, in seconds, to find the id of its message."""
_SERVER_ERRORS: Final = 500
"""The lowest HTTP status that means a fault of the server."""


async def reply(refusal: Response, scope: Scope, receive: Receive) -> Response:
    """Shape a refusal for its client; an MCP client's body is read first, for the message's id."""
    if not _is_message(scope):
        return refusal
    return _error(refusal, await _request_id(scope, receive))


def reply_unread(refusal: Response, scope: Scope) -> Response:
    """Shape a refusal for its client without reading the body: a JSON-RPC error has no id then."""
    return _error(refusal, None) if _is_message(scope) else refusal


def _is_message(scope: Scope) -> bool:
    path = str(scope.get("path", ""))
    return scope["method"] == "POST" and (path == _MCP or path.startswith(f"{_MCP}/"))


def _error(refusal: Response, request_id: str | int | None) -> Response:
    error_body = json.loads(bytes(refusal.body))["error"]
    error_number = INTERNAL_ERROR if refusal.status_code >= _SERVER_ERRORS else INVALID_REQUEST
    rpc_error = {"code": error_number, "message": error_body["message"], "data": error_body}
    headers = {
        name: value
        for name, value in refusal.headers.items()
        if name not in {"content-length", "content-type"}
    }
    rpc_body = {"jsonrpc": "2.0", "id": request_id, "error": rpc_error}
    return JSONResponse(rpc_body, refusal.status_code, headers)


async def _request_id(scope: Scope, receive: Receive) -> str | int | None:
    """Read the id of a JSON-RPC request; None if the body is slow, too long or not a request."""
    declared_length = Headers(scope=scope).get("content-length", "")
    if declared_length.isdecimal() and int(declared_length) > _MOST_BYTES:
        return None
    body, has_more = bytearray(), True
    with anyio.move_on_after(_WAIT_S):
        while has_more and len(body) <= _MOST_BYTES:
            chunk = await receive()
            body += chunk.get("body", b"")
            has_more = chunk.get("more_body", False)
    try:
        message = None if has_more else json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "method" not in message:
        return None
    request_id = message.get("id")
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    return request_id if is_id else None
