"""What a unit of work notes of its writes is what the engine's whole comparison finds."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from day1.adapters.versioned import own_writes
from day1.adapters.versioned.doltlite.dbapi import driver
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.adapters.versioned.own_writes import known
from day1.adapters.versioned.work import SqlWork
from day1.errors import Conflict, IntegrityBroken
from day1.model.redaction.mask import CLEAR
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, Row
from day1.model.rows.origin import Origin
from day1.services.rows.recording import (
    NewFact,
    NewObservation,
    fact_row,
    observation_row,
)
from tests.suites.memory import Clock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DoltLiteStore]:
    DoltLiteStore.create(tmp_path, lambda: 1)
    with closing(DoltLiteStore(tmp_path, Clock())) as made:
        with made.adding("main") as work:
            work.add(FACT, [fact(number, work.now) for number in range(8)])
        made.commit_pending("main")
        yield made


THEIRS = f"fact_{7:026}"


def fact(number: int, now: int, words: str = "as it was") -> Row:
    return fact_row(f"fact_{number:026}", NewFact(f"Number {number} is {words}."), Origin(), now)


def seen(number: int, now: int) -> Row:
    return observation_row(f"obs_{number:026}", NewObservation("insight", "Seen."), Origin(), now)


def write(work: Any, draw: random.Random) -> None:
    number = draw.randrange(8)
    row_id = f"fact_{number:026}"
    match draw.choice(("change", "add", "put", "remove", "same")):
        case "change":
            work.change(FACT, row_id, {"category": draw.choice("abc"), "confidence": 0.5})
        case "add":
            new = draw.randrange(1_000)
            if not work.get(OBSERVATION, [f"obs_{new:026}"]):
                work.add(OBSERVATION, [seen(new, work.now)])
        case "put":
            work.apply({"facts": {row_id: fact(number, 1, draw.choice(("new", "other")))}})
        case "remove":
            work.apply({"facts": {row_id: None}})
        case "same":
            rows = work.get(FACT, [row_id])
            work.apply({"facts": dict(rows)})


@pytest.mark.parametrize("seed", range(40))
def test_it_finds_what_the_engine_finds(store: DoltLiteStore, seed: int) -> None:
    draw = random.Random(seed)
    with store.changing("main") as work:
        for _ in range(draw.randrange(1, 12)):
            write(work, draw)
        assert isinstance(work, SqlWork)
        assert work._own is not None
        found = work._own.changes(CLEAR)
        assert found is not None
        whole = store._dialect.uncommitted(work.connection, CLEAR, {}, work.version)
        assert found == whole


def noted(work: Any) -> bool:
    """Whether a unit knows its own changes, which are then those of the engine."""
    assert isinstance(work, SqlWork)
    assert work._own is not None
    changes = work._own.changes(CLEAR)
    whole = work._dialect.uncommitted(work.connection, CLEAR, {}, work.version)
    assert changes in (None, whole)
    return changes is not None


def test_more_added_rows_than_it_notes_are_compared_as_a_whole(
    store: DoltLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_writes, "_MAX_ADDED", 120)
    with store.changing("main") as work:
        work.add(OBSERVATION, [seen(number, work.now) for number in range(60)])
        work.add(OBSERVATION, [seen(number, work.now) for number in range(60, 120)])
        assert noted(work)
        work.add(OBSERVATION, [seen(120, work.now)])
        assert not noted(work)
        work.commit(Message("change", "many"))
    with store.reading(Ref(branch="main")) as reading:
        assert len(reading.find(OBSERVATION, Query())) == 121


@pytest.mark.parametrize("unit", ["one that added them", "a later one"])
def test_more_changed_rows_than_it_notes_are_compared_as_a_whole(
    store: DoltLiteStore, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    monkeypatch.setattr(own_writes, "_MAX_CHANGED", 2)
    with ExitStack() as units:
        work: Any = units.enter_context(store.changing("main"))
        work.add(OBSERVATION, [seen(number, work.now) for number in range(10)])
        ids = [str(row["id"]) for row in (seen(number, 1) for number in range(3))]
        if unit == "a later one":
            work.commit(Message("change", "add"))
            units.close()
            work = units.enter_context(store.changing("main"))
        for row_id in ids[:2]:
            work.change(OBSERVATION, row_id, {"summary": "other"})
        assert noted(work)
        work.change(OBSERVATION, ids[2], {"summary": "other"})
        assert not noted(work)
        work.commit(Message("change", "three"))


def change_two_with_an_intruder(store: DoltLiteStore, when: str) -> None:
    """Change two facts while another statement writes to a third one."""
    foreign = text(f"UPDATE facts SET category = 'x' WHERE id = '{THEIRS}'")
    with store.changing("main") as work:
        assert isinstance(work, SqlWork)
        if when == "before":
            work.connection.execute(foreign)
        work.change(FACT, f"fact_{1:026}", {"category": "mine"})
        if when == "between":
            work.connection.execute(foreign)
        work.change(FACT, f"fact_{2:026}", {"category": "mine"})
        if when == "after":
            work.connection.execute(foreign)
        work.commit(Message("change", "mine"))


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_a_row_that_somebody_else_wrote_is_found(store: DoltLiteStore, when: str) -> None:
    with pytest.raises(IntegrityBroken) as broken:
        change_two_with_an_intruder(store, when)
    assert broken.value.details["ids"] == [THEIRS]


def write_as_a_peer(tmp_path: Path, category: str | None = "x") -> None:
    """Write to a row by a connection of its own, as another program would."""
    with closing(driver.connect(tmp_path / "memory.db", branch="main")) as peer:
        peer.execute("UPDATE facts SET category = ? WHERE id = ?", (category, THEIRS))


def change_one(store: DoltLiteStore) -> None:
    with store.changing("main") as work:
        work.change(FACT, f"fact_{1:026}", {"category": f"{work.now}"})
        work.commit(Message("change", "mine"))


def add_some(store: DoltLiteStore, start: int, count: int = 2, agent: str = "ada") -> None:
    with store.adding("main") as work:
        work.add(
            OBSERVATION,
            [{**seen(start + n, work.now), "agent_id": agent} for n in range(count)],
        )


def test_a_row_that_a_peer_wrote_between_two_changes_is_found(
    store: DoltLiteStore, tmp_path: Path
) -> None:
    change_one(store)
    write_as_a_peer(tmp_path)
    with pytest.raises(IntegrityBroken) as broken:
        change_one(store)
    assert broken.value.details["ids"] == [THEIRS]


@pytest.mark.parametrize("first", [add_some, lambda store, _: change_one(store)])
def test_a_row_that_a_peer_wrote_among_pending_ones_is_found(
    store: DoltLiteStore, tmp_path: Path, first: Any
) -> None:
    first(store, 100)
    add_some(store, 0)
    write_as_a_peer(tmp_path)
    add_some(store, 2)
    with pytest.raises(IntegrityBroken) as broken:
        store.commit_pending("main")
    assert broken.value.details["ids"] == [THEIRS]


def test_a_row_that_a_unit_of_additions_changed_is_found(store: DoltLiteStore) -> None:
    foreign = text(f"UPDATE facts SET category = 'x' WHERE id = '{THEIRS}'")
    with store.adding("main") as work:
        work.add(OBSERVATION, [seen(1, work.now)])
        work.connection.execute(foreign)  # type: ignore[attr-defined]  # of the adapter, not of the port
    with pytest.raises(IntegrityBroken) as broken:
        change_one(store)
    assert broken.value.details["ids"] == [THEIRS]


def test_neither_a_change_nor_pending_rows_are_compared_by_who_wrote_them(
    store: DoltLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(*_: object) -> Any:
        raise AssertionError("The branch was compared with its head.")

    monkeypatch.setattr(store._dialect, "uncommitted", compared)
    monkeypatch.setattr(store._dialect, "is_dirty", compared)
    add_some(store, 0, agent="ada")
    add_some(store, 10, 3, agent="bob")
    with store.adding("main") as work:
        work.add(FACT, [fact(20, work.now)])
    change_one(store)
    newest, before, *_ = store.history.log("main")
    assert newest.op == "change"
    assert before.op == "add"
    assert before.meta["counts"] == {"facts": 1, "observations": 5}
    assert before.meta["agents"] == ["ada", "bob"]


@pytest.mark.parametrize("seed", range(12))
def test_what_a_connection_knows_is_what_the_engine_finds(
    store: DoltLiteStore, tmp_path: Path, seed: int
) -> None:
    draw, proved = random.Random(seed), 0
    for turn in range(30):
        match draw.choice(("add", "add", "fail", "change", "commit", "peer", "other branch")):
            case "add":
                add_some(store, turn * 10, draw.randrange(1, 4))
            case "fail":
                with pytest.raises(Conflict), store.adding("main") as work:
                    work.add(OBSERVATION, [seen(9_999, work.now), *[seen(9_998, work.now)] * 2])
            case "change":
                change_one(store)
            case "commit":
                store.commit_pending("main")
            case "peer" if draw.random() < 0.3:
                write_as_a_peer(tmp_path)
                write_as_a_peer(tmp_path, None)
            case "other branch":
                store.history.fork(f"side{turn}", store.history.branches()["main"])
        with store._connections.exclusive("main") as connection:
            tip = store._begin(connection, "main", writes=True).tip.id
            noted = known(connection, store._dialect, tip)
            found = store._dialect.uncommitted(connection, CLEAR, {}, store.version)
        if noted is not None:
            proved += 1
            assert noted.added.counts == {table: len(rows) for table, rows in found.items()}
            assert all(row.before is None for rows in found.values() for row in rows)
    assert proved
