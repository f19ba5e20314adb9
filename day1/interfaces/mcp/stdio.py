"""`day1 mcp`: a server over stdin and stdout that leaves cleanly on signals."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from day1.interfaces.background import Job, run_forever


def serve(server: Server[Any], close: Callable[[], None], beside: Mapping[str, Job]) -> None:
    """Serve until stdin ends or a signal comes; `close` runs once, in any case.

    What is to run `beside` it, by name, is begun first, and cancelled at the end.
    """

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            if sys.platform != "win32":
                tasks.start_soon(_leave_on_signal, close)
            for what, work in beside.items():
                tasks.start_soon(run_forever, what, work)
            async with stdio_server() as (reading, writing):
                sending, mended = anyio.create_memory_object_stream[SessionMessage | Exception]()
                tasks.start_soon(_mend, reading, sending, writing)
                await server.run(mended, writing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(run)
    finally:
        close()


async def _mend(
    reading: Any, sending: MemoryObjectSendStream[SessionMessage | Exception], writing: Any
) -> None:
    """Hand messages on, and answer what is none: the SDK would drop it without a word.

    JSON can say a lone surrogate, a cut emoji: a message with one is handed on as well.
    """
    async with sending:
        async for item in reading:
            message = _reparsed(item) if isinstance(item, ValidationError) else item
            if isinstance(message, JSONRPCError):
                await writing.send(SessionMessage(message))
            else:
                await sending.send(message)


def _reparsed(error: ValidationError) -> SessionMessage | JSONRPCError | Exception:
    found = error.errors(include_url=False)[0]
    if found["type"] != "json_invalid":
        return _refused(INVALID_REQUEST, "That is JSON, but not a message of JSON-RPC 2.0.")
    line = found["input"]
    try:
        if not line.strip():
            return error
        message = json.loads(line)
        return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
    except ValidationError:
        return _refused(INVALID_REQUEST, "That is JSON, but not a message of JSON-RPC 2.0.")
    except (TypeError, ValueError):
        return _refused(PARSE_ERROR, "That line is not JSON: send one message on each line.")
    except RecursionError:
        return _refused(PARSE_ERROR, "That line is nested too deeply: send fewer levels.")


def _refused(code: int, message: str) -> JSONRPCError:
    """An answer to a line whose id nobody can tell."""
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))


async def _leave_on_signal(close: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            close()
            # The thread that reads stdin cannot be woken, so a normal exit would hang.
            os._exit(128 + number)
