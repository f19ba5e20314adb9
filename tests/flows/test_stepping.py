"""A store of schema 1: it is read as it is, and each branch is stepped before it is written to."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.rows import steps, tables
from day1.adapters.versioned import history as histories
from day1.adapters.versioned import store as stores
from day1.errors import Conflict, StoreVersionUnknown
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, Row
from day1.services.branches import lookup
from day1.services.exchange.exporting import export_store
from day1.services.merges import planning
from day1.services.sharing.bundles import export_bundle, take_bundle
from tests import servers
from tests.flows.copied_store import copy, ends
from tests.flows.kill_scenarios import Killed, Process, check_after_kill, fact_id, facts_on
from tests.flows.opened_store import MERGE, call, digest, facts, opened, refused
from tests.flows.random_store import RandomTeam, differences, ids_between, opened_at
from tests.forkserver import python
from tests.sampling import sampled
from tests.suites.engine_memory import EngineMemory
from tests.suites.schema_one import schema_one

POINTS = ("schema.after_pending", "schema.before_commit", "schema.after_commit")
ENGINES = ("doltlite", "dolt", "matrixone")


@pytest.fixture(params=ENGINES)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineMemory]:
    """A store of schema 1 with the fact A on main and on its fork, pending on neither."""
    server = request.param != "doltlite"
    place = request.getfixturevalue(f"documented_{request.param}") if server else tmp_path
    found = EngineMemory(place, old=True)
    found.store.version = 1
    found.add_fact("main", "fact_a", fact_text="a")
    found.fork("side", "main")
    found.store.version = tables.SCHEMA_VERSION
    yield found
    found.close()


def fact(memory: EngineMemory, branch: str, **at: Any) -> Row:
    return memory.state(branch, **at)["facts"]["fact_a"]


def ops(memory: EngineMemory, branch: str) -> list[str]:
    return [commit.op for commit in memory.store.history.log(branch)]


def test_a_state_of_schema_1_reads_younger_columns_as_without_a_value(memory: EngineMemory) -> None:
    with memory.store.reading(Ref(branch="side")) as reading:
        assert fact(memory, "side")["space"] is None
        for asked in ({"equal": {"space": "project:a"}}, {"among": {"space": ["project:a"]}}):
            assert reading.find(FACT, Query(**asked)) == []
            assert reading.scan(FACT, ("id",), Query(**asked)) == []
        assert reading.count(FACT, {"space": None, "fact_text": "a"}) == 1
        assert reading.count(FACT, {"space": "project:a"}) == 0
        assert reading.tally(FACT, "space") == {None: 1}
        assert reading.find(FACT, Query(without={"space": ["project:a"]})) == []
    assert "schema" not in ops(memory, "side"), "reading steps nothing"


def test_a_branch_is_stepped_by_a_commit_of_its_own_before_it_is_written_to(
    memory: EngineMemory,
) -> None:
    memory.store.version = 1
    waits = memory.add_fact("side", "fact_waits", fact_text="waits").at
    memory.store.version = tables.SCHEMA_VERSION
    before = memory.state("side")
    at = memory.update_fact("side", "fact_a", space="project:a", structure="[1]").at
    assert ops(memory, "side")[:3] == ["change", "schema", "add"]
    assert ops(memory, "main")[0] == "schema", "main leads, so that it knows every column"
    assert fact(memory, "side")["space"] == "project:a"
    assert memory.state("side", at - 1) == before
    assert memory.state("side", waits) == before
    assert [row and row["space"] for _, row in memory.versions("side", "fact_a")] == [
        None,
        "project:a",
    ]
    memory.update_fact("side", "fact_a", category="blue")
    assert ops(memory, "side").count("schema") == 1


def test_branches_that_stepped_apart_merge_both_ways(memory: EngineMemory) -> None:
    memory.update_fact("side", "fact_a", space="project:a")
    memory.update_fact("main", "fact_a", structure="[1]")
    assert memory.merge("side", "main").rejected == 0
    assert (fact(memory, "main")["space"], fact(memory, "main")["structure"]) == (
        "project:a",
        "[1]",
    )
    memory.merge("main", "side")
    assert fact(memory, "side") == fact(memory, "main")


def test_a_branch_that_is_not_stepped_merges_with_one_that_is(memory: EngineMemory) -> None:
    memory.store.version = 1
    memory.fork("old", "side")
    memory.update_fact("old", "fact_a", category="blue")
    memory.store.version = tables.SCHEMA_VERSION
    memory.update_fact("side", "fact_a", space="project:a")
    memory.merge("old", "side")
    assert fact(memory, "side")["category"] == "blue"
    source, target = (lookup.find(memory.repo, name) for name in ("side", "old"))
    seen = planning.preview(memory.repo, planning.MergeRequest(source, target, "auto"))
    assert [row.result and row.result["space"] for row in seen.plan.rows] == ["project:a"]
    assert "schema" not in ops(memory, "old")
    memory.merge("side", "old")
    assert fact(memory, "old") == fact(memory, "side")


def test_a_difference_of_states_that_no_branch_joins_has_the_columns_of_both(
    memory: EngineMemory,
) -> None:
    memory.update_fact("side", "fact_a", space="project:a")
    tips = memory.store.history.branches()
    memory.fork("old", "main")
    (first,) = (c.id for c in memory.store.history.log("main") if c.op == "init")
    for base, to, spaces in (
        (first, tips["side"], ("no row", "project:a")),
        (tips["side"], first, ("project:a", "no row")),
        (tips["main"], tips["side"], (None, "project:a")),
    ):
        (change,) = memory.store.history.changes(base, Ref(commit=to))["facts"]
        sides = (change.before, change.after)
        assert tuple(row["space"] if row else "no row" for row in sides) == spaces


def test_a_restore_and_a_revert_go_back_over_the_step(memory: EngineMemory) -> None:
    before = fact(memory, "main")
    at = memory.update_fact("main", "fact_a", space="project:a").at
    memory.restore_branch("main", at - 1)
    assert fact(memory, "main") == before
    memory.update_fact("main", "fact_a", fact_text="b", structure="[1]")
    memory.restore_row("main", "fact_a", at)
    assert fact(memory, "main")["space"] == "project:a"
    memory.revert("main", at)
    assert fact(memory, "main") == before


def test_a_text_that_is_given_alone_loses_what_the_other_one_rendered(memory: EngineMemory) -> None:
    memory.update_fact("main", "fact_a", structure="[1]", vector="[0.5]")
    memory.update_fact("main", "fact_a", fact_text="a", category="blue")
    assert fact(memory, "main")["structure"] == "[1]", "it is the same text"
    memory.update_fact("main", "fact_a", fact_text="b")
    assert (fact(memory, "main")["structure"], fact(memory, "main")["vector"]) == (None, None)


def test_a_held_text_from_before_the_step_is_taken_with_what_it_renders(
    memory: EngineMemory,
) -> None:
    memory.store.version = 1
    memory.update_fact("side", "fact_a", fact_text="theirs")
    memory.store.version = tables.SCHEMA_VERSION
    memory.update_fact("main", "fact_a", fact_text="ours", structure="[1]")
    assert memory.merge("side", "main").rejected == 1
    memory.decide("main", "fact_a", "fact_text", "taken")
    assert (fact(memory, "main")["fact_text"], fact(memory, "main")["structure"]) == (
        "theirs",
        None,
    )


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An embedded store of schema 1 with two branches, and a pending row on each."""
    folder = tmp_path / "store"
    with schema_one(), opened(folder, create=True) as store:
        at_schema_one(store)
        call(store, "memory_write_fact", fact_text="On both.")
        call(store, "memory_branch_create", branch_name="side")
        for branch in ("main", "side"):
            call(store, "memory_write_fact", fact_text=f"Pending on {branch}.", branch=branch)
    return folder


def at_schema_one(store: OpenStore) -> None:
    """Let a store be written to as by a day1 that knows schema 1 only."""
    store.repo.store.version = 1  # type: ignore[attr-defined]  # every store here is of SQL


@pytest.mark.parametrize("branch", sampled(("main", "side"), {"side"}))
@pytest.mark.parametrize("point", POINTS)
def test_a_step_that_is_killed_is_done_by_the_next_write(
    old: Path, point: str, branch: str
) -> None:
    with opened(old) as store:
        state = {name: facts_on(store, name) for name in ("main", "side")}
    written = {"action": "write", "branch": branch, "id": fact_id(), "text": "written at last"}
    process = Process(old, point)
    with pytest.raises(Killed):
        process.do(written)
    shutil.copytree(old, old.parent / "copied")
    check_after_kill(old.parent / "copied", [state])
    process = Process(old)
    process.do(written)
    process.end()
    state[branch][written["id"]] = written["text"]
    check_after_kill(old, [state])
    with opened(old) as store:
        assert [c.op for c in store.repo.history.log(branch)].count("schema") == 1


@pytest.mark.parametrize("engine", ["dolt", "matrixone"])
def test_a_step_that_is_killed_on_a_server_is_done_by_the_next_write(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """Each ALTER is durable there by itself: some columns are there, and the version is not."""
    place = request.getfixturevalue(f"{engine}_database")
    memory = EngineMemory(place, old=True)
    memory.store.version = 1
    memory.add_fact("main", "fact_a", fact_text="a")
    memory.commit_pending("main")
    first = memory.store.history.branches()["main"]
    memory.update_fact("main", "fact_a", category="changed")
    with memory.store._connections.exclusive("main") as connection:
        connection.exec_driver_sql("ALTER TABLE facts ADD COLUMN structure LONGTEXT")
        connection.exec_driver_sql("ALTER TABLE facts ADD COLUMN space VARCHAR(255)")
        connection.exec_driver_sql("CREATE INDEX facts_space ON facts (space)")
    memory.add_fact("main", "fact_b", fact_text="b")
    assert fact(memory, "main")["space"] is None
    EngineMemory(place).close()  # making it finds that it is there
    memory.store.version = tables.SCHEMA_VERSION
    memory.add_fact("main", "fact_c", fact_text="c")
    differing = memory.store.history.changes(first, Ref(branch="main"))["facts"]
    assert [(c.after or {})["category"] for c in differing] == ["changed", None, None]
    memory.update_fact("main", "fact_a", space="project:a")
    assert fact(memory, "main")["space"] == "project:a"
    assert ops(memory, "main").count("schema") == 1
    memory.close()
    again = EngineMemory(place)
    assert fact(again, "main")["space"] == "project:a"
    again.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_that_stepped_in_part_is_copied_as_it_is(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = engine != "doltlite"
    where = request.getfixturevalue(f"{engine}_database") if server else tmp_path / "from"
    with schema_one(), opened_at(where, create=True) as source:
        at_schema_one(source)
        team = RandomTeam(source)
        team.work(30, 3, 4)
        source.repo.store.version = tables.SCHEMA_VERSION  # type: ignore[attr-defined]  # of the adapter, not of the port
        team.write(3, "main")
        team.change(team.branches[1])
        assert "schema" in {commit.op for commit in source.repo.history.log("main")}
    copy(where, tmp_path / "to")
    with opened_at(where) as source, opened_at(tmp_path / "to") as target:
        assert differences(source, target, ids_between(source, target), 20) == []


def test_half_a_copy_of_an_earlier_day1_is_refused_with_what_to_do_next(
    old: Path, tmp_path: Path
) -> None:
    half = tmp_path / "half"
    with schema_one(), ends(old, half):
        pass  # begun, and no more
    with opened(old) as store:
        call(store, "memory_write_fact", fact_text="New.", space="project:a")
    before = digest(half / "memory.db")
    with pytest.raises(Conflict, match=r"unfinished copy .* remove it, and copy again"):
        ends(old, half).__enter__()
    assert digest(half / "memory.db") == before, "it is its user who removes it"


def test_a_day1_that_knows_less_refuses_the_store_in_one_sentence(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(old) as store:
        call(store, "memory_write_fact", fact_text="New.", branch="side")
    for module in (tables, steps, stores, histories):
        monkeypatch.setattr(module, "SCHEMA_VERSION", 1)
    with pytest.raises(StoreVersionUnknown, match="schema version 3, this day1 reads up to 1"):
        opened(old).__enter__()


def test_what_a_stepped_store_exports_is_what_it_exported_before(old: Path) -> None:
    with opened(old) as store:
        before = {*list(export_store(store.repo))[:-1]}
        call(store, "memory_write_fact", fact_text="New.")
        call(store, "memory_branch_merge", **MERGE)
        after = set(export_store(store.repo))
    assert before < after


def test_a_store_is_purged_across_the_step(old: Path) -> None:
    with schema_one(), opened(old) as store:
        at_schema_one(store)
        told = call(store, "memory_write_fact", fact_text="It is plover4711.")["id"]
        store.repo.store.commit_pending("main")
    with opened(old) as store:
        call(store, "memory_update_fact", fact_id=told, category="told", space="project:a")
        call(store, "memory_redact", id=told, confirm=told)
        assert "schema" in {commit.op for commit in store.repo.history.log("main")}
        blamed = call(store, "memory_blame", id=told)
        assert "plover" not in str(blamed)
        versions = call(store, "memory_history", id=told)["versions"]
        assert [version["how"] for version in versions] == ["changed", "added"]
        assert "plover" not in str(versions)
        before = facts_on(store, "main"), facts_on(store, "side")
    line = [*python(), "-m", "day1", "gc", "--purge-redacted"]
    done = subprocess.run(
        line, env={**os.environ, "DAY1_HOME": str(old)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [f for f in old.rglob("*") if f.is_file() and b"plover4711" in f.read_bytes()] == []
    with opened(old) as store:
        assert (facts_on(store, "main"), facts_on(store, "side")) == before
        assert [c.op for c in store.repo.history.log("main")].count("schema") == 1
        call(store, "memory_write_fact", fact_text="After it.", branch="side", space="project:a")


def test_a_bundle_from_before_the_step_goes_to_stores_of_either_schema(
    old: Path, tmp_path: Path
) -> None:
    with schema_one(), opened(old) as store:
        at_schema_one(store)
        made = call(
            store, "knowledge_bundle_create", name="b", source_branch="side", only_verified=False
        )["id"]
        lines = list(export_bundle(store.repo, made))
    with opened(old) as store:
        call(store, "memory_write_fact", fact_text="Steps both.", branch="side", space="project:a")
        assert list(export_bundle(store.repo, made)) == lines
        call(store, "knowledge_bundle_import", bundle_id=made, target_branch="main")
        assert "Pending on side." in facts_on(store, "main").values()
    with opened(tmp_path / "new", create=True) as other:
        taken = take_bundle(other.repo, lines, 2_000_000_000_000_000)
        call(other, "knowledge_bundle_import", bundle_id=taken.id, target_branch="main")
        assert sorted(facts_on(other, "main").values()) == ["On both.", "Pending on side."]
        assert list(export_bundle(other.repo, taken.id))[1:] == lines[1:]


def test_a_base_that_is_stepped_compares_with_a_branch_that_is_not(memory: EngineMemory) -> None:
    memory.fork("old", "side")
    memory.update_fact("main", "fact_a", space="project:a")
    stepped = memory.store.history.branches()["main"]
    assert "schema" not in ops(memory, "old")
    (change,) = memory.store.history.changes(stepped, Ref(branch="old"))["facts"]
    spaces = [row and row["space"] for row in (change.before, change.after)]
    assert spaces == ["project:a", None]
    (back,) = memory.store.history.changes(
        memory.store.history.branches()["old"], Ref(commit=stepped)
    )["facts"]
    assert (back.before, back.after) == (change.after, change.before)


def test_an_old_server_store_refuses_a_long_name_and_its_copy_takes_it(
    dolt_database: str, tmp_path: Path
) -> None:
    """It keeps its narrow columns: Dolt's history of rows has no value across a wider type."""
    with schema_one(), opened_at(dolt_database, create=True) as store:
        at_schema_one(store)
        call(store, "memory_write_fact", fact_text="Of before.", agent_id="ada")
    new = {"fact_text": "Of a long name.", "agent_id": "a" * 255, "session_id": "s" * 255}
    with opened_at(dolt_database) as store:
        refused(lambda: call(store, "memory_write_fact", **new), "invalid_request", "shorten it")
        call(store, "memory_write_fact", fact_text="Of a short name.", agent_id="a" * 64)
        assert facts(store) == ["Of before.", "Of a short name."]
    with servers.database(dolt_database.rpartition("/")[0]) as wide:
        copy(dolt_database, wide)
        with opened_at(wide) as store:
            call(store, "memory_write_fact", **new)
            assert facts(store) == ["Of before.", "Of a short name.", "Of a long name."]
