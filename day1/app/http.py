"""The HTTP server: `day1 serve`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
"""Held by the one HTTP server of a store; says where that is."""


def run(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve a store over HTTP until a signal; `ready` is told the address.

    A new store has no token, so where one is needed none is made: it may be another's folder.

    Raises:
        NotAStore: there is none where others could come in.
        Refused: the port is taken, or others could come in without a token.
        Conflict: another process serves the store.
    """
    to_stderr(settings.log_level)
    with listen(settings.http) as taken:
        closed = needs_token(settings.http)
        store = open_store(settings, create=not closed, serves=True)
        beside = background(store)
        try:
            authenticator = Authenticator(store.repo, closed=closed)
            if authenticator.shut:
                raise Refused(
                    f"{settings.http.host} lets others in than this machine's users, and this "
                    "store has no token yet: `day1 token create NAME --scope admin` makes one.",
                    host=settings.http.host,
                )
            beside.start()
            garbage.while_serving()
            with sole_server(store, address_of(taken)):
                app = build_app(Served(store, authenticator, beside.worker.called))
                serve(app, taken, settings.http, ready)
        finally:
            beside.stop()
            store.close()


@contextmanager
def sole_server(store: OpenStore, address: str) -> Iterator[None]:
    """Be the one HTTP server of a store for the block: HEADs and rates are known to one process.

    Raises:
        Conflict: another one is; the message says where.
    """
    if store.read_only:
        yield
        return
    path = store.folder / SERVED
    with WriteLock(path, 0).held_if_free() as free:
        if not free:
            holder = path.read_text(encoding="utf-8") or "Another process"
            raise Conflict(f"{holder} serves this store already: use that, or stop it first.")
        path.write_text(f"{address} (process {os.getpid()})", encoding="utf-8")
        yield
