"""A store of schema 2: its branches get the indexes of schema 3 before they are written to.

An index is no row: between a branch that has it and one that has it not there is no difference, and
no conflict in a merge.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.rows.steps import _missing
from day1.adapters.rows.tables import SCHEMA_VERSION, TABLES
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, Row
from day1.services.sharing.bundles import export_bundle, take_bundle
from tests.flows.kill_scenarios import Killed, Process, check_after_kill, fact_id, facts_on
from tests.flows.opened_store import call, opened
from tests.forkserver import python
from tests.sampling import sampled
from tests.suites.engine_memory import EngineMemory
from tests.suites.schema_one import schema_one

ENGINES = ("doltlite", "dolt", "matrixone")
POINTS = ("schema.after_pending", "schema.before_commit", "schema.after_commit")
BEFORE = 2


@pytest.fixture(params=ENGINES)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineMemory]:
    """A store of schema 2 with two facts on main and on its fork, pending on neither."""
    server = request.param != "doltlite"
    place = request.getfixturevalue(f"documented_{request.param}") if server else tmp_path
    found = EngineMemory(place, old=BEFORE)
    found.store.version = BEFORE
    found.add_fact("main", "fact_a", fact_text="a", happened_at=7, space="project:a")
    found.add_fact("main", "fact_b", fact_text="b")
    found.fork("side", "main")
    found.store.version = SCHEMA_VERSION
    yield found
    found.close()


def ops(memory: EngineMemory, branch: str) -> list[str]:
    return [commit.op for commit in memory.store.history.log(branch)]


def lacking(memory: EngineMemory, branch: str) -> set[str]:
    """The indexes that a branch does not have."""
    with memory.store._connections.on_branch(branch) as connection:
        return {str(i.name) for table in TABLES.values() for i in _missing(connection, table)}


def newest(memory: EngineMemory, ref: Ref, **asked: Any) -> list[Row]:
    with memory.store.reading(ref) as reading:
        return reading.find(FACT, Query(descending=True, limit=5, **asked))


def ids(rows: list[Row]) -> list[str]:
    return [str(row["id"]) for row in rows]


def test_the_first_write_brings_the_indexes_and_nothing_else(memory: EngineMemory) -> None:
    young = {str(i.name) for table in TABLES.values() for i in table.indexes if i.info}
    assert {"facts_time", "facts_expires_at", "messages_time"} <= young
    before, tip = newest(memory, Ref(branch="side")), memory.store.history.branches()["side"]
    assert lacking(memory, "side") == lacking(memory, "main") == young, "reading steps nothing"
    assert ids(before) == ["fact_b", "fact_a"]
    memory.add_fact("side", "fact_c", fact_text="c")
    assert lacking(memory, "side") == lacking(memory, "main") == set()
    assert ops(memory, "side").count("schema") == ops(memory, "main").count("schema") == 1
    assert ids(newest(memory, Ref(branch="side"))) == ["fact_c", "fact_b", "fact_a"]
    assert newest(memory, Ref(branch="side"))[1:] == before
    assert ids(newest(memory, Ref(branch="side"), equal={"space": "project:a"})) == ["fact_a"]
    changes = memory.store.history.changes(tip, Ref(branch="side"))
    assert {table: [c.id for c in rows] for table, rows in changes.items()} == {"facts": ["fact_c"]}


def test_the_past_of_a_stepped_branch_reads_as_before(memory: EngineMemory) -> None:
    first = memory.store.history.branches()["main"]
    rows = newest(memory, Ref(branch="main"))
    memory.update_fact("main", "fact_a", category="blue")
    assert newest(memory, Ref(commit=first)) == rows
    at = int(rows[0]["created_at"] or 0)
    assert newest(memory, Ref(branch="main", until=at)) == rows
    with memory.store.reading(Ref(branch="main", until=at, shown_at=at)) as reading:
        assert reading.count(FACT) == 2
    with memory.store.reading(Ref(branch="main", shown_at=at)) as reading:
        assert reading.count(FACT) == 2


def test_branches_with_and_without_the_indexes_do_not_differ(memory: EngineMemory) -> None:
    memory.fork("old", "main")
    memory.update_fact("main", "fact_a", category="blue")
    assert lacking(memory, "old")
    assert not lacking(memory, "main")
    tips = memory.store.history.branches()
    for base, to in (("old", "main"), ("main", "old")):
        changes = memory.store.history.changes(tips[base], Ref(branch=to))
        found = {t: [c.id for c in rows] for t, rows in changes.items() if t != "edits"}
        assert found == {"facts": ["fact_a"]}


@pytest.mark.parametrize("strategy", ["auto", "squash"])
@pytest.mark.parametrize(("source", "target"), [("old", "new"), ("new", "old")])
def test_a_branch_with_the_indexes_and_one_without_merge(
    memory: EngineMemory, source: str, target: str, strategy: str
) -> None:
    memory.store.version = BEFORE
    memory.fork("old", "side")
    memory.update_fact("old", "fact_a", category="of old")
    memory.add_fact("old", "fact_old", fact_text="old")
    memory.store.version = SCHEMA_VERSION
    memory.fork("new", "side")
    memory.update_fact("new", "fact_b", category="of new")
    memory.add_fact("new", "fact_new", fact_text="new")
    assert lacking(memory, "old")
    assert not lacking(memory, "new")
    assert memory.merge(source, target, strategy).rejected == 0
    state = memory.state(target)["facts"]
    assert {i: row["category"] for i, row in state.items()} == {
        "fact_a": "of old",
        "fact_b": "of new",
        "fact_old": None,
        "fact_new": None,
    }
    assert lacking(memory, target) == set()
    assert memory.held(target) == []
    assert sorted(ids(newest(memory, Ref(branch=target)))) == sorted(state)
    if strategy == "auto":  # a squash closes its source
        memory.merge(target, source)
        assert memory.state(source) == memory.state(target)


def test_branches_that_stepped_apart_merge(memory: EngineMemory) -> None:
    for branch in ("one", "two"):
        memory.fork(branch, "side")
        memory.update_fact(branch, f"fact_{'a' if branch == 'one' else 'b'}", category=branch)
    assert memory.merge("one", "two").rejected == memory.merge("two", "one").rejected == 0
    assert memory.state("one") == memory.state("two")
    assert [ops(memory, b).count("schema") for b in ("one", "two")] == [1, 1]


@pytest.mark.parametrize("engine", ["dolt", "matrixone"])
def test_a_step_that_is_killed_between_two_indexes_is_done_by_the_next_write(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """On a server each index is durable by itself: some are there, and the version is not."""
    memory = EngineMemory(request.getfixturevalue(f"documented_{engine}"), old=BEFORE)
    memory.store.version = BEFORE
    memory.add_fact("main", "fact_a", fact_text="a")
    memory.commit_pending("main")
    first = memory.store.history.branches()["main"]
    with memory.store._connections.exclusive("main") as connection:
        connection.exec_driver_sql("CREATE INDEX facts_time ON facts (happened_at, created_at, id)")
    memory.add_fact("main", "fact_b", fact_text="b")
    assert ids(newest(memory, Ref(branch="main"))) == ["fact_b", "fact_a"]
    memory.store.version = SCHEMA_VERSION
    memory.add_fact("main", "fact_c", fact_text="c")
    assert lacking(memory, "main") == set()
    assert ops(memory, "main").count("schema") == 1
    assert ids(newest(memory, Ref(branch="main"))) == ["fact_c", "fact_b", "fact_a"]
    (changes,) = memory.store.history.changes(first, Ref(branch="main")).values()
    assert sorted(change.id for change in changes) == ["fact_b", "fact_c"]
    memory.close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An embedded store of schema 2 with two branches, and a pending row on each."""
    folder = tmp_path / "store"
    with schema_one(BEFORE), opened(folder, create=True) as store:
        store.repo.store.version = BEFORE  # type: ignore[attr-defined]  # every store here is of SQL
        call(store, "memory_write_fact", fact_text="On both.", space="project:a")
        call(store, "memory_branch_create", branch_name="side")
        for branch in ("main", "side"):
            call(store, "memory_write_fact", fact_text=f"Pending on {branch}.", branch=branch)
    return folder


@pytest.mark.parametrize("branch", sampled(("main", "side"), {"side"}))
@pytest.mark.parametrize("point", POINTS)
def test_a_step_that_is_killed_is_done_by_the_next_write(
    old: Path, point: str, branch: str
) -> None:
    with opened(old) as store:
        state = {name: facts_on(store, name) for name in ("main", "side")}
    written = {"action": "write", "branch": branch, "id": fact_id(), "text": "written at last"}
    with pytest.raises(Killed):
        Process(old, point).do(written)
    shutil.copytree(old, old.parent / "copied")
    check_after_kill(old.parent / "copied", [state])
    process = Process(old)
    process.do(written)
    process.end()
    state[branch][written["id"]] = written["text"]
    check_after_kill(old, [state])
    with opened(old) as store:
        assert [c.op for c in store.repo.history.log(branch)].count("schema") == 1


def test_a_bundle_from_before_the_step_goes_to_stores_of_either_schema(
    old: Path, tmp_path: Path
) -> None:
    with schema_one(BEFORE), opened(old) as store:
        store.repo.store.version = BEFORE  # type: ignore[attr-defined]  # every store here is of SQL
        made = call(
            store, "knowledge_bundle_create", name="b", source_branch="side", only_verified=False
        )["id"]
        lines = list(export_bundle(store.repo, made))
    with opened(old) as store:
        call(store, "memory_write_fact", fact_text="Steps both.", branch="side")
        assert list(export_bundle(store.repo, made)) == lines
        call(store, "knowledge_bundle_import", bundle_id=made, target_branch="main")
        assert "Pending on side." in facts_on(store, "main").values()
    with opened(tmp_path / "new", create=True) as other:
        taken = take_bundle(other.repo, lines, 2_000_000_000_000_000)
        call(other, "knowledge_bundle_import", bundle_id=taken.id, target_branch="main")
        assert sorted(facts_on(other, "main").values()) == ["On both.", "Pending on side."]
        assert list(export_bundle(other.repo, taken.id))[1:] == lines[1:]


def command(store: Path, *arguments: str) -> str:
    """Run a command on a store; answers what it printed."""
    line = [*python(), "-m", "day1", *arguments]
    environment = {**os.environ, "DAY1_HOME": str(store), "DAY1_EMBEDDER__KIND": "none"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_backup_from_before_the_step_is_restored_and_stepped_again(old: Path) -> None:
    backup = old.parent / "backup.tar.gz"
    command(old, "backup", str(backup))
    with opened(old) as store:
        before = {name: facts_on(store, name) for name in ("main", "side")}
        call(store, "memory_write_fact", fact_text="After the backup.", branch="side")
    restored = old.parent / "restored"
    command(old, "backup", "--restore", str(backup), "--into", str(restored))
    with opened(restored) as store:
        assert {name: facts_on(store, name) for name in ("main", "side")} == before
        assert "schema" not in [c.op for c in store.repo.history.log("side")]
        call(store, "memory_write_fact", fact_text="After the restore.", branch="side")
        listed = call(store, "memory_list", type="fact", branch="side")
        assert listed["rows"][0]["fact_text"] == "After the restore."
        assert listed["total"] == len(listed["rows"]) == 3
        assert [c.op for c in store.repo.history.log("side")].count("schema") == 1
