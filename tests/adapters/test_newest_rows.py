"""The newest rows are found by the index on time: the same rows as by reading all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from day1.adapters.rows import rows, tables
from day1.adapters.rows.rows import SqlReading
from day1.adapters.rows.statements import Shape, newest_walked
from day1.model.rows.change import Query, Ref, place_in_time
from day1.model.rows.kind import FACT, MESSAGE, OBSERVATION, Row
from day1.services.rows.recording import NewFact, fact_row
from tests import servers
from tests.suites.engine_memory import EngineMemory

ROWS = 600
NOW = 2_000_000_000_000_000
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "dolt": "EXPLAIN PLAN"}
QUERIES: tuple[dict[str, Any], ...] = (
    {},
    {"alive_at": NOW},
    {"alive_at": NOW, "public": True},
    {"equal": {"category": "rare"}},
    {"equal": {"category": None}, "alive_at": NOW},
    {"equal": {"space": "few"}, "alive_at": NOW},
    {"equal": {"space": "many"}, "alive_at": NOW},
    {"equal": {"space": None}},
    {"equal": {"space": "none"}},
    {"among": {"space": ["few", None]}},
    {"among": {"agent_id": ["ada", "bob", "eve"]}},
    {"without": {"status": ["archived"]}, "present_at": NOW},
    {"without": {"id": [f"fact_{n:03}" for n in range(90)]}},
    {"equal": {"session_id": "s1"}, "alive_at": NOW},
    {"under": "many"},
    {"after": 40},
    {"before": 40, "alive_at": NOW},
    {"after": 20, "before": 1_000_000_000_000_040, "equal": {"space": "many"}},
    {"after": 10**18},
    {"created_after": 1_000_000_000_000_300},
)


def row(number: int, memory: EngineMemory, now: int, chance: random.Random) -> Row:
    """A fact some of whose times are those of others, and which may have ended in any way."""
    new = fact_row(f"fact_{chance.randrange(10**9):09}", NewFact(f"n {number}"), memory.origin, now)
    ends = chance.choice((None, None, None, NOW - 1, NOW, NOW + 1))
    return {
        **new,
        "happened_at": chance.choice((None, None, chance.randrange(60), new["created_at"])),
        "expires_at": ends,
        "valid_until": chance.choice((None, None, NOW - 1, NOW + 1)),
        "category": "rare" if number % 97 == 5 else chance.choice((None, "a", "b")),
        "space": chance.choices((None, "many", "many/below", "few"), (5, 5, 1, 0.1))[0],
        "sensitivity": chance.choice((None, None, None, "secret")),
        "status": chance.choice(("active", "archived")),
        "agent_id": chance.choice(("ada", "bob", None)),
        "session_id": chance.choice(("s1", "s2")),
    }


@pytest.fixture(scope="module", params=["sqlite", "dolt"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[EngineMemory, str]]:
    """A memory with facts of any time, some on a schema with the index and some without it."""
    engine = request.param
    embedded = engine == "sqlite"
    place = tmp_path_factory.mktemp("s") if embedded else request.getfixturevalue("module_dolt")
    memory, chance = EngineMemory(place), random.Random(43)
    with memory.store.adding("main") as work:
        rows = [row(n, memory, work.now + n // 7, chance) for n in range(ROWS)]
        work.add(FACT, rows)
    memory.commit_pending("main")
    yield memory, engine
    memory.close()


@pytest.fixture(scope="module")
def module_dolt() -> Iterator[str]:
    """A database on a Dolt server for the tests of this module."""
    with servers.database(servers.dolt_url()) as url:
        yield url


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_the_newest_rows_are_those_of_all_rows(
    filled: tuple[EngineMemory, str], asked: dict[str, Any], descending: bool
) -> None:
    memory, _ = filled
    query = Query(**asked, descending=descending)
    with memory.store.reading(Ref(branch="main")) as reading:
        all_rows = reading.find(FACT, query)
        assert all_rows == sorted(all_rows, key=place_in_time, reverse=descending)
        for limit in (1, 2, 7, 50, 200, 1_000):
            assert reading.find(FACT, replace(query, limit=limit)) == all_rows[:limit], limit


@pytest.mark.parametrize("equal", [{}, {"space": "many"}, {"space": None}, {"category": "a"}])
def test_rows_that_have_not_expired_are_counted(
    filled: tuple[EngineMemory, str], equal: dict[str, Any]
) -> None:
    memory, _ = filled
    with memory.store.reading(Ref(branch="main", shown_at=NOW)) as reading:
        assert reading.count(FACT, equal) == len(reading.find(FACT, Query(equal=equal))) > 0


def plans(filled: tuple[EngineMemory, str], ask: Any) -> str:
    """How the engine would run the statements of a question."""
    memory, engine = filled
    said: list[str] = []
    run = rows.directly

    def explain(connection: Any, sql: str, values: Any = ()) -> Any:
        said.extend(map(str, run(connection, f"{EXPLAIN[engine]} {sql}", values)))
        return run(connection, sql, values)

    with (
        memory.store.reading(Ref(branch="main", shown_at=NOW)) as reading,
        patch.object(rows, "directly", explain),
    ):
        assert isinstance(reading, SqlReading)
        ask(reading)
    return "\n".join(said)


@pytest.mark.parametrize(
    "asked", [{}, {"before": 40}, {"equal": {"category": "a"}}, {"equal": {"space": "many"}}]
)
def test_the_newest_rows_are_read_in_the_order_of_an_index(
    filled: tuple[EngineMemory, str], asked: dict[str, Any]
) -> None:
    """Neither is the table read whole, nor are all of its rows sorted."""
    query = Query(**asked, descending=True, limit=3)
    said = plans(filled, lambda reading: reading.find(FACT, query))
    if filled[1] == "sqlite":
        assert said.count("USING INDEX facts_time") == 2
        assert "SCAN facts" not in said
        assert said.count("TEMP B-TREE FOR ORDER BY") <= 4, "of the halves together"
    else:  # it knows how many rows a range has, and takes few of them by their own index
        halves = 1 if "before" in asked else 2
        assert said.count("index: [facts.happened_at,facts.created_at,facts.id]") >= halves
        assert said.count("reverse: true") >= halves
    assert "expires_at]" not in said
    assert "facts_expires_at" not in said


def test_rows_are_counted_without_reading_those_that_did_not_expire(
    filled: tuple[EngineMemory, str],
) -> None:
    if filled[1] == "dolt":
        pytest.skip("Dolt tells no plan of a query inside another")
    said = plans(filled, lambda reading: reading.count(FACT))
    assert "SEARCH facts USING COVERING INDEX facts_expires_at (expires_at<?)" in said


def test_a_kind_without_expiry_is_counted_and_listed(filled: tuple[EngineMemory, str]) -> None:
    memory, _ = filled
    with memory.store.reading(Ref(branch="main", shown_at=NOW)) as reading:
        assert reading.count(MESSAGE) == 0
        assert reading.find(MESSAGE, Query(descending=True, limit=5)) == []


@pytest.mark.parametrize("old", [False, 2])
@pytest.mark.parametrize("engine", ["sqlite", "dolt"])
def test_the_indexes_have_the_rows_of_a_merge(
    engine: str, old: int | bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Whatever either side changed, and whether the indexes were there when they parted."""
    place = tmp_path if engine == "sqlite" else request.getfixturevalue("dolt_database")
    memory, chance = EngineMemory(place, old=old), random.Random(3)
    memory.store.version = 2 if old else tables.SCHEMA_VERSION
    ends = (None, 5, 10, 50)
    for number in range(20):
        memory.add_fact("main", f"fact_{number:02}", fact_text="t", expires_at=chance.choice(ends))
    memory.fork("kept", "main")
    memory.store.version = tables.SCHEMA_VERSION
    for turn in range(3):
        sides = f"a{turn}", f"b{turn}"
        for side, parent in zip(sides, ("kept" if turn else "main", "main"), strict=True):
            memory.fork(side, parent)
            for fact in chance.sample(sorted(memory.state(side)["facts"]), 4):
                times = {"expires_at": chance.choice(ends), "happened_at": chance.randrange(9)}
                memory.update_fact(side, fact, **times)
            memory.add_fact(side, f"fact_{side}", fact_text=side, expires_at=chance.choice(ends))
            memory.remove(side, chance.choice(sorted(memory.state(side)["facts"])))
        memory.merge(sides[0], sides[1])
        memory.merge(sides[1], "main")
        for branch in (*sides, "main"):
            with memory.store.reading(Ref(branch=branch, shown_at=20)) as reading:
                rows = reading.find(FACT, Query(descending=True))
                assert reading.count(FACT) == len(rows)
                assert reading.find(FACT, Query(descending=True, limit=1_000)) == rows
    assert memory.store.check() == []
    memory.close()


def test_rows_that_are_only_looked_at_are_read_without_their_long_columns() -> None:
    """Four times as many are looked at as are answered, and each may have 8 MiB."""
    shape = Shape("observations", ("id", "summary"), "time", True, (), ("equal_space", "limit"))
    statement = str(newest_walked(shape))
    assert "space" in statement
    assert "structure" not in statement
    assert "raw_output" not in statement
    whole_rows = shape._replace(columns=OBSERVATION.columns)
    assert "structure" in str(newest_walked(whole_rows))
