"""Databases on a server that a run makes, one for each of its stores, and drops at its end."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import make_url

from day1.adapters.mysql.url import connect, engine_of, opened, parse


class Server:
    """A server, and what of it is this run's."""

    def __init__(self, url: str) -> None:
        """Connect; a database that the URL may name is not touched."""
        self._url = make_url(url)
        self._prefix = f"bench_{secrets.token_hex(3)}"
        server_url = parse(self.url(Path("none")))
        self._engine, self._where = connect(server_url), server_url.name
        self.name = " ".join(engine_of(self._engine, self._where))

    def url(self, folder: Path) -> str:
        """The address of the store whose index is in a folder."""
        name = re.sub(r"\W", "_", folder.name.removesuffix(".new"))
        url = self._url.set(database=f"{self._prefix}_{name}")
        return url.render_as_string(hide_password=False)

    def drop(self, folder: Path) -> None:
        """Drop a store's databases."""
        self._drop(parse(self.url(folder)).database)

    def close(self) -> None:
        """Drop every store of this run."""
        self._drop(self._prefix)
        self._engine.dispose()

    def _drop(self, prefix: str) -> None:
        with opened(self._engine, self._where) as connection:
            for name in connection.exec_driver_sql("SHOW DATABASES").scalars().all():
                if re.match(rf"{prefix}($|_)", str(name)):
                    connection.exec_driver_sql(f"DROP DATABASE `{name}`")


@contextlib.contextmanager
def server_at(url: str | None) -> Iterator[Server | None]:
    """The server of a run, if it has one."""
    if url is None:
        yield None
        return
    server = Server(url)
    try:
        yield server
    finally:
        server.close()
