"""Serve HTTP in one process until a signal; running calls are finished first."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from day1.errors import Refused
from day1.settings import HttpSettings

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_REACHED_AS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - no address is bound here
"""The address at which to reach a server that listens on all addresses."""
_HEAD_S = 15.0
"""Longest time for the head of a request, in seconds; then the connection is closed."""
_FIRST_S = 0.5
"""Seconds that a server that ends gives the first request of a connection to arrive."""
_REPLACED_S = 120
"""Seconds that a worker may take to start when SIGHUP replaces another one."""
LEAVING = "leaving"
"""Key of the app's state under which the functions stand that end its streams."""


def listen(settings: HttpSettings) -> socket.socket:
    """Bind the server's port; to be called before the store is opened.

    Raises:
        Refused: another program listens there, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Only for a socket that names TCP does asyncio send at once instead of after 40 ms.
    server_socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((settings.host, settings.port))
    except OSError as exc:
        server_socket.close()
        raise Refused(
            f"{settings.host}:{settings.port} cannot be used ({exc.strerror}): another program "
            "may listen there. Choose another with --port, or --port 0.",
            host=settings.host,
            port=settings.port,
        ) from exc
    return server_socket


def address_of(bound: socket.socket) -> str:
    """Return the URL under which this machine reaches a listening socket."""
    host, port = bound.getsockname()[:2]
    host = _REACHED_AS.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def config_of(app: Any, settings: HttpSettings, *, workers: int = 1) -> uvicorn.Config:
    """Make uvicorn's configuration of an app.

    With several workers, `app` is the function with which each one makes its own app.
    """
    return uvicorn.Config(
        app,
        factory=workers > 1,
        workers=workers,
        interface="asgi3",
        # h11 drops blanks behind a header's value, as MCP's 2026 protocol asks; httptools does not.
        http=f"{__name__}:Protocol",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(map(str, settings.trusted_proxies)),
        timeout_graceful_shutdown=int(settings.grace_s) or 1,
        timeout_worker_healthcheck=_REPLACED_S,
        h11_max_incomplete_event_size=65_536,
    )


def serve(
    app: Starlette, bound: socket.socket, settings: HttpSettings, ready: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` gets the address when calls are accepted."""
    config = config_of(app, settings)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_Server(config, ready).serve(sockets=[bound]))


class Protocol(H11Protocol):
    """uvicorn's protocol; it limits the time for a request's head, and lets streams end."""

    _until: asyncio.TimerHandle | None = None
    _is_ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Start the time limit for the head of the first request."""
        super().connection_made(transport)
        self._until = self.loop.call_later(_HEAD_S, transport.close)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request; the time limit is for its whole head."""
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn says
        if self._is_ending and cycle is not None:
            super().shutdown()
        awaits_request = cycle is None or cycle.response_complete
        if awaits_request and self._until is None:
            self._until = self.loop.call_later(_HEAD_S, self.transport.close)
        elif not awaits_request:
            self._rest()

    def shutdown(self) -> None:
        """End the streams of the app, then this connection after the running call.

        If there was no call yet, it may be on its way: whoever connected to a worker that is
        replaced sees no difference.
        """
        for leave in self.app_state[LEAVING]:
            leave()
        cycle: Any = self.cycle
        if cycle is not None:
            super().shutdown()
        else:
            self._is_ending = True
            self._rest()
            self._until = self.loop.call_later(_FIRST_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
        self._rest()
        super().connection_lost(exc)

    def _rest(self) -> None:
        if self._until is not None:
            self._until.cancel()
            self._until = None


class _Server(uvicorn.Server):
    """uvicorn's server: reports its address when it has started."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept calls, and report the server's address."""
        await super().startup(sockets=sockets)
        if self.started and sockets:
            self._ready(address_of(sockets[0]))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server at a signal, not the process: the store must still be closed."""
        handler_by_signal = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in handler_by_signal.items():
                signal.signal(sig, handler)
