"""Run the HTTP server: `day1 serve`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from day1.adapters.flock import WriteLock
from day1.app import garbage
from day1.app.background import background
from day1.app.open import open_store
from day1.errors import Conflict, Refused
from day1.interfaces.http.app import Served, build_app, needs_token
from day1.interfaces.http.serving import address_of, listen, serve
from day1.interfaces.open_store import OpenStore
from day1.logs import to_stderr
from day1.services.access.authentication import Authenticator
from day1.settings import Settings

SERVED = "serve.lock"
"""The lock file of a store's one HTTP server; holds the server's address."""


def run(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve a store over HTTP until a signal; `ready` is called with the address.

    A new store has no token, so where tokens are needed no store is made.

    Raises:
        NotAStore: there is none, and the address lets in others than this machine's users.
        Refused: the port is taken, or such an address is served without a token in the store.
        Conflict: another process serves the store.
    """
    to_stderr(settings.log_level)
    with listen(settings.http) as socket:
        store, authenticator = open_to_serve(settings, create=True)
        background_threads = background(store)
        try:
            background_threads.start()
            garbage.look_often()
            with sole_server(store, address_of(socket)):
                app = build_app(Served(store, authenticator, background_threads.worker.called))
                serve(app, socket, settings.http, ready)
        finally:
            background_threads.stop()
            store.close()


def open_to_serve(settings: Settings, *, create: bool) -> tuple[OpenStore, Authenticator]:
    """Open a store to serve it; with `create`, make it where no token is needed.

    Raises:
        NotAStore, Refused: as `run`.
    """
    is_closed = needs_token(settings.http)
    store = open_store(settings, create=create and not is_closed, serves=True)
    with ExitStack() as opened:
        opened.callback(store.close)
        authenticator = Authenticator(store.repo, closed=is_closed)
        if authenticator.shut:
            raise Refused(
                f"{settings.http.host} lets others in than this machine's users, and this "
                "store has no token yet: `day1 token create NAME --scope admin` makes one.",
                host=settings.http.host,
            )
        opened.pop_all()
    return store, authenticator


@contextmanager
def sole_server(store: OpenStore, address: str) -> Iterator[None]:
    """Hold the lock of a store's one HTTP server: sessions and rates live in its memory.

    Raises:
        Conflict: another process serves the store; the message says at which address.
    """
    if store.read_only:
        yield
        return
    lock_path = store.folder / SERVED
    with WriteLock(lock_path, 0).held_if_free() as got_lock:
        if not got_lock:
            holder_text = lock_path.read_text(encoding="utf-8") or "Another process"
            raise Conflict(f"{holder_text} serves this store already: use that, or stop it first.")
        lock_path.write_text(f"{address} (process {os.getpid()})", encoding="utf-8")
        yield
