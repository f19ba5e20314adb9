"""What the Dolt adapter does beside the contract: conflicts, refs, times, what it says of itself."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import OperationalError

from day1.adapters.versioned.dolt.store import DoltHistory, DoltStore
from day1.adapters.versioned.history import SqlHistory
from day1.adapters.versioned.store import MOST_PENDING_ROWS
from day1.app.engines import create_store, open_engine
from day1.errors import (
    BranchExists,
    IntegrityBroken,
    InvalidRequest,
    NotFound,
    StoreBusy,
    UnknownBranch,
    Unsupported,
)
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.ports.additions import Additions
from day1.services.rows.recording import NewFact, fact_row
from day1.settings import Settings, StoreSettings
from tests.adapters.server_ledgers import said
from tests.suites.memory import Clock

Opened = Callable[..., DoltStore]


@pytest.fixture
def open_it(documented_dolt: str, tmp_path: Path) -> Iterator[Opened]:
    """Opens the store once more, as another day1 would."""
    with ExitStack() as opened:

        def open_one(wait_s: float = 10.0) -> DoltStore:
            settings = Settings(store=StoreSettings(url=SecretStr(documented_dolt), wait_s=wait_s))
            create_store(settings, tmp_path, Clock())
            store = open_engine(settings, tmp_path, Clock(), opened).store
            assert isinstance(store, DoltStore)
            return store

        yield open_one


def add(store: DoltStore, number: int, branch: str = "main") -> int:
    with store.adding(branch) as work:
        row = fact_row(f"fact_{number}", NewFact(f"fact {number}"), Origin(), work.now)
        work.add(FACT, [row])
        return work.now


def ids(store: DoltStore, ref: Ref) -> list[str]:
    with store.reading(ref) as reading:
        return sorted(str(row["id"]) for row in reading.find(FACT, Query()))


def test_a_branch_has_one_writer_and_another_branch_another(open_it: Opened) -> None:
    one, other = open_it(), open_it(wait_s=0.2)
    one.history.fork("side", one.commit_pending("main"))
    with one.adding("main"):
        with pytest.raises(StoreBusy, match="try again"), other.adding("main"):
            pass
        add(other, 1, "side")
    add(other, 2)
    assert ids(one, Ref(branch="side")) == ["fact_1"]
    assert ids(one, Ref(branch="main")) == ["fact_2"]


def test_the_tip_of_a_branch_without_pending_rows_waits_for_no_writer(open_it: Opened) -> None:
    one, other = open_it(), open_it(wait_s=0.2)
    add(one, 1)
    tip = one.commit_pending("main")
    with one.adding("main"):
        assert other.commit_pending("main") == tip
    add(one, 2)
    with one.adding("main"), pytest.raises(StoreBusy):  # the row must be committed
        other.commit_pending("main")
    assert other.commit_pending("main") != tip


def fail(unit: AbstractContextManager[Additions]) -> None:
    with unit as work:
        work.add(FACT, [fact_row("fact_1", NewFact("one"), Origin(), work.now)])
        raise RuntimeError


def test_a_unit_that_fails_leaves_nothing_and_frees_the_branch(open_it: Opened) -> None:
    store = open_it()
    for unit in (store.adding, store.changing):
        with pytest.raises(RuntimeError):
            fail(unit("main"))
    assert ids(store, Ref(branch="main")) == []
    add(store, 1)
    assert store.history.dirty_branches() == {"main"}


def test_times_grow_whoever_writes(open_it: Opened) -> None:
    stores = [open_it(), open_it()]
    times: list[int] = []
    guard = threading.Lock()

    def work(store: DoltStore, first: int) -> None:
        for number in range(first, first + 10):
            at = add(store, number)
            with guard:
                times.append(at)

    threads = [threading.Thread(target=work, args=(stores[n % 2], n * 10)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(times)) == 40
    for at in sorted(times)[::7]:
        seen = ids(stores[0], Ref(branch="main", until=at))
        assert len(seen) == sum(t <= at for t in times)


def test_many_pending_rows_are_committed(open_it: Opened) -> None:
    store = open_it()
    with store.adding("main") as work:
        work.add(
            FACT,
            [
                fact_row(f"fact_{n}", NewFact(str(n)), Origin(), work.now + n)
                for n in range(MOST_PENDING_ROWS)
            ],
        )
    with store.reading(Ref(branch="main")) as reading:
        assert reading.pending.count == MOST_PENDING_ROWS
    store.commit_pending_if_due("main")
    with store.reading(Ref(branch="main")) as reading:
        assert reading.pending.count == 0
    assert [commit.op for commit in store.history.log("main")][:2] == ["add", "init"]


def test_a_commit_of_another_program_that_is_dated_earlier_than_its_rows_stops_nobody(
    open_it: Opened, documented_dolt: str
) -> None:
    """Its rows counted as pending for ever, and were none of those that the engine had to commit."""
    store = open_it()
    add(store, 1)
    said(documented_dolt, "CALL DOLT_COMMIT('-A', '-m', 'by hand', '--date', '2020-01-01')")
    add(store, 2)
    tip = store.commit_pending("main")
    assert store.commit_pending("main") == tip
    lines = ["add 1 row", "by hand", "init"]
    assert [commit.line for commit in store.history.log("main")][:3] == lines
    said(documented_dolt, "CALL DOLT_COMMIT('--amend', '-m', 'again', '--date', '2020-01-01')")
    store.commit_pending("main")
    lines = ["add 0 rows", "again", "by hand"]
    assert [commit.line for commit in store.history.log("main")][:3] == lines
    assert ids(store, Ref(branch="main")) == ["fact_1", "fact_2"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE facts SET category = 'theirs'",
        "CALL DOLT_COMMIT('--allow-empty', '-m', 'beside', '--date', '2100-01-01')",
    ],
)
def test_what_no_commit_may_have_is_found_and_can_be_kept(
    open_it: Opened, documented_dolt: str, statement: str
) -> None:
    """The refusal sends to `day1 doctor`, which found nothing."""
    store = open_it()
    add(store, 1)
    store.commit_pending("main")
    add(store, 2)
    assert store.check() == []
    said(documented_dolt, statement)
    add(store, 3)
    with pytest.raises(IntegrityBroken, match="doctor"):
        store.commit_pending("main")
    (problem,) = store.check()
    said(documented_dolt, *problem.partition("keep the rows with ")[2].split("; "))
    store.commit_pending("main")
    assert store.check() == []
    assert ids(store, Ref(branch="main")) == ["fact_1", "fact_2", "fact_3"]


def test_the_stamp_changes_with_each_unit(open_it: Opened) -> None:
    store, other = open_it(), open_it()
    seen = [store.stamp()]
    assert store.stamp() == seen[0]
    add(other, 1)
    seen.append(store.stamp())
    add(other, 2)
    seen.append(store.stamp())
    other.commit_pending("main")
    seen.append(store.stamp())
    with other.changing("main") as work:
        work.apply({"facts": {"fact_1": None}})
        work.commit(Message("remove", "remove a fact"))
    seen.append(store.stamp())
    assert len(set(seen)) == len(seen)


def test_one_statement_reads_the_states_that_each_branch_has(open_it: Opened) -> None:
    store, other = open_it(), open_it()
    first = other.commit_pending("main")
    for name in ("clean", "many", "one"):
        other.history.fork(name, first)
    for number in range(3):
        add(other, number, "many")
    add(other, 3, "one")
    add(other, 4)
    other.commit_pending("main")
    add(other, 5)
    states = store.history.states()
    assert {name: state.pending.count for name, state in states.items()} == {
        "clean": 0,
        "main": 1,
        "many": 3,
        "one": 1,
    }
    assert states == SqlHistory.states(store.history)
    assert states == store.history.states(store.stamp())


def test_an_unknown_past_is_read_by_few_statements(open_it: Opened) -> None:
    """Each statement is a round trip: a process that starts knows no commit."""
    store = open_it()
    for number in range(40):
        add(store, number)
        store.commit_pending("main")
    past = [commit.id for commit in store.history.log("main")]
    statements: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    other = open_it()
    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert [commit.id for commit in other.history.log(past[0])] == past
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len([one for one in statements if "DOLT_LOG" in one]) <= 4


def test_a_dirty_branch_without_tables_hides_the_states_of_no_other(open_it: Opened) -> None:
    store = open_it()
    add(store, 1)
    with store._connections.on_branch("main") as connection:
        log = connection.exec_driver_sql("SELECT commit_hash FROM dolt_log").scalars().all()
    store.history.fork("bare", str(log[-1]))
    with store._connections.on_branch("bare") as connection:
        connection.exec_driver_sql("CREATE TABLE theirs (id INT PRIMARY KEY)")
    states = store.history.states()
    assert states["main"].pending.count == 1
    assert states["bare"].pending.count == 0


def test_a_snapshot_is_one_and_ends_with_the_reading(open_it: Opened) -> None:
    store, other = open_it(), open_it()
    add(store, 1)
    with store.reading(Ref(branch="main")) as reading:
        add(other, 2)
        other.history.fork("side", other.commit_pending("main"))
        assert len(reading.find(FACT, Query())) == reading.pending.count == 1
    assert set(store.history.branches()) == {"main", "side"}


def test_an_absent_branch_or_commit_is_refused_by_its_own_code(open_it: Opened) -> None:
    """F1: a user with the documented rights was told to check the password for a wrong branch."""
    store = open_it()
    with pytest.raises(UnknownBranch), store.reading(Ref(branch="nowhere")):
        pass
    with pytest.raises(UnknownBranch), store.adding("nowhere"):
        pass
    with pytest.raises(NotFound), store.reading(Ref(commit="0" * 32)):
        pass
    with pytest.raises(NotFound):
        next(store.history.log("0" * 32))
    with pytest.raises(Unsupported, match="by itself"):
        store.compact()


def test_a_taken_name_is_told(open_it: Opened) -> None:
    store = open_it()
    tip = store.commit_pending("main")
    store.history.fork("side", tip)
    with pytest.raises(BranchExists):
        store.history.fork("side", tip)
    with pytest.raises(BranchExists):
        store.history.fork("Side", tip)


@pytest.mark.parametrize("conflicts", [2, 9])
def test_a_ref_that_conflicted_is_made_again_but_not_for_ever(
    open_it: Opened, monkeypatch: pytest.MonkeyPatch, conflicts: int
) -> None:
    store, left = open_it(), [conflicts]
    say = DoltHistory._call

    def conflicting(self: Any, connection: Connection, statement: str, values: Any) -> None:
        if left[0]:
            left[0] -= 1
            error = pymysql.err.OperationalError(1213, "serialization failure: try restarting")
            raise OperationalError(statement, None, error)
        say(self, connection, statement, values)

    monkeypatch.setattr(DoltHistory, "_call", conflicting)
    if conflicts == 2:
        store.history.fork("side", store.commit_pending("main"))
        assert set(store.history.branches()) == {"main", "side"}
    else:
        with pytest.raises(StoreBusy):
            store.history.fork("side", store.commit_pending("main"))
        assert left[0] == 5


@pytest.mark.parametrize("made", ["here", "elsewhere"])
def test_a_branch_that_an_attempt_made_although_it_failed_is_made(
    open_it: Opened, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """Dolt makes the ref first, and what is not committed there afterwards: the latter may fail."""
    store, failed = open_it(), [False]
    first = store.commit_pending("main")
    add(store, 1)
    start = store.commit_pending("main")
    say = DoltHistory._call

    def failing(self: Any, connection: Connection, statement: str, values: Any) -> None:
        if failed[0]:
            say(self, connection, statement, values)
            return
        failed[0] = True
        say(self, connection, statement, (values[0], start if made == "here" else first))
        error = pymysql.err.OperationalError(1105, "optimistic lock failed on database Root update")
        raise OperationalError(statement, None, error)

    monkeypatch.setattr(DoltHistory, "_call", failing)
    if made == "here":
        store.history.fork("side", start)
        assert store.history.branches()["side"] == start
    else:
        with pytest.raises(BranchExists):
            store.history.fork("side", start)


def test_processes_that_make_the_same_store_at_once_make_one(
    dolt_database: str, tmp_path: Path
) -> None:
    settings = Settings(store=StoreSettings(url=SecretStr(dolt_database)))
    made: list[bool] = []
    barrier = threading.Barrier(4)

    def make() -> None:
        barrier.wait()
        made.append(create_store(settings, tmp_path, Clock()))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False, False, False, True]


@pytest.mark.parametrize(
    "url",
    [
        "mysql+pymysql://host",
        "mysql+pymysql://host:3306/",
        "mysql+pymysql://host:3306/day1/task/x",
        "mysql+pymysql://host:3306/day`1",
        "postgresql://host/day1",
        "sqlite:///day1",
        "nonsense",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(url: str, tmp_path: Path) -> None:
    secret = url.replace("//host", "//me:hush@host")
    settings = Settings(store=StoreSettings(url=SecretStr(secret)))
    with pytest.raises(InvalidRequest, match="mysql\\+pymysql") as caught:
        create_store(settings, tmp_path, Clock())
    assert "hush" not in f"{caught.value} {caught.value.details}"
