"""The ledger on a server: made and brought up by whoever is first, and written in turns."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.server import open_server_ledger
from day1.adapters.ledger.tables import VERSION
from day1.adapters.mysql.url import connect, parse
from day1.errors import (
    BranchExists,
    Day1Error,
    Refused,
    StoreBusy,
    StoreUnavailable,
    StoreVersionUnknown,
)
from day1.model.branches.branch import Branch
from day1.model.records.intent import Intent
from day1.model.records.merge_record import MergeRecord
from day1.model.records.snapshot import Snapshot
from tests import servers

ROOT = Path(__file__).parents[2]
MAIN = Branch("branch_1", "main", None, None, 1)


@contextmanager
def opened(url: str, wait_s: float = 10.0) -> Iterator[SqlLedger]:
    place = parse(url)
    engine = connect(place)
    ledger = open_server_ledger(engine, place, wait_s=wait_s)
    try:
        yield ledger
    finally:
        ledger.close()
        engine.dispose()


@pytest.fixture
def ledger(dolt_database: str) -> Iterator[SqlLedger]:
    with opened(dolt_database) as ledger:
        yield ledger


def said(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as another program does; gives the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    with servers.connection(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows


def never(_: Intent) -> None:
    raise AssertionError("there was nothing to settle")


# Records


def test_records_come_back_as_they_were(ledger: SqlLedger) -> None:
    text = "Ünïcode 🧪 'quoted' \\ %s \n" * 10_000
    branch = Branch("branch_2", "Task/X", "branch_1", "c", 2, text, tags=("a", "ß"), closed=True)
    merge = MergeRecord("m", "s", "t", "c", "b", None, "auto", 1, 2, [{"a": 2**52}], None, 3)
    ledger.put_branch(branch)
    ledger.put(merge)
    assert ledger.branch("task/x") == branch
    assert ledger.records(MergeRecord, source_id="s") == [merge]
    assert ledger.records(MergeRecord, source_id="S") == []


def test_a_name_is_taken_whatever_its_case(ledger: SqlLedger) -> None:
    ledger.put_branch(MAIN)
    with pytest.raises(BranchExists):
        ledger.put_branch(Branch("branch_2", "Main", None, None, 2))
    assert ledger.branches() == [MAIN]


def test_ids_that_look_alike_are_others(ledger: SqlLedger) -> None:
    alike = ["s", "S", "s ", "ß", "ss", "s\u0301"]
    ledger.put(*(Snapshot(one, one, "b", "c", 1) for one in alike))
    assert {snapshot.label for snapshot in ledger.records(Snapshot)} == set(alike)
    for one in alike:
        found = ledger.record(Snapshot, one)
        assert found is not None
        assert found.label == one


def test_puts_that_fail_together_leave_nothing(ledger: SqlLedger, dolt_database: str) -> None:
    def fail() -> None:
        with ledger.together():
            ledger.put(Snapshot("s", None, "b", "c", 1))
            ledger.set_head("cli", "branch_1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (ledger.records(Snapshot), ledger.head("cli")) == ([], None)
    assert said(f"{dolt_database}_ledger", "SELECT * FROM snapshots") == []


def test_whoever_writes_changes_the_stamp_and_who_reads_does_not(
    ledger: SqlLedger, dolt_database: str
) -> None:
    ledger.put_branch(MAIN)
    stamp = ledger.stamp()
    assert ledger.branch("main") == MAIN
    assert ledger.stamp() == stamp
    with opened(dolt_database) as other:
        other.set_head("cli", "branch_1")
    after = ledger.stamp()
    assert after != stamp
    said(f"{dolt_database}_ledger", "UPDATE branches SET owner = 'somebody'")
    assert ledger.stamp() != after
    found = ledger.branch("main")
    assert found is not None
    assert found.owner == "somebody"


# Beginnings

OPEN = """
import sys
from tests.adapters.test_server_ledger import opened
print("ready", flush=True)
sys.stdin.readline()
with opened(sys.argv[1]) as ledger:
    print(len(ledger.branches()), flush=True)
"""


def processes(code: str, url: str, count: int = 4) -> list[subprocess.CompletedProcess[str]]:
    """Run as many processes, which begin together."""
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", code, url, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    for process in begun:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    done = []
    for process in begun:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in begun:
        out, err = process.communicate(timeout=120)
        done.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return done


def test_processes_that_start_at_once_make_one_ledger(dolt_database: str) -> None:
    done = processes(OPEN, dolt_database)
    assert [(p.returncode, p.stdout) for p in done] == [(0, "0\n")] * 4, [p.stderr for p in done]
    rows = said(f"{dolt_database}_ledger", "SELECT version FROM ledger_schema")
    assert rows == [(VERSION,)]


def older(url: str) -> None:
    """Make the ledger one of an earlier day1: without a table and a column, with a branch."""
    with opened(url) as ledger:
        ledger.put_branch(MAIN)
    said(
        f"{url}_ledger",
        "DROP TABLE redactions",
        "ALTER TABLE branches DROP COLUMN protection",
        "ALTER TABLE sessions DROP COLUMN token_id",
        f"UPDATE ledger_schema SET version = {VERSION - 1}",
    )


def test_processes_that_start_at_once_bring_an_older_ledger_up(dolt_database: str) -> None:
    older(dolt_database)
    done = processes(OPEN, dolt_database)
    assert [(p.returncode, p.stdout) for p in done] == [(0, "1\n")] * 4, [p.stderr for p in done]
    with opened(dolt_database) as ledger:
        assert ledger.branch("main") == MAIN
        protected = Branch("branch_2", "held", None, None, 2, protection=("review",))
        ledger.put_branch(protected)
        assert ledger.branch("held") == protected
    rows = said(f"{dolt_database}_ledger", "SELECT version FROM ledger_schema ORDER BY version")
    assert rows == [(VERSION - 1,), (VERSION,)]


def test_one_who_was_cut_off_half_way_is_followed(dolt_database: str) -> None:
    said(
        servers.dolt_url(),
        f"CREATE DATABASE {parse(dolt_database).database}_ledger",
        f"USE {parse(dolt_database).database}_ledger",
        "CREATE TABLE heads (`key` varchar(255) PRIMARY KEY, branch_id varchar(255) NOT NULL)",
    )
    with opened(dolt_database) as ledger:
        ledger.set_head("cli", "branch_1")
        assert ledger.head("cli") == "branch_1"


def test_a_later_ledger_is_refused_and_left_as_it_is(dolt_database: str) -> None:
    """F9: a ledger of a later day1 was opened."""
    with opened(dolt_database):
        pass
    url = f"{dolt_database}_ledger"
    said(url, f"INSERT INTO ledger_schema VALUES ({VERSION + 1})", "DROP TABLE sign_ins")
    with pytest.raises(StoreVersionUnknown, match="install a newer day1"), opened(dolt_database):
        pass
    assert ("sign_ins",) not in said(url, "SHOW TABLES")


@pytest.fixture
def user(dolt_url: str, dolt_database: str) -> Iterator[Callable[..., str]]:
    """Make a user who has been given these databases; gives the store's URL as it sees it."""
    place, name = parse(dolt_database), f"u_{parse(dolt_database).database}"

    def make(*databases: str, what: str = "ALL PRIVILEGES") -> str:
        said(dolt_url, f"CREATE USER '{name}'@'%' IDENTIFIED BY 'secret'")
        for database in databases:
            said(dolt_url, f"GRANT {what} ON `{database}`.* TO '{name}'@'%'")
        seen = place.url.set(username=name, password="secret", database=place.database)
        return seen.render_as_string(hide_password=False)

    yield make
    said(dolt_url, f"DROP USER IF EXISTS '{name}'@'%'")


def test_without_the_right_to_make_it_the_message_names_the_grant(
    user: Callable[..., str], dolt_database: str
) -> None:
    name = f"{parse(dolt_database).database}_ledger"
    with pytest.raises(Refused) as caught, opened(user(parse(dolt_database).database)):
        pass
    assert f"CREATE DATABASE `{name}`" in str(caught.value)
    assert "docs/servers.md" in str(caught.value)
    assert "GRANT ALL" not in str(caught.value), "F9: that is more than the document gives"


def test_a_wrong_password_is_no_reason_to_try_again(
    user: Callable[..., str], dolt_database: str
) -> None:
    url = user(parse(dolt_database).database).replace("secret", "wrong")
    with pytest.raises(Refused, match="DAY1_STORE__URL") as caught, opened(url):
        pass
    assert "wrong" not in str(caught.value.body())


# Writers

WRITE = """
import sys
from day1.model.records.intent import Intent
from day1.model.records.snapshot import Snapshot
from tests.adapters.test_server_ledger import opened, never
number = sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
with opened(sys.argv[1], 60) as ledger:
    for turn in range(15):
        ledger.put(Snapshot(f"s{number}-{turn}", None, "b", "c", turn))
        with ledger.open_intent(Intent(f"i{number}-{turn}", "fork", {}, 1), never):
            count = int(ledger.head("count") or 0)
            ledger.set_head("count", str(count + 1))
"""


def test_processes_that_write_lose_nothing(dolt_database: str) -> None:
    done = processes(WRITE, dolt_database)
    assert [p.returncode for p in done] == [0] * 4, [p.stderr for p in done]
    with opened(dolt_database) as ledger:
        assert ledger.head("count") == "60"
        assert len(ledger.records(Snapshot)) == 60
        assert ledger.open_intents() == []


def test_a_deed_waits_for_another_and_no_longer_than_its_limit(dolt_database: str) -> None:
    with opened(dolt_database) as one, opened(dolt_database, wait_s=1.0) as other:
        with one.exclusive(never):
            with pytest.raises(StoreBusy), other.exclusive(never):
                pass
            one.put(Intent("i", "fork", {}, 1))
            assert other.recover_orphans(never) == 0
        settled: list[str] = []
        assert other.recover_orphans(lambda intent: settled.append(intent.id)) == 1
        assert settled == ["i"]


def test_what_is_read_and_written_together_is_nobody_elses_meanwhile(dolt_database: str) -> None:
    start, failed = threading.Barrier(4), []

    def count() -> None:
        with opened(dolt_database, 60) as ledger:
            start.wait()
            for _ in range(25):
                try:
                    with ledger.together():
                        ledger.set_head("count", str(int(ledger.head("count") or 0) + 1))
                except Day1Error as error:
                    failed.append(error)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(dolt_database) as ledger:
        assert (ledger.head("count"), failed) == ("100", [])


def test_two_who_take_one_name_are_told_apart(dolt_database: str) -> None:
    start, outcome = threading.Barrier(6), []

    def take(number: int) -> None:
        with opened(dolt_database) as ledger:
            start.wait()
            try:
                ledger.put_branch(Branch(f"branch_{number}", "same", None, None, 1))
                outcome.append("taken")
            except BranchExists:
                outcome.append("refused")

    threads = [threading.Thread(target=take, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome) == ["refused"] * 5 + ["taken"]


# Bad days


def cut(url: str, ledger: SqlLedger) -> None:
    """End the connection that has the deeds' lock, as a network does."""
    deeds: Any = ledger._lock
    number = deeds._mine.connection.connection.driver_connection.thread_id()
    said(url, f"KILL {number}")


def test_a_deed_whose_lock_was_lost_goes_no_further(dolt_url: str, dolt_database: str) -> None:
    settled: list[str] = []

    def lose(one: SqlLedger, other: SqlLedger) -> None:
        with one.open_intent(Intent("i", "fork", {"n": 1}, 1), never):
            cut(dolt_url, one)
            with other.open_intent(
                Intent("j", "fork", {}, 2), lambda intent: settled.append(intent.id)
            ):
                with pytest.raises(StoreUnavailable):
                    one.put(Snapshot("late", None, "b", "c", 1))
                assert [intent.id for intent in other.open_intents()] == ["j"]

    with opened(dolt_database) as one, opened(dolt_database) as other:
        with pytest.raises(StoreUnavailable):
            lose(one, other)
        assert settled == ["i"]
        assert one.records(Snapshot) == []
        assert one.open_intents() == []


def test_a_lock_that_was_lost_before_the_last_write_is_noticed(
    dolt_url: str, dolt_database: str
) -> None:
    def lose(ledger: SqlLedger) -> None:
        with ledger.open_intent(Intent("i", "fork", {}, 1), never):
            ledger.put(Snapshot("done", None, "b", "c", 1))
            cut(dolt_url, ledger)

    with opened(dolt_database) as ledger:
        with pytest.raises(StoreUnavailable):
            lose(ledger)
        assert [intent.id for intent in ledger.open_intents()] == ["i"]
        assert len(ledger.records(Snapshot)) == 1


def test_a_server_that_is_killed_keeps_what_it_acknowledged(own_dolt: servers.DoltServer) -> None:
    url = f"{own_dolt.url}/store"
    told: list[str] = []
    failed: list[Day1Error] = []

    def write(number: int) -> None:
        with opened(url) as ledger:
            ready.wait()
            for turn in range(10_000):
                try:
                    with ledger.open_intent(
                        Intent(f"i{number}-{turn}", "fork", {}, 1), lambda _: None
                    ):
                        ledger.put(Snapshot(f"s{number}-{turn}", None, "b", "c", turn))
                except Day1Error as error:
                    failed.append(error)
                    return
                told.append(f"s{number}-{turn}")

    ready = threading.Barrier(4)
    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    with opened(url) as ledger:
        for thread in threads:
            thread.start()
        ready.wait()
        while len(told) < 20:
            threading.Event().wait(0.01)
        own_dolt.kill()
        for thread in threads:
            thread.join()
        with pytest.raises(StoreUnavailable):
            ledger.branches()
        own_dolt.up()
        found = {snapshot.id for snapshot in ledger.records(Snapshot)}
        assert set(told) <= found
        assert len(found) <= len(told) + 3
        settled: list[str] = []
        ledger.recover_orphans(lambda intent: settled.append(intent.id))
        assert len(settled) <= 3
        assert ledger.open_intents() == []
    assert [type(error) for error in failed] == [StoreUnavailable] * 3
    assert all(error.retryable for error in failed)
