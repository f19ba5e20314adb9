"""MCP's stdio: one thread reads lines from a client, one writes lines to it.

The SDK's transport crosses to a thread and back for each line that it reads, for each that it
writes, and once more to flush. That was an eighth of what a write costs a server.
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
"""Lines that may wait to be written; beyond, who sends one waits for the client to read."""
_LOOK_S = 0.01

Received = SessionMessage | Exception


@asynccontextmanager
async def pipes() -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], Lines]]:
    """What the client sends, and where to send to it, until it closes either of its pipes.

    Meanwhile stdin is empty and stdout is stderr, so that nothing else gets onto the wire. JSON
    can say a lone surrogate, a cut emoji: a message with one is handed on as well.
    """
    reading, writing = _claimed()
    sending, received = anyio.create_memory_object_stream[Received](math.inf)
    call = asyncio.get_running_loop().call_soon_threadsafe

    def take(message: SessionMessage) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens now
            sending.send_nowait(message)

    def read() -> None:
        with suppress(RuntimeError):  # the loop has ended
            for line in reading:
                found = _message(line)
                if isinstance(found, JSONRPCError):
                    lines.put(found)
                elif found is not None:
                    call(take, SessionMessage(found))
            call(sending.close)

    lines = Lines(writing, left=partial(call, sending.close))
    Thread(target=read, name="reads the wire", daemon=True).start()
    try:
        yield received, lines
    finally:
        await lines.written()


def _claimed() -> tuple[TextIO, TextIO]:
    """The pipes as this process's own, which nothing else reads or writes."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return (
        os.fdopen(reading, encoding="utf-8", errors="replace"),
        os.fdopen(writing, "w", encoding="utf-8", newline="\n"),
    )


class Lines:
    """The stream of messages to a client, as the SDK wants one."""

    def __init__(self, pipe: TextIO, left: Callable[[], object]) -> None:
        """Write to a pipe; `left` is told if the client has closed it."""
        self._pipe, self._left, self._closed = pipe, left, False
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._thread = Thread(target=self._write, name="writes the wire", daemon=True)
        self._thread.start()

    def put(self, message: JSONRPCMessage) -> None:
        """Have a message written, from any thread."""
        self._waiting.put(message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")

    async def send(self, item: SessionMessage, /) -> None:
        """Have a message written; waits while the client reads none of many.

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
        """Wait until all is written."""
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
    """The message on a line, or the error to answer if there is none; None for an empty line."""
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
    """An answer to a line whose id nobody can tell."""
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
