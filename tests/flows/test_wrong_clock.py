"""A machine's clock was years ahead: it is told of, and set right, and the past is found as it was."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT
from day1.model.values.instant import SECOND, show
from day1.services.access.calls import now
from day1.services.health.clocks import ahead, lasting, set_right
from tests.engine import needs_files, variables
from tests.flows.imported_memory import ROOT, ImportedMemory
from tests.flows.kill_scenarios import Process, fact_id
from tests.flows.opened_store import call
from tests.flows.random_store import opened_at
from tests.forkserver import python

DECADE = 3_652 * 86_400 * SECOND


class Dated(ImportedMemory):
    """`ImportedMemory` that tells which facts there were, and when."""

    def texts(self, branch: str = "main", until: int | None = None) -> set[str]:
        with self.store.reading(Ref(branch=branch, until=until)) as reading:
            return {str(row["fact_text"]) for row in reading.find(FACT, Query())}

    def write(self, branch: str, text: str) -> str:
        self.add_fact(branch, f"fact_{text.replace(' ', '_')}", fact_text=text)
        return f"fact_{text.replace(' ', '_')}"

    def repair(self) -> None:
        set_right(self.repo, self.clock())

    def newest(self, branch: str = "main") -> int:
        return max(int(row["created_at"] or 0) for row in self.facts(branch))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Dated]:
    memory = Dated(tmp_path / "store")
    yield memory
    memory.close()


def spoiled(memory: Dated) -> tuple[int, str]:
    """A memory to which somebody wrote ten years ahead; gives when it was sound, and a fact."""
    memory.write("main", "sound")
    memory.fork("side", "main")
    memory.clock.tick(SECOND)
    sound = memory.clock()
    memory.clock.skew = DECADE
    late = memory.write("main", "late")
    memory.clock.tick(SECOND)
    memory.update_fact("main", late, fact_text="later")
    memory.clock.skew = 0
    memory.clock.tick(3_600 * SECOND)
    memory.write("main", "after it")
    return sound, late


def test_times_that_are_ahead_are_found_and_set_right(memory: Dated) -> None:
    """A5: one write with a clock ten years ahead dates the next ones, until doctor repairs it."""
    sound, late = spoiled(memory)
    at = memory.clock()
    assert memory.newest() > at + DECADE - 3_700 * SECOND
    assert set(ahead(memory.repo, at)) == {"main"}
    order = [str(row["id"]) for row in memory.facts()]

    memory.repair()

    assert ahead(memory.repo, at) == {}
    assert [str(row["id"]) for row in memory.facts()] == order
    assert at < memory.newest() < at + SECOND
    assert all(int(row["created_at"] or 0) < at + SECOND for row in memory.rows(EDIT))
    memory.clock.tick(SECOND)
    memory.write("main", "by the clock")
    assert memory.newest() == memory.clock()
    # The past is as it was: nothing of that time was there before it is dated.
    assert memory.texts(until=sound) == {"sound"}
    assert memory.texts(until=at - 1) == {"sound"}
    assert memory.texts(until=at + SECOND) >= {"sound", "later", "after it"}
    assert memory.texts() == {"sound", "later", "after it", "by the clock"}
    assert len(list(memory.store.history.log("main"))) >= 5, "history is as it was, and goes on"
    memory.store.commit_pending("main")
    memory.update_fact("main", late, category="x")
    assert memory.texts(until=memory.clock()) >= {"by the clock"}


def test_branches_that_share_rows_are_set_right_alike(memory: Dated) -> None:
    """A5: a row has one time on all branches, so that they merge as if nothing had been."""
    spoiled(memory)
    memory.fork("fork", "main")
    memory.write("fork", "on the fork")
    assert set(ahead(memory.repo, memory.clock())) == {"main", "fork"}
    memory.repair()
    shared = {str(r["id"]): r["created_at"] for r in memory.facts()}
    there = {str(r["id"]): r["created_at"] for r in memory.facts("fork")}
    assert shared.items() <= there.items()
    memory.clock.tick(SECOND)
    merged = memory.merge("fork", "main")
    assert (merged.merged, merged.rejected) == (1, 0)
    assert ahead(memory.repo, memory.clock()) == {}
    memory.merge("main", "side")
    assert memory.texts("side") == memory.texts()
    assert ahead(memory.repo, memory.clock()) == {}


def test_a_branch_without_a_row_ahead_is_set_right_too(memory: Dated) -> None:
    """A5: a removal, or a merge that brought nothing, may be all that is ahead."""
    memory.write("main", "sound")
    memory.fork("side", "main")
    fact = memory.write("side", "later removed")
    memory.clock.skew = DECADE
    memory.remove("side", fact)
    memory.clock.skew = 0
    memory.merge("side", "main")
    assert set(ahead(memory.repo, memory.clock())) == {"side", "main"}
    memory.repair()
    assert ahead(memory.repo, memory.clock()) == {}
    memory.clock.tick(SECOND)
    memory.write("side", "by the clock")
    assert memory.newest("side") == memory.clock()


def test_a_past_that_is_ahead_may_come_back_and_is_told_of_again(memory: Dated) -> None:
    """A5: what is restored from that time brings its times along; nothing breaks by it."""
    _, late = spoiled(memory)
    wrong = memory.store.commit_pending("main")
    memory.repair()
    memory.remove("main", late)
    memory.fork("old", "main")
    memory.store.history.fork("back", wrong)
    memory.repair()
    assert ahead(memory.repo, memory.clock()) == {}
    assert memory.texts("back") == {"sound", "later", "after it"}


def day1(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a command by the machine's own clock."""
    done = subprocess.run(
        [*python(), "-m", "day1", *arguments, "--json"],
        env={**os.environ, **variables(folder), "DAY1_EMBEDDER__KIND": "none"},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_writer_on_a_wrong_clock_is_told_and_doctor_repairs_the_times(tmp_path: Path) -> None:
    """A5: a process wrote ten years ahead; the next write's notes and doctor say so."""
    needs_files()  # a server dates what is written by its own clock
    folder = tmp_path / "store"
    process = Process(folder, behind_s=-DECADE // SECOND)
    process.do({"action": "write", "branch": "main", "id": fact_id(), "text": "late"})
    process.end()

    wrote = day1(folder, "add", "after it")
    assert "This branch is 3,65" in wrote["written"]["notes"][0]
    assert wrote["created_at"] > "2030"
    (found,) = [f for f in day1(folder, "doctor")["findings"] if f["name"] == "times"]
    assert (found["level"], "main by 3,65" in found["text"]) == ("warn", True)
    assert "doctor --repair" in found["advice"]

    repaired = day1(folder, "doctor", "--repair")
    assert "corrected times on main: 2 rows" in repaired["repaired"]
    (found,) = [f for f in repaired["findings"] if f["name"] == "times"]
    assert found["level"] == "ok"
    again = day1(folder, "add", "by the clock")
    assert again["written"]["notes"] == []
    assert again["created_at"] < show(now() + SECOND)
    assert len(day1(folder, "search", "late")["result"]) == 1


def test_a_machine_that_is_behind_its_server_dates_nothing_anew(dolt_database: str) -> None:
    """Its `doctor --repair` gave the new memories of all machines the time of its wrong clock."""
    with opened_at(dolt_database, create=True) as store:
        call(store, "memory_write_fact", fact_text="dated by the server")
        behind = now() - 7_200 * SECOND
        assert ahead(store.repo, behind) == {}
        assert set_right(store.repo, behind) == []


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (59, "less than a minute"),
        (60, "1 minute"),
        (7_200, "2 hours"),
        (86_400 * 3_652, "3,652 days"),
    ],
)
def test_a_span_is_told_in_its_largest_unit(span: int, words: str) -> None:
    assert lasting(span * SECOND) == words
