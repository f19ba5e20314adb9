"""A real HTTP server of day1's toolsets and of those that a test brings."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import httpx2
import uvicorn

from day1.call.toolset import Toolset
from day1.interfaces.http.app import Served, build_app
from day1.interfaces.http.serving import config_of
from day1.interfaces.open_store import OpenStore
from day1.services.access.authentication import Authenticator
from day1.toolsets import registered
from day1.toolsets.compose import COMPOSE
from tests.waiting import until


@contextmanager
def served(store: OpenStore, *toolsets: Toolset) -> Iterator[httpx2.Client]:
    """Serve a store over HTTP from a thread, with these toolsets beside day1's."""
    authenticator = Authenticator(store.repo, closed=False)
    app = build_app(Served(store, authenticator, lambda: None, registered(COMPOSE, *toolsets)))
    config = config_of(app, store.settings.http)
    config.port = 0
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the server")
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        with httpx2.Client(base_url=f"http://{host}:{port}", timeout=60, verify=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
