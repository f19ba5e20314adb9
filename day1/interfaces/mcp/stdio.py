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
        async with anyio.create_task_group() as task_group:
            if sys.platform != "win32":
                task_group.start_soon(_leave_on_signal, close)
            for job_name, job in beside.items():
                task_group.start_soon(run_forever, job_name, job)
            async with pipes() as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())
            task_group.cancel_scope.cancel()

    try:
        anyio.run(run)
    finally:
        close()


async def _leave_on_signal(close: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received_signals:
        async for signal_number in received_signals:
            close()
            # Exit hard: the writing thread hangs when the client does not read.
            os._exit(128 + signal_number)
