"""MCP over stdio: one thread reads lines from the client, one writes lines to it.

The SDK's transport switches to a thread and back for each line read, each line written and each
flush. That was an eighth of the time of a write.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self, TextIO

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

_AHEAD = 64
"""Maximum number of lines that wait to be written; then `send` waits for the client to read."""
_LOOK_S = 0.01
"""Seconds between two checks of how many lines wait."""

Received = SessionMessage | Exception
"""What the SDK's server takes from a transport."""


@asynccontextmanager
async def pipes() -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], Lines]]:
    """Open the streams from and to the client; they end when it closes one of its pipes.

    Meanwhile `sys.stdin` is empty and `sys.stdout` writes to stderr, so that nothing else gets onto
    the wire. Messages with a lone surrogate (half an emoji), which JSON allows, are passed on too.
    """
    client_input, client_output = _claimed()
    message_sender, message_receiver = anyio.create_memory_object_stream[Received](math.inf)
    call_on_loop = asyncio.get_running_loop().call_soon_threadsafe

    def take(message: SessionMessage) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens now
            message_sender.send_nowait(message)

    def read() -> None:
        with suppress(RuntimeError):  # the loop has ended
            for line in client_input:
                message = _message(line)
                if isinstance(message, JSONRPCError):
                    lines.put(message)
                elif message is not None:
                    call_on_loop(take, SessionMessage(message))
            call_on_loop(message_sender.close)

    lines = Lines(client_output, left=partial(call_on_loop, message_sender.close))
    Thread(target=read, name="reads the wire", daemon=True).start()
    try:
        yield message_receiver, lines
    finally:
        await lines.written()


def _claimed() -> tuple[TextIO, TextIO]:
    """Take stdin and stdout for this module alone; other code gets an empty stdin and stderr."""
    input_fd, output_fd = os.dup(0), os.dup(1)
    null_device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.close(null_device)
    os.dup2(2, 1)
    return (
        os.fdopen(input_fd, encoding="utf-8", errors="replace"),
        os.fdopen(output_fd, "w", encoding="utf-8", newline="\n"),
    )


class Lines:
    """The stream of messages to the client, with the methods that the SDK calls."""

    def __init__(self, pipe: TextIO, left: Callable[[], object]) -> None:
        """Write to a pipe; `left` is called when the client has closed the pipe."""
        self._pipe, self._left, self._closed = pipe, left, False
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._thread = Thread(target=self._write, name="writes the wire", daemon=True)
        self._thread.start()

    def put(self, message: JSONRPCMessage) -> None:
        """Queue a message for writing; may be called from any thread."""
        self._waiting.put(message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")

    async def send(self, item: SessionMessage, /) -> None:
        """Queue a message for writing; wait while too many lines are unread.

        Raises:
            ClosedResourceError: the stream was closed.
        """
        while not self._closed and self._waiting.qsize() > _AHEAD:
            await anyio.sleep(_LOOK_S)
        if self._closed:
            raise anyio.ClosedResourceError
        self.put(item.message)

    async def aclose(self) -> None:
        """Take no more messages."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def written(self) -> None:
        """Stop taking messages, and wait until all queued ones are written."""
        self._closed = True
        self._waiting.put(None)
        await to_thread.run_sync(self._thread.join)

    def _write(self) -> None:
        try:
            while (line := self._waiting.get()) is not None:
                self._pipe.write(line)
                if self._waiting.empty():
                    self._pipe.flush()
        except OSError:
            self._closed = True
            with suppress(RuntimeError):  # the loop has ended
                self._left()


def _message(line: str) -> JSONRPCMessage | None:
    """Parse a line: a message, an error to answer with, or None for an empty line."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as exc:
        if exc.errors(include_url=False)[0]["type"] != "json_invalid":
            return _refused(INVALID_REQUEST, "That is JSON, but not a message of JSON-RPC 2.0.")
    if not line.strip():
        return None
    try:
        return jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False)
    except ValidationError:
        return _refused(INVALID_REQUEST, "That is JSON, but not a message of JSON-RPC 2.0.")
    except ValueError:
        return _refused(PARSE_ERROR, "That line is not JSON: send one message on each line.")
    except RecursionError:
        return _refused(PARSE_ERROR, "That line is nested too deeply: send fewer levels.")


def _refused(code: int, message: str) -> JSONRPCError:
    """Build the error for a line whose id cannot be read."""
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
