"""A SQL server that keeps a store: which engine it is, and connections to it."""

import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from day1.adapters.mysql.batch import (
    MULTI_STATEMENTS,
    allow,
    cursor_class,
    forget,
    is_usable,
    prepare,
)
from day1.adapters.mysql.failures import server_number, translated
from day1.adapters.rows.tables import set_collation
from day1.errors import InvalidRequest, Refused
from day1.model.values.instant import SECOND

DRIVER = "mysql+pymysql"
LET_IN_S = 15.0
"""Seconds that a server may take to accept a connection or to answer a ping."""
ANSWER_S = 60.0
"""Seconds that a server may take to answer a statement."""
_RESTED_S = 1.0
"""Seconds without use after which a connection is pinged before it is used again."""
_KEPT = 8
"""Number of connections of a pool that stay open."""
_MAX_PORT = 65_535
_LOST = 2013
"""The driver's error number for a lost connection."""
_NOT_CONNECTED = 2003
"""The driver's error number for a failed attempt to connect."""
_MATRIXONE = "-MatrixOne-v"
"""The part of a server's version that comes before MatrixOne's own number."""
_IN_TRANSACTION = 1
"""The status flag in each answer that says that a transaction is open."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Where a store is: a server, and a database on it."""

    url: URL
    database: str

    @property
    def name(self) -> str:
        """The address for messages: without user and password."""
        return f"{self.url.host}:{self.url.port or 3306}/{self.database}"


@dataclass(frozen=True, slots=True)
class ServerDatabase:
    """The database of a store on a server, and connections to that server."""

    engine: Engine
    database: str
    where: str
    """The store's name in messages: server and database, without user and password."""
    version: str
    """The version of the server."""
    wait_s: float = 10.0
    """The longest wait for a branch's lock, in seconds."""


def parse(text: str) -> ServerUrl:
    """Read an address such as `mysql+pymysql://day1:…@host:3306/day1`.

    Raises:
        InvalidRequest: the text is not the address of a database on a MySQL-like server.
    """
    url_form = f"{DRIVER}://USER:PASSWORD@HOST:3306/DATABASE"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as exc:
        raise InvalidRequest(f"DAY1_STORE__URL must have the form {url_form}.") from exc
    database = url.database or ""
    is_port = url.port is None or 0 < url.port <= _MAX_PORT
    if url.drivername not in {DRIVER, "mysql"} or not url.host or not is_port:
        raise InvalidRequest(f"DAY1_STORE__URL must have the form {url_form}.")
    if "@" in url.host:  # else the end of the password would stand in messages, as the host
        raise InvalidRequest(
            f"DAY1_STORE__URL must have the form {url_form}: write an '@' of the user or the "
            "password as %40."
        )
    unknown_options = sorted(url.query.keys() - _OPTIONS)
    if unknown_options:
        raise InvalidRequest(
            f"DAY1_STORE__URL takes no option {unknown_options[0]!r} behind the '?': the options "
            f"are {', '.join(_OPTIONS)}.",
            unknown=unknown_options,
        )
    name_characters = database.replace("_", "").replace("-", "")
    if not (name_characters.isascii() and name_characters.isalnum() and len(database) <= _MAX_NAME):
        raise InvalidRequest(
            f"DAY1_STORE__URL ends with the name of a database: at most {_MAX_NAME} ASCII letters, "
            f"digits, '_' and '-', without a branch. Its form is {url_form}."
        )
    if database.lower() in _OF_SERVERS:
        raise InvalidRequest(
            f"DAY1_STORE__URL names {database!r}, which is the server's own: name a database of "
            "day1's own."
        )
    if url.query:
        _check_files(url)
    server_url = URL.create(DRIVER, url.username, url.password, url.host, url.port, query=url.query)
    return ServerUrl(server_url, database)


def _check_files(url: URL) -> None:
    """Check the files that TLS needs, once: the driver would not say which of them is wrong."""
    option_by_name = {name: str(value) for name, value in url.query.items()}
    try:
        tls_context = ssl.create_default_context(
            cafile=option_by_name.get("ssl_ca"), capath=option_by_name.get("ssl_capath")
        )
        if "ssl_cert" in option_by_name:
            tls_context.load_cert_chain(option_by_name["ssl_cert"], option_by_name.get("ssl_key"))
    except OSError as exc:
        raise InvalidRequest(
            "DAY1_STORE__URL: a file of ssl_ca, ssl_cert or ssl_key is not there, cannot be read, "
            "or holds something else."
        ) from exc


_OPTIONS = ("ssl_ca", "ssl_capath", "ssl_cert", "ssl_check_hostname", "ssl_cipher", "ssl_key")
"""Accepted TLS options of an address. Others are refused: the driver would ignore them."""
_OF_SERVERS = frozenset(
    {
        *("information_schema", "mysql", "performance_schema", "sys"),
        *("mo_catalog", "mo_debug", "mo_task", "system", "system_metrics"),
    }
)
"""System databases of Dolt and MatrixOne, in which no store may be."""
_MAX_NAME = 40
"""Characters of a database's name: the ledger's, and MatrixOne's of branches, are longer."""


def connect(place: ServerUrl, wait_s: float = 10.0, max_connections: int = 64) -> Engine:
    """Make a pool of connections to a server; their users switch them to a database or branch.

    Transactions must be begun and ended by statements: a Dolt server ignores the driver's own
    rollback, which would keep the row. If all `max_connections` connections are in use, a caller
    waits `wait_s` seconds for one.

    Raises:
        InvalidRequest: the driver is not installed.
    """
    try:
        engine = create_engine(
            place.url.update_query_dict({"client_flag": str(MULTI_STATEMENTS)}),
            poolclass=QueuePool,
            pool_size=min(_KEPT, max_connections),
            max_overflow=max(0, max_connections - _KEPT),
            pool_timeout=wait_s,
            pool_use_lifo=True,
            pool_reset_on_return=None,
            isolation_level="AUTOCOMMIT",
            # `opened` rolls back what was begun; in all other cases there is nothing to roll back.
            skip_autocommit_rollback=True,
            hide_parameters=True,
            connect_args={
                # From the first: MatrixOne then says that it is on, while the driver's 0 is.
                "autocommit": True,
                "charset": "utf8mb4",
                # The driver would encode a text as latin-1, and servers compare UTF-8.
                "password": (place.url.password or "").encode(),
                "cursorclass": cursor_class(),
                # The driver reads the server's greeting with the time limit of answers.
                "connect_timeout": LET_IN_S,
                "read_timeout": LET_IN_S,
                "write_timeout": LET_IN_S,
            },
        )
    except ModuleNotFoundError as exc:
        raise InvalidRequest(
            "A store on a server needs the package pymysql: `pip install 'day1[servers]'`."
        ) from exc
    event.listen(engine, "do_connect", _let_in)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "checkin", _rests)
    event.listen(engine, "checkout", _check_alive)
    return engine


def _let_in(dialect: Any, _record: object, given: Any, named: Any) -> Any:
    """Connect. A connection lost during the handshake was never open, so a retry is safe.

    The same holds where something else than such a server greets, as at a wrong port: the driver
    then raises errors without a number, also those of Python.
    """
    driver = dialect.loaded_dbapi
    try:
        connection = dialect.connect(*given, **named)
    except (driver.Error, struct.error, IndexError) as exc:
        if server_number(exc) not in {None, 0, _LOST}:
            raise
        raise driver.OperationalError(
            _NOT_CONNECTED, f"Can't connect to MySQL server: {exc.args[-1]}"
        ) from exc
    if _MATRIXONE in connection.get_server_info():
        set_collation(dialect, "utf8mb4_bin")
    return connection


def _prepare(raw: Any, _record: object) -> None:
    """Prepare a new connection: limit its answers, and let nothing wait to be sent."""
    _answers_within(raw, ANSWER_S)
    prepare(raw)


def _answers_within(raw: Any, seconds: float) -> None:
    """Limit what the server may take for the next answers; the driver has no public way."""
    raw._read_timeout = raw._write_timeout = seconds


@contextmanager
def patience(connection: Connection, seconds: float) -> Iterator[None]:
    """Allow answers more time during the block, in which the server waits for a lock."""
    driver_connection: Any = connection.connection.driver_connection
    _answers_within(driver_connection, ANSWER_S + seconds)
    try:
        yield
    finally:
        _answers_within(driver_connection, ANSWER_S)


def _rests(raw: Any, record: ConnectionPoolEntry) -> None:
    """Record the time at which a connection was last used; close it if a failure ended it."""
    record.info["rests"] = time.monotonic()
    if raw is not None and raw.is_ended:
        record.invalidate()


def _check_alive(raw: Any, record: ConnectionPoolEntry, _lent: object) -> None:
    """Ping a connection that has rested: the server may have been restarted.

    Raises:
        InvalidatePoolError: it was; the pool makes new connections.
        pymysql.Error: it does not answer in time, and would not let anybody in either.
    """
    resting_since = record.info.get("rests")
    if resting_since is None or time.monotonic() - resting_since < _RESTED_S:
        return
    _answers_within(raw, LET_IN_S)
    try:
        raw.ping(reconnect=False)
    except Exception as exc:
        if server_number(exc) is None or isinstance(exc.__context__, TimeoutError):
            raise
        raise InvalidatePoolError from exc
    _answers_within(raw, ANSWER_S)


@contextmanager
def opened(engine: Engine, where: str) -> Iterator[Connection]:
    """Lend a pooled connection, and roll back a transaction that the block leaves open.

    A dead one costs all of the pool.
    """
    with translated(where), engine.connect() as connection:
        try:
            yield connection
        finally:
            roll_back(connection)


def roll_back(connection: Connection) -> None:
    """End a transaction that a connection has open, without its changes."""
    if is_usable(connection):
        forget(connection)
        if is_in_transaction(connection):
            connection.exec_driver_sql("ROLLBACK")


def is_in_transaction(connection: Connection) -> bool:
    """Whether the server said in its last answer that the connection has a transaction open."""
    driver_connection: Any = connection.connection.driver_connection
    return bool(driver_connection.server_status & _IN_TRANSACTION)


def clock(connection: Connection) -> int:
    """Ask the server for its time: microseconds since 1970 UTC."""
    return instant_of(connection.exec_driver_sql("SELECT utc_timestamp(6)").scalar_one())


def instant_of(moment: datetime) -> int:
    """Convert a server's UTC time into microseconds since 1970."""
    since_epoch = moment.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)
    return (since_epoch.days * 86_400 + since_epoch.seconds) * SECOND + since_epoch.microseconds


def make_database(connection: Connection, name: str, where: str) -> None:
    """Make a database if it is missing; a user without that right needs an existing one.

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
            f"The server of {where} has no database {name} that this user may use, and "
            f"this user may not make it: its administrator must run CREATE DATABASE `{name}`, and "
            "the GRANT that docs/servers.md gives for it.",
            database=name,
        ) from exc


def engine_of(engine: Engine, where: str) -> tuple[str, str]:
    """Return a server's engine, `dolt` or `matrixone`, and its version.

    Raises:
        InvalidRequest: it is neither.
        StoreUnavailable, Refused: it does not answer, or does not let this user in.
    """
    with opened(engine, where) as connection:
        version_text = str(connection.exec_driver_sql("SELECT version()").scalar_one())
        mysql_version, separator, matrixone_version = version_text.partition(_MATRIXONE)
        if separator:
            return "matrixone", matrixone_version
        try:
            dolt_version = connection.exec_driver_sql("SELECT dolt_version()").scalar_one()
            _allow_batches(connection)
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            raise InvalidRequest(
                f"The server at {where} is neither Dolt nor MatrixOne (it says "
                f"{mysql_version!r}): day1 needs an engine that keeps versions. docs/servers.md "
                "says which.",
                version=mysql_version,
            ) from exc
    return "dolt", str(dolt_version)


def _allow_batches(connection: Connection) -> None:
    """Let several statements be sent at once, unless the server's administrator forbids it."""
    try:
        connection.exec_driver_sql("SELECT 1; SELECT 2")
    except DBAPIError as exc:
        if exc.connection_invalidated:
            raise
    else:
        allow(connection.engine)
