"""Statements that are sent together with the next one, so that they need no round trip.

MySQL's protocol calls this multi-statements. A Dolt server that fails at one statement still runs
those behind it, and answers them. So such a failure ends the connection, which frees its locks and
undoes its transaction, and nothing that would do harm then may be sent behind another statement:
no COMMIT behind a write.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ClauseElement

Parameters = Sequence[Any] | Mapping[str, Any]
"""The parameters of a statement, by place or by name."""
MULTI_STATEMENTS = 1 << 16
"""The flag by which a client asks a server to take several statements at once."""
_allowed: WeakSet[Engine] = WeakSet()


def allow(engine: Engine) -> None:
    """Note that the server of an engine takes several statements at once."""
    _allowed.add(engine)


def is_allowed(engine: Engine) -> bool:
    """Whether the server of an engine takes several statements at once."""
    return engine in _allowed


def send_with_next(
    connection: Connection, statement: str | ClauseElement, values: Parameters = ()
) -> None:
    """Send a statement together with the connection's next one; its result is not read.

    If the statement fails, the next one raises its error, and the connection ends. To a server that
    takes one statement at a time it is sent at once.
    """
    if isinstance(statement, str):
        text = statement
    else:
        compiled: Any = statement.compile(dialect=connection.dialect)
        text, values = compiled.string, compiled.construct_params(values)
    if is_allowed(connection.engine):
        raw = _raw(connection)
        with raw.cursor() as cursor:
            raw.unsent.append(cursor.mogrify(text, values))
        return
    try:
        connection.exec_driver_sql(
            text, dict(values) if isinstance(values, Mapping) else tuple(values)
        )
    except DBAPIError as exc:
        exc.orig.early = text  # type: ignore[union-attr]  # read by `early_failure`
        raise


def send(connection: Connection) -> None:
    """Send now what waits for a next statement."""
    if _unsent(connection):
        connection.exec_driver_sql("SELECT 1")


def prepare(raw: Any) -> None:
    """Let nothing wait to be sent on a new connection of the driver."""
    raw.unsent, raw.is_ended = [], False


def forget(connection: Connection) -> None:
    """Forget what waits for a next statement: there will be none."""
    _unsent(connection).clear()


def is_usable(connection: Connection) -> bool:
    """Whether a connection can be asked: neither the server nor a failure has ended it."""
    if connection.invalidated:
        return False
    raw = _raw(connection)
    return bool(raw.open) and not getattr(raw, "is_ended", False)


def early_failure(exc: DBAPIError) -> str:
    """Return the statement that failed if it was to be sent together with a later one, else ""."""
    return getattr(exc.orig, "early", "")


def _unsent(connection: Connection) -> list[str]:
    """Return the statements that wait; none on a connection that was not prepared to send them."""
    unsent: list[str] = getattr(_raw(connection), "unsent", [])
    return unsent


def _raw(connection: Connection) -> Any:
    """Return the driver's connection."""
    return connection.connection.driver_connection


def cursor_class() -> type:
    """Make the class of cursors that send what waits; the driver may not be installed."""
    from pymysql import Error  # noqa: PLC0415 - as said
    from pymysql.cursors import Cursor  # noqa: PLC0415 - as said

    class BatchCursor(Cursor):  # type: ignore[misc]  # the driver has no types
        """A cursor that sends the statements that wait before its own, and keeps its own result."""

        def execute(self, query: Any, args: Any = None) -> int:
            """Run a statement, behind those that wait."""
            raw: Any = self.connection
            earlier = [*getattr(raw, "unsent", ())]  # none while it connects
            if not earlier:
                return int(super().execute(query, args))
            raw.unsent.clear()
            statements = [*earlier, self.mogrify(query, args)]
            answered_count = 0
            try:
                super().execute(b"; ".join(_encoded(text, raw.encoding) for text in statements))
                for _ in earlier:
                    answered_count += 1
                    self.nextset()
            except BaseException as exc:
                if answered_count < len(earlier):
                    raw.is_ended = True  # the answers to later statements are still to come
                    if isinstance(exc, Error):
                        exc.early = earlier[answered_count]
                raise
            return int(self.rowcount)

    return BatchCursor


def _encoded(text: str | bytes, encoding: str) -> bytes:
    """Encode a statement as the driver does."""
    return text.encode(encoding, "surrogateescape") if isinstance(text, str) else text
