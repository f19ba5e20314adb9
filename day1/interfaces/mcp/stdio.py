"""`day1 mcp`: an MCP server over stdin and stdout that ends cleanly at signals."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp.server.lowlevel import Server

from day1.interfaces.background import Job, run_forever
from day1.interfaces.mcp.pipes import pipes


def serve(server: Server[Any], close: Callable[[], None], beside: Mapping[str, Job]) -> None:
    """Serve until stdin ends or a signal comes; `close` closes the store in either case.

    The jobs `beside` it, by name, start first and are cancelled at the end.
    """

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            if sys.platform != "win32":
                tasks.start_soon(_leave_on_signal, close)
            for name, job in beside.items():
                tasks.start_soon(run_forever, name, job)
            async with pipes() as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(run)
    finally:
        close()


async def _leave_on_signal(close: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            close()
            # Exit hard: the writing thread hangs when the client does not read.
            os._exit(128 + number)
