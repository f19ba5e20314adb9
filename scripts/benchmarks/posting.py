"""Calls over plain HTTP on a kept connection, measured by turns."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread

from benchmarks.bench import Bench

_IDLE_S = 2.0
"""Seconds after which a connection is not used again: the server closes it after five."""


class Client:
    """A kept connection that posts JSON."""

    def __init__(self, address: str) -> None:
        """Connect at the first request."""
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=600)
        self._used = 0.0

    def post(
        self, path: str, body: dict[str, Any] | None, method: str = "POST"
    ) -> tuple[float, Any]:
        """Send a body; gives the seconds it took, and the answer.

        Raises:
            RuntimeError: the server refused it.
        """
        started = time.perf_counter()
        if started - self._used > _IDLE_S:
            self._connection.close()  # as the server will have done: the request connects again
        headers = {"Content-Type": "application/json", "Accept": _ACCEPTED, **_ERA}
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, headers)
        answer = self._connection.getresponse()
        answer_body = answer.read()
        self._used = time.perf_counter()
        spent = self._used - started
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status}: {answer_body[:200]!r}")
        return spent, json.loads(answer_body)


_ACCEPTED = "application/json, text/event-stream"
_ERA = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "empty"}
EMPTY = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "empty",
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
"""The body of an empty call."""
Call = Callable[[int], tuple[float, Any]]
"""Takes the number of the call; gives the seconds it took, and the answer."""


async def alternate(bench: Bench, *calls: Call) -> list[float]:
    """The medians of some calls that are made by turns."""

    def measure() -> list[float]:
        seconds_by_call: list[list[float]] = [[] for _ in calls]
        for number in range(bench.sizes.warm + bench.sizes.calls):
            for call, times in zip(calls, seconds_by_call, strict=True):
                seconds, _ = call(number)
                if number >= bench.sizes.warm:
                    times.append(seconds)
        return [statistics.median(times) for times in seconds_by_call]

    return await anyio.to_thread.run_sync(measure)
