"""Statements that are sent together with the next one: what is answered, and what a failure leaves.

The first half asks the driver's cursor over a connection that notes what is sent. The second half
asks a real Dolt server, which runs the statements behind one that failed.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from day1.adapters.mysql.batch import cursor_class, early_failure, is_allowed, send_with_next
from day1.adapters.mysql.lock import commit_and_release, locked
from day1.adapters.mysql.url import connect, engine_of, opened, parse
from day1.app.open import open_store
from day1.errors import StoreBusy, UnknownBranch
from day1.model.rows.change import Ref
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from tests.adapters.test_dolt_store import Opened, add, ids, open_it
from tests.fakes.sql_wire import Wire
from tests.flows.opened_store import call
from tests.servers import DoltServer, has_dolt, skip

pymysql = pytest.importorskip("pymysql")
AWKWARD = 'it\'s 100 %s; \\ "quoted" `x` -- \0 ä \U0001f600;'
__all__ = ["open_it"]


class Answering:
    """The driver's connection: notes each packet, and answers it by the given results in order."""

    encoding = "utf8"

    def __init__(self, *results: object) -> None:
        self.packets: list[bytes] = []
        self.unsent: list[str] = []
        self.is_ended = False
        self._left = list(results)
        self._result: Any = None

    def escape(self, value: object) -> str:
        return "'" + str(value).replace("'", "\\'") + "'"

    def query(self, packet: str | bytes) -> None:
        self.packets.append(packet if isinstance(packet, bytes) else packet.encode())
        self.next_result()

    def next_result(self, unbuffered: bool = False) -> None:
        result = self._left.pop(0)
        if isinstance(result, Exception):
            raise result
        self._result = SimpleNamespace(
            affected_rows=1, description=None, rows=result, insert_id=0, warning_count=0,
            has_next=bool(self._left),
        )  # fmt: skip


def cursor(connection: Answering) -> Any:
    return cursor_class()(connection)


def test_what_waits_is_sent_before_the_next_statement_whose_rows_are_read() -> None:
    connection = Answering([], [("one",)], [("two",)])
    connection.unsent += ["USE `a`", "START TRANSACTION"]
    asked = cursor(connection)
    asked.execute("SELECT %s", ("it's",))
    assert connection.packets == [b"USE `a`; START TRANSACTION; SELECT 'it\\'s'"]
    assert asked.fetchall() == [("two",)]
    assert connection.unsent == []


def test_without_what_waits_a_statement_is_sent_as_it_is() -> None:
    connection = Answering([("one",)])
    asked = cursor(connection)
    asked.execute("SELECT 1")
    assert connection.packets == [b"SELECT 1"]
    assert asked.fetchall() == [("one",)]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_of_what_waited_ends_the_connection(failing: int) -> None:
    refused = pymysql.err.OperationalError(1049, "no such database")
    connection = Answering(*[[]] * failing, refused, [], [])
    connection.unsent += ["USE `a`", "START TRANSACTION"]
    with pytest.raises(pymysql.err.OperationalError) as caught:
        cursor(connection).execute("SELECT 1")
    assert connection.is_ended
    failed = DBAPIError("SELECT 1", None, caught.value)
    assert early_failure(failed) == ["USE `a`", "START TRANSACTION"][failing]


def test_a_failure_of_the_last_statement_does_not_end_the_connection() -> None:
    connection = Answering([], pymysql.err.ProgrammingError(1064, "syntax"))
    connection.unsent.append("START TRANSACTION")
    with pytest.raises(pymysql.err.ProgrammingError) as caught:
        cursor(connection).execute("SELEKT 1")
    assert not connection.is_ended
    assert early_failure(DBAPIError("SELEKT 1", None, caught.value)) == ""


@contextmanager
def connected(url: str) -> Iterator[tuple[Engine, str]]:
    """Connections to a server whose engine was asked for, and the name of a database there."""
    place = parse(url)
    with closing(_Disposed(connect(place))) as held:
        engine_of(held.engine, place.name)
        yield held.engine, place.database


class _Disposed:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def table(engine: Engine, database: str) -> Iterator[Connection]:
    """A connection to a database of its own with an empty table."""
    with opened(engine, "there") as connection:
        connection.exec_driver_sql(f"CREATE DATABASE IF NOT EXISTS `{database}`")
        connection.exec_driver_sql(f"USE `{database}`")
        connection.exec_driver_sql("CREATE TABLE t (id INT PRIMARY KEY, words TEXT)")
        yield connection


def numbers(engine: Engine, database: str) -> list[int]:
    with opened(engine, "there") as connection:
        query = f"SELECT id FROM `{database}`.t ORDER BY id"
        return list(connection.exec_driver_sql(query).scalars())


def test_several_statements_are_one_round_trip(dolt_database: str) -> None:
    port = parse(dolt_database).url.port
    with Wire(port) as wire, connected(dolt_database.replace(str(port), str(wire.port))) as there:
        engine, database = there
        assert is_allowed(engine)
        with table(engine, database) as connection, wire.counted() as sent:
            send_with_next(connection, "INSERT INTO t VALUES (%s, %s)", (1, AWKWARD))
            send_with_next(connection, "INSERT INTO t VALUES (%s, %s)", (2, "100 %%"))
            found = connection.exec_driver_sql("SELECT words FROM t ORDER BY id").scalars().all()
        assert found == [AWKWARD, "100 %%"]
        assert len(sent) == 1


def test_nothing_of_a_transaction_is_stored_whose_statement_failed(dolt_database: str) -> None:
    with connected(dolt_database) as (engine, database):
        with table(engine, database) as connection:
            send_with_next(connection, "START TRANSACTION")
            for number in (1, 1, 2):
                send_with_next(connection, "INSERT INTO t VALUES (%s, '')", (number,))
            with pytest.raises(DBAPIError) as caught:
                connection.exec_driver_sql("INSERT INTO t VALUES (3, '')")
            assert early_failure(caught.value).startswith("INSERT")
        assert numbers(engine, database) == []


def test_a_lock_that_was_taken_behind_a_failure_is_not_kept(dolt_database: str) -> None:
    with connected(dolt_database) as (engine, _):
        with opened(engine, "there") as connection:
            send_with_next(connection, "USE `nowhere/of/all`")
            with pytest.raises(DBAPIError), locked(connection, ("a lock",), 1):
                pytest.fail("it is not there")
        with opened(engine, "there") as connection, locked(connection, ("a lock",), 5):
            pass


def test_a_commit_frees_the_locks_of_its_block_and_no_others(dolt_database: str) -> None:
    with connected(dolt_database) as (engine, database), table(engine, database) as connection:
        with locked(connection, ("outer",), 1), locked(connection, ("inner",), 1):
            send_with_next(connection, "START TRANSACTION")
            connection.exec_driver_sql("INSERT INTO t VALUES (1, '')")
            commit_and_release(connection, ("inner",))
            assert numbers(engine, database) == [1]
            with opened(engine, "there") as other:
                with locked(other, ("inner",), 1):
                    pass
                with pytest.raises(StoreBusy), locked(other, ("outer",), 0.1):
                    pytest.fail("two have it")
        with opened(engine, "there") as other, locked(other, ("outer",), 1):
            pass


def test_a_branch_that_is_not_there_costs_the_pool_one_connection(open_it: Opened) -> None:
    store = open_it()
    add(store, 1)
    for _ in range(40):  # more than a pool has
        with pytest.raises(UnknownBranch, match="nowhere"), store.reading(Ref(branch="nowhere")):
            pytest.fail("it is not there")
        with pytest.raises(UnknownBranch), store.adding("nowhere"):
            pytest.fail("it is not there")
    add(store, 2)
    assert ids(store, Ref(branch="main")) == ["fact_1", "fact_2"]


@pytest.fixture
def single_dolt(tmp_path: Any) -> Iterator[DoltServer]:
    """A server whose administrator allows one statement at a time."""
    if not has_dolt():
        skip("no `dolt` program on the PATH")
    (tmp_path / "single").mkdir()
    server = DoltServer(tmp_path / "single", behavior="disable_client_multi_statements: true")
    server.up()
    yield server
    server.stop()


def test_a_server_that_forbids_several_statements_gets_one_at_a_time(
    single_dolt: DoltServer, tmp_path: Any
) -> None:
    url = f"{single_dolt.url}/memory"
    with Wire(single_dolt.port) as wire:
        through = url.replace(str(single_dolt.port), str(wire.port))
        with connected(through) as (engine, _):
            assert not is_allowed(engine)
        settings = Settings(
            home=tmp_path / "node",
            store=StoreSettings(url=SecretStr(through)),
            embedder=EmbedderSettings(kind="none"),
            search=SearchSettings(chroma=False),
        )
        with closing(open_store(settings, create=True)) as store:
            call(store, "memory_write_fact", fact_text=AWKWARD.replace("\0", ""))
            call(store, "memory_branch_create", branch_name="side")
            call(store, "memory_write_fact", fact_text="On the side.", branch="side")
            both = {"source_branch": "side", "target_branch": "main", "strategy": "auto"}
            assert call(store, "memory_branch_merge", **both)["merged_count"] == 1
            nowhere = store.repo.store.reading(Ref(branch="nowhere"))
            with pytest.raises(UnknownBranch, match="nowhere"), nowhere:
                pytest.fail("it is not there")
        several = [said for said in wire.commands if said.startswith("USE") and ";" in said]
        assert several == []
