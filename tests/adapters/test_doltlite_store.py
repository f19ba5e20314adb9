"""The embedded store below its services: what a commit may hold, and when pending rows are committed."""

import time
from contextlib import closing

import pytest
from sqlalchemy import text

from day1.adapters.versioned.doltlite import connections, dialect
from day1.adapters.versioned.doltlite.dbapi import driver
from day1.adapters.versioned.doltlite.dialect import DoltLiteDialect
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.adapters.versioned.store import MOST_PENDING_AGE, MOST_PENDING_ROWS
from day1.errors import (
    Conflict,
    IntegrityBroken,
    NotAStore,
    StoreBusy,
    StoreVersionUnknown,
    UnknownBranch,
)
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from tests.suites.memory import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    DoltLiteStore.create(tmp_path, lambda: 1)
    store = DoltLiteStore(tmp_path, clock)
    yield store
    store.close()


def fact(number, now, agent="ada"):
    return fact_row(f"fact_{number:04}", NewFact(f"fact {number}"), Origin(agent), now)


def add(store, *numbers, agent="ada"):
    with store.adding("main") as work:
        work.add(FACT, [fact(number, work.now, agent) for number in numbers])


def ids(store):
    with store.reading(Ref(branch="main")) as reading:
        return [str(row[0]) for row in reading.scan(FACT, ("id",), Query())]


def commits(store):
    return list(store.history.log("main"))


def pending(store):
    with store.reading(Ref(branch="main")) as reading:
        return reading.pending


def test_rows_are_read_with_the_columns_that_are_named(store):
    add(store, 1, 2)
    times = ("id", "created_at", "happened_at")
    with store.reading(Ref(branch="main")) as reading:
        rows = reading.find(FACT, Query(), times)
        by_id = reading.get(FACT, ["fact_0001", "fact_0003"], ("fact_text",))
        whole = reading.find(FACT, Query())
    assert [tuple(row) for row in rows] == [times, times]
    assert [row["id"] for row in rows] == ["fact_0001", "fact_0002"]
    assert by_id == {"fact_0001": {"id": "fact_0001", "fact_text": "fact 1"}}
    assert [tuple(row) for row in whole] == [FACT.columns, FACT.columns]


def change_with_an_intruder(store):
    with store.changing("main") as work:
        work.change(FACT, "fact_0001", {"category": "mine"})
        row = fact(2, work.now)
        statement = f"INSERT INTO facts ({', '.join(row)}) VALUES (:{', :'.join(row)})"
        work.connection.execute(text(statement), row)
        work.commit(Message("change", "mine"))


def test_rows_of_another_unit_do_not_slip_into_a_commit(store):
    add(store, 1)
    before = commits(store)
    with pytest.raises(IntegrityBroken) as broken:
        change_with_an_intruder(store)
    assert broken.value.details["ids"] == ["fact_0002"]
    assert ids(store) == ["fact_0001"]
    assert [commit.op for commit in commits(store)] == ["add", *(c.op for c in before)]


def test_a_commit_of_pending_rows_takes_additions_only(store):
    add(store, 1)
    store.commit_pending("main")
    with store.adding("main") as work:
        work.add(FACT, [fact(2, work.now)])
        work.connection.execute(text("UPDATE facts SET category = 'x' WHERE id = 'fact_0001'"))
    tip = commits(store)[0].id
    with pytest.raises(IntegrityBroken) as broken:
        store.commit_pending("main")
    assert broken.value.details["ids"] == ["fact_0001"]
    assert commits(store)[0].id == tip


def test_pending_rows_are_committed_when_they_are_many(store):
    add(store, *range(MOST_PENDING_ROWS - 1))
    store.commit_pending_if_due("main")
    assert pending(store).count == MOST_PENDING_ROWS - 1
    add(store, MOST_PENDING_ROWS)
    store.commit_pending_if_due("main")
    assert pending(store).count == 0
    assert commits(store)[0].meta["counts"] == {"facts": MOST_PENDING_ROWS}


def test_the_tips_of_a_few_branches_are_remembered(store, monkeypatch):
    monkeypatch.setattr("day1.adapters.versioned.store._MOST_TIPS", 2)
    add(store, 1)
    store.commit_pending("main")
    names = ["a", "b", "c", "d"]
    for name in names:
        store.history.fork(name, commits(store)[0].id)
    for name in ["main", *names]:
        with store.reading(Ref(branch=name)) as reading:
            assert reading.tip == commits(store)[0].id
        assert len(store._tips) <= 2


def test_pending_rows_are_committed_when_the_oldest_is_old(store, clock):
    add(store, 1)
    clock.tick(MOST_PENDING_AGE - 1_000_000)
    add(store, 2)
    assert pending(store).count == 2
    clock.tick(1_000_000)
    add(store, 3)
    assert pending(store).count == 1
    assert commits(store)[0].line == "add 2 rows"
    assert len(ids(store)) == 3


def test_the_tip_of_a_branch_without_pending_rows_waits_for_no_writer(store, tmp_path, clock):
    other = DoltLiteStore(tmp_path, clock, wait_s=0.2)
    add(store, 1)
    tip = store.commit_pending("main")
    with store.adding("main"):
        assert other.commit_pending("main") == tip
    add(store, 2)
    with store.adding("main"), pytest.raises(StoreBusy):  # the row must be committed
        other.commit_pending("main")
    assert other.commit_pending("main") != tip
    other.close()


def test_a_commit_says_who_and_what_and_when(store, clock):
    add(store, 1, agent="ada lovelace")
    first = store.commit_pending("main")
    clock.tick()
    add(store, 2)
    add(store, 3, agent="bob")
    with store.changing("main") as work:
        work.change(FACT, "fact_0001", {"category": "x"})
        made = work.commit(Message("change", "two\nlines", "id_1", {"more": 1}))
    change, both, one, init = commits(store)[:4]  # before it is the engine's own
    assert (one.id, one.op, one.author, one.line) == (first, "add", "ada lovelace", "add 1 row")
    assert (both.author, both.meta["agents"]) == ("day1", ["ada", "bob"])
    assert (change.id, change.op, change.line) == (made, "change", "two lines")
    assert (change.meta["id"], change.meta["more"]) == ("id_1", 1)
    assert (init.op, init.ts) == ("init", 1)
    assert change.ts > both.ts > one.ts > init.ts


def test_some_commits_are_remembered_and_all_are_told(store, monkeypatch):
    monkeypatch.setattr("day1.adapters.versioned.history._MOST_COMMITS", 3)
    made: list[str] = []
    for number in range(8):
        add(store, number)
        made.insert(0, store.commit_pending("main"))
        assert len(store.history._known) <= 3
    log = store.history.log("main")
    told = [next(log).id]
    list(store.history.log("main"))  # another walk, which forgets what the first one has read
    assert [*told, *(commit.id for commit in log)][:8] == made
    assert {*made} <= {commit.id for commit in store.history.graph(made[:1])}


@pytest.mark.parametrize("agent", ["ada", "ada (laptop)", None])
def test_a_commit_just_made_is_known_as_the_engine_tells_it(store, tmp_path, clock, agent):
    add(store, 1, agent=agent)
    made = store.commit_pending("main")
    other = DoltLiteStore(tmp_path, clock)
    assert store.history.commit(made) == other.history.commit(made)
    other.close()


def test_a_commit_reads_the_same_whatever_its_branch_gets(store, tmp_path, clock):
    add(store, 1)
    commit = Ref(commit=store.commit_pending("main"))

    def held():
        with store.reading(commit) as reading:
            return reading.branch, reading.tip, [r for (r,) in reading.scan(FACT, ("id",), Query())]

    before = held()
    assert before == (None, commit.commit, ["fact_0001"])
    add(store, 2)
    assert held() == before
    other = DoltLiteStore(tmp_path, clock)
    other.commit_pending("main")
    other.close()
    assert held() == before


def add_and_fail(store):
    with store.adding("main") as work:
        work.add(FACT, [fact(2, work.now)])
        raise ZeroDivisionError


def test_what_is_left_without_a_commit_leaves_no_trace(store):
    add(store, 1)
    with store.changing("main") as work:
        work.change(FACT, "fact_0001", {"category": "x"})
    with pytest.raises(ZeroDivisionError):
        add_and_fail(store)
    with pytest.raises(Conflict):
        add(store, 3, 1)
    with store.reading(Ref(branch="main")) as reading:
        assert [row["category"] for row in reading.find(FACT, Query())] == [None]


def test_a_reading_is_one_snapshot(store):
    add(store, 1)
    with store.reading(Ref(branch="main")) as reading:
        assert reading.count(FACT) == 1
        add(store, 2)
        assert reading.count(FACT) == 1
        assert (reading.pending.count, len(reading.find(FACT, Query()))) == (1, 1)
    assert len(ids(store)) == 2


def test_a_store_is_made_once_and_only_where_it_is_asked_for(tmp_path, store, clock):
    add(store, 1)
    DoltLiteStore.create(tmp_path, lambda: 2)
    assert ids(store) == ["fact_0001"]
    with pytest.raises(NotAStore):
        DoltLiteStore(tmp_path / "nowhere", clock)
    assert not (tmp_path / "nowhere").exists()


def test_a_store_of_a_newer_schema_is_refused(tmp_path, store, clock):
    store.close()
    connection = driver.connect(tmp_path / "memory.db")
    connection.execute("INSERT INTO schema VALUES (99, 1)")
    connection.execute("SELECT dolt_commit('-A', '-m', 'later')")
    connection.close()
    with pytest.raises(StoreVersionUnknown, match="newer day1"):
        DoltLiteStore(tmp_path, clock)


def test_a_unit_that_adds_can_do_nothing_else(store):
    """A4: a row that it changed was missed by the next fork and blocked every later commit."""
    add(store, 1)
    with store.adding("main") as work:
        assert not {"change", "apply", "merge", "commit", "not_before"} & set(dir(work))


def a_side_branch(store):
    """A branch whose one change is committed; gives the merge base and its tip."""
    add(store, 1)
    base = store.commit_pending("main")
    store.history.fork("side", base)
    with store.changing("side") as work:
        work.change(FACT, "fact_0001", {"category": "theirs"})
        return base, work.commit(Message("change", "theirs"))


def test_two_commits_are_compared_where_the_caller_goes_on_reading(store, monkeypatch):
    """Each connection has a cache of its own, and a comparison may read all of a table into it."""
    base, _ = a_side_branch(store)
    used = []
    compare = DoltLiteDialect.changes

    def noted(self, connection, *asked):
        used.append(connection)
        return compare(self, connection, *asked)

    monkeypatch.setattr(DoltLiteDialect, "changes", noted)
    with (
        store.reading(Ref(branch="side")) as source,
        store.reading(Ref(branch="main")) as target,
    ):
        assert list(target.changes(base, of=source)) == [FACT.table]
        assert used == [target.connection]


def cache_of(store, branch):
    with store.reading(Ref(branch=branch)) as reading:
        (size,) = reading.connection.exec_driver_sql("PRAGMA cache_size").scalars().all()
    return -size // 1024


def test_connections_of_the_branch_that_was_merged_into_last_keep_most(store, monkeypatch):
    """What any other connection may keep is too small for the three states of a merge."""
    monkeypatch.setattr(dialect, "_ROW_KIB", 1_000_000)  # as in a store of many rows
    base, source = a_side_branch(store)
    store.history.fork("other", base)
    assert [cache_of(store, branch) for branch in ("main", "other")] == [16, 16]  # MB
    with store.changing("main") as work:
        work.merge(source, {})
    assert [cache_of(store, branch) for branch in ("main", "other")] == [128, 16]
    with store.changing("other") as work:
        work.merge(source, {})
    assert [cache_of(store, branch) for branch in ("main", "other")] == [16, 128]


def test_a_merge_into_few_rows_keeps_no_more_than_other_calls(store):
    _, source = a_side_branch(store)
    with store.changing("main") as work:
        work.merge(source, {})
    assert cache_of(store, "main") == 16


def test_a_connection_is_opened_anew_after_a_while(store, monkeypatch):
    def connection():
        with store.reading(Ref(branch="main")) as reading:
            return reading.connection.connection.driver_connection

    first = connection()
    assert connection() is first
    later = time.time() + connections._MOST_AGE_S + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert connection() is not first


def test_a_branch_that_is_made_again_while_it_is_opened_is_opened(tmp_path, store, monkeypatch):
    connect, gone = driver.connect, ["side"]

    def connect_too_early(path, branch=None, **how):
        return connect(path, branch=gone.pop() if branch == "main" and gone else branch, **how)

    monkeypatch.setattr(driver, "connect", connect_too_early)
    with closing(DoltLiteStore(tmp_path, Clock())) as another:
        assert ids(another) == []
        assert not gone
        with pytest.raises(UnknownBranch), another.reading(Ref(branch="side")):
            pass


def test_a_reading_walks_its_past_without_another_connection(store, clock, monkeypatch):
    for number in range(3):
        add(store, number)
        store.commit_pending("main")
    log = commits(store)
    store.history._known.clear()  # as in a process that has read none of them
    add(store, 3)  # a row that no commit holds yet

    def refuse(*_):
        raise AssertionError("another connection was opened")

    with store.adding("main") as work:
        monkeypatch.setattr(store._connections, "fresh", refuse)
        assert list(work.log()) == log
        assert next(work.log()).id == work.tip
    monkeypatch.undo()
    with store.reading(Ref(commit=log[1].id)) as reading:
        assert list(reading.log()) == log[1:]
    with store.reading(Ref(empty=True)) as reading:
        assert list(reading.log()) == []
