"""`day1 mcp`: a server over stdin and stdout that leaves cleanly on signals."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def serve(server: Server[Any], close: Callable[[], None]) -> None:
    """Serve until stdin ends or a signal comes; `close` runs once, in any case."""

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            if sys.platform != "win32":
                tasks.start_soon(_leave_on_signal, close)
            async with stdio_server() as (reading, writing):
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
            # The thread that reads stdin cannot be woken, so a normal exit would hang.
            os._exit(128 + number)
