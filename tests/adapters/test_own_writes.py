"""What a unit of work notes of its writes is what the engine's whole comparison finds."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.adapters.versioned.work import SqlWork
from day1.errors import IntegrityBroken
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


def test_more_rows_than_it_notes_are_compared_as_a_whole(store: DoltLiteStore) -> None:
    with store.changing("main") as work:
        work.add(OBSERVATION, [seen(number, work.now) for number in range(60)])
        work.add(OBSERVATION, [seen(number, work.now) for number in range(60, 120)])
        assert isinstance(work, SqlWork)
        assert work._own is not None
        assert work._own.changes(CLEAR) is None
        work.commit(Message("change", "many"))
    with store.reading(Ref(branch="main")) as reading:
        assert len(reading.find(OBSERVATION, Query())) == 120


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
