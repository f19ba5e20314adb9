"""`day1 serve`: one process, until a signal; what runs is finished first."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from day1.errors import Refused
from day1.settings import HttpSettings

log = logging.getLogger(__name__)


def listen(settings: HttpSettings) -> socket.socket:
    """Take the port before anything is opened.

    Raises:
        Refused: another program has it, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((settings.host, settings.port))
    except OSError as exc:
        taken.close()
        raise Refused(
            f"{settings.host}:{settings.port} is not to be had ({exc.strerror}): another program "
            "may listen there. Choose another with --port, or --port 0.",
            host=settings.host,
            port=settings.port,
        ) from exc
    return taken


def serve(
    app: ASGIApp, taken: socket.socket, settings: HttpSettings, ready: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is told the address once calls are taken."""
    config = uvicorn.Config(
        app,
        # h11 drops blanks behind a header's value, as MCP's 2026 protocol asks; httptools does not.
        http="h11",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=int(settings.grace_s) or 1,
        h11_max_incomplete_event_size=65_536,
    )
    asyncio.run(_Server(config, ready).serve(sockets=[taken]))


class _Server(uvicorn.Server):
    """Says where it is once it is there."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take calls."""
        await super().startup(sockets=sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
