"""Clients that call a `day1 serve` at once, with as little work on their side as can be."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio

from benchmarks.texts import facts, questions
from benchmarks.wire import Arguments

READERS, WRITERS = 24, 8
"""Clients that call at once."""


@dataclass(slots=True)
class Load:
    """What some clients did at once."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def rate(self, spent: float) -> float:
        """Calls in a second."""
        return len(self.seconds) / spent


async def run_load(address: str, seconds: float, clients: Sequence[tuple[str, str]]) -> Load:
    """Let clients call for some seconds: of one that does both, every fourth call is a write."""
    load, until = Load(), time.perf_counter() + seconds
    asked, texts = questions(500, "load"), [text for text, _ in facts(20_000, "load")]

    async def work(number: int, branch: str, what: str) -> None:
        connection = await _Connection.open(address)
        count = number
        while time.perf_counter() < until:
            count += 1
            writes = what == "write" or (what == "both" and count % 4 == 0)
            if writes:
                text = f"{texts[count % len(texts)]} ({number}, {count})"
                request = ("memory_write_fact", {"fact_text": text, "branch": branch})
            else:
                request = ("memory_search", {"query": asked[count % 500], "branch": branch})
            started = time.perf_counter()
            status = await connection.post(*request)
            load.seconds.append(time.perf_counter() - started)
            if status != http.client.OK:
                load.failed.append(str(status))
        connection.close()

    async with asyncio.TaskGroup() as tasks:
        for number, (branch, what) in enumerate(clients):
            tasks.create_task(work(number, branch, what))
    return load


@dataclass(slots=True)
class _Connection:
    """One kept open, with as little work on this side as can be."""

    reading: asyncio.StreamReader
    writing: asyncio.StreamWriter
    host: str

    @classmethod
    async def open(cls, address: str) -> _Connection:
        """Connect."""
        url = urlsplit(address)
        reading, writing = await asyncio.open_connection(url.hostname, url.port)
        return cls(reading, writing, url.netloc)

    async def post(self, tool: str, arguments: Arguments) -> int:
        """Call a tool by streamable HTTP; answers the status, 0 for a tool's own error."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        call_params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_params}
        body = json.dumps(message).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writing.write(head.encode() + body)
        head_text = (await self.reading.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head_text.split("content-length: ")[1].split("\r\n")[0])
        found = await self.reading.readexactly(length)
        status = int(head_text.split(" ", 2)[1])
        return status if b'"isError":true' not in found else 0

    def close(self) -> None:
        """Disconnect."""
        self.writing.close()


async def post(address: str, operation: str, arguments: Arguments) -> dict[str, Any]:
    """Call an operation over REST, which must succeed; answers its body."""

    def ask() -> dict[str, Any]:
        url = urlsplit(address)
        connection = http.client.HTTPConnection(url.netloc, timeout=600)
        connection.request("POST", f"/api/v1/{operation}", json.dumps(arguments))
        answer = connection.getresponse()
        body: dict[str, Any] = json.loads(answer.read())
        connection.close()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{operation}: {body['error']['code']}")
        return body

    return await anyio.to_thread.run_sync(ask)
