"""The stamp of a ledger in a file: swaps of desks leave it, every other write changes it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from day1.adapters.ledger.ledger import FileWatch
from day1.model.records.desk import Desk, desk_id, next_desk
from day1.model.records.session import session_of
from day1.ports.ledger import Ledger
from tests.flows.opened_store import opened

KEY = ("branch_1", "compose", "s1")
Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def ledgers(tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    """Open one ledger twice, as two processes do."""
    with ExitStack() as stack:
        stores = [stack.enter_context(opened(tmp_path, create=new)) for new in (True, False)]
        yield stores[0].repo.ledger, stores[1].repo.ledger


def write_desk(ledger: Ledger, value: str) -> None:
    desk = ledger.record(Desk, desk_id(*KEY))
    assert ledger.swap(desk, next_desk(desk, KEY, value, 5))


def write_session(ledger: Ledger, name: str) -> None:
    ledger.put(session_of("branch_1", (name, None, None), 5, None))


def test_a_swapped_desk_leaves_the_stamp_of_its_own_process_only(
    ledgers: tuple[Ledger, Ledger],
) -> None:
    ledger, other = ledgers
    stamp, others_stamp = ledger.stamp(), other.stamp()
    for value in ("1", "2", "3"):
        write_desk(ledger, value)
        assert ledger.stamp() == stamp
    assert other.stamp() != others_stamp
    write_desk(other, "4")
    assert ledger.stamp() != stamp


@pytest.mark.parametrize("first", [True, False])
def test_what_else_its_transaction_writes_changes_the_stamp(
    ledgers: tuple[Ledger, Ledger], first: bool
) -> None:
    ledger, _ = ledgers
    stamp = ledger.stamp()
    with ledger.transaction():
        if first:
            write_session(ledger, "ada")
        write_desk(ledger, "1")
        if not first:
            write_session(ledger, "ada")
    assert ledger.stamp() != stamp


def test_a_transaction_says_nothing_of_the_one_before(ledgers: tuple[Ledger, Ledger]) -> None:
    ledger, _ = ledgers
    write_session(ledger, "ada")
    stamp = ledger.stamp()
    write_desk(ledger, "1")
    assert ledger.stamp() == stamp
    write_session(ledger, "bo")
    assert ledger.stamp() != stamp


@pytest.mark.parametrize("seed", range(20))
def test_no_write_but_an_own_desk_is_ever_passed_over(
    ledgers: tuple[Ledger, Ledger], seed: int
) -> None:
    draw, (ledger, other) = Random(seed), ledgers
    stamp = ledger.stamp()
    for number in range(40):
        is_own, is_desk = draw.random() < 0.7, draw.random() < 0.7
        writer, write = ledger if is_own else other, write_desk if is_desk else write_session
        write(writer, str(number))
        if draw.random() < 0.5:
            assert (ledger.stamp() == stamp) == (is_own and is_desk)
            stamp = ledger.stamp()
        elif not (is_own and is_desk):
            assert ledger.stamp() != stamp
            stamp = ledger.stamp()


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """Make a database in WAL mode; return a function that opens it."""
    connect = partial(sqlite3.connect, tmp_path / "a.db", isolation_level=None)
    with closing(connect()) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE t (n)")
    return connect


def test_a_commit_right_after_the_overlooked_one_is_not_passed_over(
    connect: Connect, tmp_path: Path
) -> None:
    watch = FileWatch(tmp_path / "a.db", connect)
    with closing(watch), closing(connect()) as writer, closing(connect()) as other:
        for follows in (False, True, False):
            version = watch.version()
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("INSERT INTO t VALUES (1)")
            with watch.overlooking(writer):
                writer.execute("COMMIT")
                if follows:
                    other.execute("INSERT INTO t VALUES (2)")
            assert (watch.version() == version) is not follows


def test_a_file_that_is_replaced_meanwhile_is_not_passed_over(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "a.db"
    watch = FileWatch(file, connect)
    with closing(watch), closing(connect()) as writer:
        version = watch.version()
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO t VALUES (1)")
        with watch.overlooking(writer):
            writer.execute("COMMIT")
            with closing(connect()) as other, closing(sqlite3.connect(tmp_path / "b.db")) as copy:
                other.backup(copy)
            for end in ("-wal", "-shm"):
                (tmp_path / f"a.db{end}").unlink(missing_ok=True)
            (tmp_path / "b.db").rename(file)
        assert watch.version() != version


def test_a_failed_commit_leaves_the_version(connect: Connect, tmp_path: Path) -> None:
    watch = FileWatch(tmp_path / "a.db", connect)
    with closing(watch), closing(connect()) as writer, closing(connect()) as other:
        version = watch.version()
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match="full"), watch.overlooking(writer):
            raise OSError("full")
        writer.execute("ROLLBACK")
        assert watch.version() == version
        other.execute("INSERT INTO t VALUES (2)")
        assert watch.version() != version
