"""The HTTP server, where the seed places it (checklist S1-006); `day1 serve` starts the same."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from day1.app.open import open_store, sole_server
from day1.errors import Refused
from day1.interfaces.cli.main import run as command
from day1.interfaces.http.app import Served, build_app, needs_door
from day1.interfaces.http.serving import address_of, listen, serve
from day1.logs import to_stderr
from day1.services.access.authentication import Authenticator
from day1.settings import Settings

_COLLECT_AT = 2_000


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
        guarded = needs_door(settings.http)
        house = open_store(settings, create=not guarded, serves=True)
        tender = house.tender()
        try:
            authenticator = Authenticator(house.repo, closed=guarded)
            if authenticator.shut:
                raise Refused(
                    f"{settings.http.host} lets others in than this machine's users, and this "
                    "store has no token yet: `day1 token create NAME --scope admin` makes one.",
                    host=settings.http.host,
                )
            tender.start()
            # What is loaded stays; what sessions leave behind goes soon (the command line, which
            # lives for a moment, collects seldom).
            gc.freeze()
            gc.set_threshold(_COLLECT_AT, 20, 20)
            with sole_server(house, address_of(taken)):
                app = build_app(Served(house, authenticator, tender.called))
                serve(app, taken, settings.http, ready)
        finally:
            tender.stop()
            house.close()


if __name__ == "__main__":
    sys.exit(command(["serve"]))
