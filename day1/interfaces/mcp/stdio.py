"""`day1 mcp`: a server over stdin and stdout that leaves cleanly on signals."""

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
    """Serve until stdin ends or a signal comes; `close` runs once, in any case.

    What is to run `beside` it, by name, is begun first, and cancelled at the end.
    """

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            if sys.platform != "win32":
                tasks.start_soon(_leave_on_signal, close)
            for what, work in beside.items():
                tasks.start_soon(run_forever, what, work)
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
            # A client that reads nothing keeps the thread that writes to it.
            os._exit(128 + number)
