"""The ledger on a server: its records, processes that write in turns, and locks that are lost."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from day1.adapters.ledger.ledger import SqlLedger
from day1.errors import BranchExists, Day1Error, StoreBusy, StoreUnavailable
from day1.model.branches.branch import Branch
from day1.model.records.intent import Intent
from day1.model.records.merge_record import MergeRecord
from day1.model.records.snapshot import Snapshot
from tests import servers
from tests.adapters.server_ledgers import FORK, MAIN, Forked, opened, processes, said


@pytest.fixture
def ledger(dolt_database: str) -> Iterator[SqlLedger]:
    with opened(dolt_database) as ledger:
        yield ledger


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
        with ledger.transaction():
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


# Writers
WRITE = """
import sys
from day1.model.records.snapshot import Snapshot
from tests.adapters.server_ledgers import FORK, Forked, opened
number = sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
with opened(sys.argv[1], 60) as ledger:
    for turn in range(15):
        ledger.put(Snapshot(f"s{number}-{turn}", None, "b", "c", turn))
        with ledger.open_intent(FORK, Forked(f"i{number}-{turn}"), 1, ("shared", f"b{number}")):
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


def test_an_intent_waits_for_another_and_no_longer_than_its_limit(dolt_database: str) -> None:
    recovered: list[Intent] = []
    with opened(dolt_database) as one, opened(dolt_database, 1.0, recovered.append) as other:
        with one.exclusive():
            with pytest.raises(StoreBusy), other.exclusive():
                pass
            one.put(Intent("i", "fork", {}, 1))
            assert other.recover_orphans() == 0
        assert recovered == []
        assert other.recover_orphans() == 1
        assert [intent.id for intent in recovered] == ["i"]


def test_what_is_read_and_written_together_is_nobody_elses_meanwhile(dolt_database: str) -> None:
    start, failed = threading.Barrier(4), []

    def count() -> None:
        with opened(dolt_database, 60) as ledger:
            start.wait()
            for _ in range(25):
                try:
                    with ledger.transaction():
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


def test_the_last_writes_of_an_intent_that_are_its_own_wait_for_nobody(dolt_database: str) -> None:
    new = Branch("branch_2", "new", "branch_1", "c", 2)
    with opened(dolt_database) as one, opened(dolt_database) as other:
        one.put_branch(MAIN)
        with other.transaction():
            other.put_branch(replace(MAIN, owner="somebody"))
            with one.open_intent(FORK, Forked("i"), 1, ["new"]), one.ending(own=True):
                one.put_branch(new)
        assert one.branches() == [replace(MAIN, owner="somebody"), new]


def test_the_last_writes_of_an_intent_lose_no_change_of_others(dolt_database: str) -> None:
    """They wait for their turn where they are about a record that others may change."""
    with opened(dolt_database) as one, opened(dolt_database) as other:
        one.put_branch(MAIN)
        changed = threading.Thread(target=lambda: set_owner(other))
        with one.open_intent(FORK, Forked("i"), 1, ["main"]), one.ending():
            found = one.branch("main")
            assert found is not None
            changed.start()
            one.put_branch(replace(found, merged_tip="c"))
        changed.join()
        assert one.branches() == [replace(MAIN, merged_tip="c", owner="somebody")]


def set_owner(ledger: SqlLedger) -> None:
    with ledger.transaction():
        branch = ledger.branch("main")
        assert branch is not None
        ledger.put_branch(replace(branch, owner="somebody"))


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
    """End the connection that has the actions' lock, as a network does."""
    locks: Any = ledger._locks
    number = locks._mine.connection.connection.driver_connection.thread_id()
    said(url, f"KILL {number}")


@pytest.mark.parametrize("names", [(), ("a", "b")])
def test_an_intent_whose_lock_was_lost_goes_no_further(
    dolt_url: str, dolt_database: str, names: tuple[str, ...]
) -> None:
    recovered: list[Intent] = []

    def lose(one: SqlLedger, other: SqlLedger) -> None:
        with one.open_intent(FORK, Forked("i"), 1, names):
            cut(dolt_url, one)
            with other.open_intent(FORK, Forked("j"), 2, names[:1]):
                with pytest.raises(StoreUnavailable):
                    one.put(Snapshot("late", None, "b", "c", 1))
                assert [intent.payload["name"] for intent in other.open_intents()] == ["j"]

    with (
        opened(dolt_database) as one,
        opened(dolt_database, recover=recovered.append) as other,
    ):
        with pytest.raises(StoreUnavailable):
            lose(one, other)
        assert [intent.payload["name"] for intent in recovered] == ["i"]
        assert one.records(Snapshot) == []
        assert one.open_intents() == []


def test_a_lock_that_was_lost_before_the_last_write_is_noticed(
    dolt_url: str, dolt_database: str
) -> None:
    def lose(ledger: SqlLedger) -> None:
        with ledger.open_intent(FORK, Forked("i"), 1):
            ledger.put(Snapshot("done", None, "b", "c", 1))
            cut(dolt_url, ledger)

    with opened(dolt_database) as ledger:
        with pytest.raises(StoreUnavailable):
            lose(ledger)
        assert [intent.payload["name"] for intent in ledger.open_intents()] == ["i"]
        assert len(ledger.records(Snapshot)) == 1


def test_a_server_that_is_killed_keeps_what_it_acknowledged(own_dolt: servers.DoltServer) -> None:
    url = f"{own_dolt.url}/store"
    told: list[str] = []
    failed: list[Day1Error] = []

    def write(number: int) -> None:
        with opened(url, recover=lambda _: None) as ledger:
            ready.wait()
            for turn in range(10_000):
                try:
                    with (
                        ledger.open_intent(FORK, Forked(f"i{number}"), 1, [f"b{number}"]),
                        ledger.ending(own=True),
                    ):
                        ledger.put(Snapshot(f"s{number}-{turn}", None, "b", "c", turn))
                except Day1Error as error:
                    failed.append(error)
                    return
                told.append(f"s{number}-{turn}")

    ready = threading.Barrier(4)
    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    recovered: list[Intent] = []
    with opened(url, recover=recovered.append) as ledger:
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
        ledger.recover_orphans()
        assert len(recovered) <= 3
        assert ledger.open_intents() == []
    assert [type(error) for error in failed] == [StoreUnavailable] * 3
    assert all(error.retryable for error in failed)
