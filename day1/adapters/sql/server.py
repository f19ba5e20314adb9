"""A SQL server that keeps a store: which engine it is, and connections to it."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from day1.adapters.sql.failures import translated
from day1.errors import InvalidRequest, Refused
from day1.model.instant import SECOND

DRIVER = "mysql+pymysql"
_CONNECT_S, _ANSWER_S = 10, 600
"""Seconds that a server may take to let somebody in, and to answer one statement."""
_IN_TRANSACTION = 1
"""A flag of the protocol's, in each answer."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Where a store is: a server, and a database on it."""

    url: URL
    database: str

    @property
    def name(self) -> str:
        """The same for messages: no user, no password."""
        return f"{self.url.host}:{self.url.port or 3306}/{self.database}"


def parse(text: str) -> ServerUrl:
    """Read an address such as `mysql+pymysql://day1:…@host:3306/day1`.

    Raises:
        InvalidRequest: it is none of a database on a MySQL-like server.
    """
    form = f"{DRIVER}://USER:PASSWORD@HOST:3306/DATABASE"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as exc:
        raise InvalidRequest(f"DAY1_STORE__URL has the form {form}.") from exc
    database = url.database or ""
    if url.drivername not in {DRIVER, "mysql"} or not url.host:
        raise InvalidRequest(f"DAY1_STORE__URL has the form {form}.")
    unknown = sorted(url.query.keys() - _OPTIONS)
    if unknown:
        raise InvalidRequest(
            f"DAY1_STORE__URL takes no {unknown[0]!r} behind the '?', but {', '.join(_OPTIONS)}.",
            unknown=unknown,
        )
    plain = database.replace("_", "").replace("-", "")
    if not (plain.isascii() and plain.isalnum() and len(database) <= _LONGEST):
        raise InvalidRequest(
            f"DAY1_STORE__URL ends with the name of a database: at most {_LONGEST} ASCII letters, "
            f"digits, '_' and '-', no branch. Its form is {form}."
        )
    if database.lower() in _OF_SERVERS:
        raise InvalidRequest(
            f"DAY1_STORE__URL names {database!r}, which is the server's own: name a database of "
            "day1's own."
        )
    if url.query:
        _check_files(url)
    server = URL.create(DRIVER, url.username, url.password, url.host, url.port, query=url.query)
    return ServerUrl(server, database)


def _check_files(url: URL) -> None:
    """Read what TLS needs once, to say of a file that it does not fit; the driver says less."""
    query = {name: str(value) for name, value in url.query.items()}
    try:
        context = ssl.create_default_context(
            cafile=query.get("ssl_ca"), capath=query.get("ssl_capath")
        )
        if "ssl_cert" in query:
            context.load_cert_chain(query["ssl_cert"], query.get("ssl_key"))
    except OSError as exc:
        raise InvalidRequest(
            "DAY1_STORE__URL: a file of ssl_ca, ssl_cert or ssl_key is not there, cannot be read, "
            "or holds something else."
        ) from exc


_OPTIONS = ("ssl_ca", "ssl_capath", "ssl_cert", "ssl_check_hostname", "ssl_cipher", "ssl_key")
"""For TLS; others the driver would not heed, and somebody would believe that it did."""
_OF_SERVERS = frozenset(
    {
        *("information_schema", "mysql", "performance_schema", "sys"),
        *("mo_catalog", "mo_debug", "mo_task", "system", "system_metrics"),
    }
)
"""Databases in which a server, Dolt or MatrixOne, keeps what is its own."""
_LONGEST = 40
"""Characters of a database's name: the ledger's, and MatrixOne's of branches, are longer."""


def connect(place: ServerUrl) -> Engine:
    """A pool of connections to a server, each of which says itself where it stands.

    A transaction is begun and ended in so many words: what the driver says of its own accord a
    Dolt server does not hear (a rollback would keep the row).

    Raises:
        InvalidRequest: the driver is not installed.
    """
    try:
        return create_engine(
            place.url,
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=56,
            pool_use_lifo=True,
            # A ping costs 0.1 ms; a branch that is gone under the connection does not fail it.
            pool_pre_ping=True,
            pool_reset_on_return=None,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            connect_args={
                # From the first: MatrixOne then says that it is on, while the driver's 0 is.
                "autocommit": True,
                "charset": "utf8mb4",
                "connect_timeout": _CONNECT_S,
                "read_timeout": _ANSWER_S,
                "write_timeout": _ANSWER_S,
            },
        )
    except ModuleNotFoundError as exc:
        raise InvalidRequest(
            "A store on a server needs the package pymysql: `pip install 'day1[servers]'`."
        ) from exc


@contextmanager
def opened(engine: Engine, where: str) -> Iterator[Connection]:
    """A connection of the pool, given back with nothing begun.

    The server may have been restarted since it was used last, so it is asked before; a dead one
    costs all of the pool.
    """
    with translated(where), engine.connect() as connection:
        try:
            yield connection
        finally:
            if not connection.invalidated:
                raw: Any = connection.connection.driver_connection
                if raw.open and raw.server_status & _IN_TRANSACTION:
                    connection.exec_driver_sql("ROLLBACK")


def clock(connection: Connection) -> int:
    """Microseconds since 1970 UTC, as the server has it."""
    found: datetime = connection.exec_driver_sql("SELECT utc_timestamp(6)").scalar_one()
    since = found.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds


def make_database(connection: Connection, name: str, where: str) -> None:
    """Make a database where there is none; a user that may not needs one that is there.

    Raises:
        Refused: there is none, and this user may not make it.
    """
    try:
        if name in connection.exec_driver_sql("SHOW DATABASES").scalars().all():
            return
        connection.exec_driver_sql(f"CREATE DATABASE IF NOT EXISTS `{name}`")
    except DBAPIError as exc:
        if exc.connection_invalidated:
            raise
        raise Refused(
            f"The server of {where} has no database {name} that this user may use, nor may the "
            f"user make it: its administrator is to say CREATE DATABASE `{name}`, and the GRANT "
            f"that docs/servers.md has for it.",
            database=name,
        ) from exc


def engine_of(engine: Engine, where: str) -> tuple[str, str]:
    """Which engine a server is, and its version: `dolt` or `matrixone`.

    Raises:
        InvalidRequest: it is neither.
        StoreUnavailable, Refused: it does not answer, or does not let this user in.
    """
    with opened(engine, where) as connection:
        version = str(connection.exec_driver_sql("SELECT version()").scalar_one())
        before, found, after = version.partition("-MatrixOne-v")
        if found:
            return "matrixone", after
        try:
            dolt = connection.exec_driver_sql("SELECT dolt_version()").scalar_one()
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            raise InvalidRequest(
                f"The server at {where} is neither Dolt nor MatrixOne (it says {before!r}): day1 "
                "needs an engine that keeps versions. docs/servers.md says which.",
                version=before,
            ) from exc
    return "dolt", str(dolt)
