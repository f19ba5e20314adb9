"""The rows of a space and of those below it are found by the index of spaces, not by a scan."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.rows.rows import SqlReading
from day1.adapters.rows.statements import Shape, selecting
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import OBSERVATION
from day1.services.rows.recording import NewObservation, observation_row
from tests.suites.engine_memory import EngineMemory

ROWS = 3_000
QUERY = Query(under="app:users", equal={"observation_type": "context"}, alive_at=5)
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "dolt": "EXPLAIN PLAN"}


def plan(reading: SqlReading, engine: str) -> str:
    """What the engine says it would do, in its own words."""
    values, empty = reading._bound(OBSERVATION, QUERY)
    shape = Shape(OBSERVATION.table, ("id",), "id", False, empty, tuple(values))
    said: Any = selecting(shape).params(**values)
    options = {"dialect": reading.connection.dialect, "compile_kwargs": {"literal_binds": True}}
    asked = f"{EXPLAIN[engine]} {said.compile(**options)}"
    return "\n".join(map(str, reading.connection.exec_driver_sql(asked)))


@pytest.fixture
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[EngineMemory, str]]:
    """A memory with many rows, few of which are in the space."""
    engine = request.param
    place = tmp_path if engine == "sqlite" else request.getfixturevalue("dolt_database")
    memory = EngineMemory(place)
    with memory.store.adding("main") as work:
        rows = []
        for number in range(ROWS):
            space = (None, f"app:others/{number}", "app:users2")[number % 3]
            new = NewObservation(
                "context", str(number), space="app:users/a" if not number else space
            )
            rows.append(observation_row(f"obs_{number:026}", new, memory.origin, work.now + number))
        work.add(OBSERVATION, rows)
    memory.commit_pending("main")
    yield memory, engine
    memory.close()


@pytest.mark.parametrize("filled", ["sqlite", "dolt"], indirect=True)
def test_the_rows_below_a_space_are_found_by_the_index_of_spaces(
    filled: tuple[EngineMemory, str],
) -> None:
    memory, engine = filled
    with memory.store.reading(Ref(branch="main")) as reading:
        assert isinstance(reading, SqlReading)
        assert len(reading.scan(OBSERVATION, ("id",), QUERY)) == 1
        said = plan(reading, engine)
    if engine == "sqlite":
        assert "SEARCH observations USING INDEX observations_space (space=?)" in said
        assert "SEARCH observations USING INDEX observations_space (space>? AND space<?)" in said
        assert "SCAN" not in said
    else:
        assert "index: [observations.space]" in said
        assert "{[app:users, app:users]}, {[app:users/, app:users0)}" in said
