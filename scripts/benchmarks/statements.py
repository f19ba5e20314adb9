"""How often calls ask a server: each time is a round trip to it."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import SecretStr
from sqlalchemy import make_url

from benchmarks.bench import Bench
from benchmarks.report import Row
from day1.app.open import open_store
from tests.fakes.sql_wire import Wire
from tests.flows.statement_counts import MOST, begin, counts


def rows(bench: Bench) -> Iterator[Row]:
    """Count on the wire; a store in a folder has no server."""
    if bench.server is None:
        return
    folder = bench.folder / "counted"
    bench.remove(folder)
    settings = bench.settings(folder)
    url = make_url(bench.server.url(folder))
    with Wire(url.port or 3306, str(url.host)) as wire:
        wire_url = url.set(host="127.0.0.1", port=wire.port).render_as_string(hide_password=False)
        store = settings.store.model_copy(update={"url": SecretStr(wire_url)})
        opened_store = open_store(settings.model_copy(update={"store": store}), create=True)
        try:
            begin(opened_store)
            for what, found in counts(opened_store, wire):
                count, most = len(found), MOST[what]
                name = f"round trips to a server, {what}"
                yield Row(name, str(count), f"<= {most}", count, most)
        finally:
            opened_store.close()
