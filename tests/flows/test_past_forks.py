"""A fork of the past is there whole or not at all, and stays exact through all that stores go through."""

import shutil
from pathlib import Path

import pytest

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.values.instant import parse
from day1.services.branches.lookup import find
from tests.engine import needs_files
from tests.flows import killed_process
from tests.flows.copied_store import copy
from tests.flows.kill_scenarios import Killed, Process, Refused, check_after_kill, facts_on
from tests.flows.opened_store import MERGE, call, facts, opened, remember, write
from tests.flows.test_purging import SECRET, purged, words_in

POINTS = ("fork.after_intent", "fork.after_engine", "fill.after_rows", "fork.after_ledger")
THEN = ["The lathe is old.", "The mill is new."]


def told(folder: Path) -> int:
    """Write facts that are one commit in the end; give the instant between the second and third."""
    with opened(folder, create=True) as store:
        remember(store, THEN[0])
        at: str = call(store, "memory_write_fact", fact_text=THEN[1])["created_at"]
        write(store, "The press is loud.", "The press is red.")
    return parse(at)


def past(folder: Path, at: int) -> dict[str, str]:
    """The facts of main at an instant, by id."""
    store = killed_process.opened(folder)
    with store.repo.store.reading(Ref(branch="main", until=at)) as reading:
        found = {str(row["id"]): str(row["fact_text"]) for row in reading.find(FACT, Query())}
    store.close()
    return found


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_leaves_the_fork_whole_or_absent(tmp_path: Path, point: str) -> None:
    needs_files()
    at = told(tmp_path / "told")
    folder = Path(shutil.copytree(tmp_path / "told", tmp_path / "store"))
    action = {"action": "fork", "name": "then", "parent": "main", "at": at}
    then = past(folder, at)
    assert sorted(then.values()) == THEN
    process = Process(folder, kill_at=point)
    with pytest.raises(Killed):
        process.do(action)
    store = killed_process.opened(folder)
    main = facts_on(store, "main")
    store.close()
    found = check_after_kill(folder, [{"main": main}, {"main": main, "then": then}])
    assert ("then" in found) == (point in POINTS[2:])
    process = Process(folder)
    if "then" in found:
        with pytest.raises(Refused, match="branch_exists"):
            process.do(action)
    else:
        process.do(action)
    assert process.end() == (0, "")
    store = killed_process.opened(folder)
    assert facts_on(store, "then") == then
    assert find(store.repo, "then").began_at == at
    store.close()


def test_a_fork_is_exact_after_a_purge_and_a_compaction(tmp_path: Path) -> None:
    needs_files()
    folder = tmp_path / "store"
    with opened(folder, create=True) as store:
        remember(store, THEN[0])
        told_at = call(store, "memory_write_fact", fact_text=f"The word is {SECRET}.")
        row, at = told_at["id"], told_at["created_at"]
        write(store, "The press is loud.")
        call(store, "memory_branch_create", branch_name="before", at=at)
        call(store, "memory_redact", id=row, confirm=row)
        call(store, "memory_branch_create", branch_name="masked", at=at)
    purged(folder)
    assert words_in(folder) == set()
    with opened(folder) as store:
        store.repo.store.compact()
        call(store, "memory_branch_create", branch_name="after", at=at)
        for name in ("before", "masked", "after"):
            assert facts(store, name) == [THEN[0], "[redacted]"]
            merged = call(store, "memory_branch_merge", **MERGE | {"source_branch": name})
            assert (merged["merged_count"], merged["rejected_count"]) == (0, 0)
        assert store.repo.store.check() == []


def test_a_copy_of_the_store_merges_the_fork_as_the_store_does(tmp_path: Path) -> None:
    needs_files()
    told(tmp_path / "store")
    with opened(tmp_path / "store") as store:
        at = call(store, "memory_timeline")["result"][1]["timestamp"]
        call(store, "memory_branch_create", branch_name="then", at=at)
        gone = call(store, "memory_timeline")["result"][0]["id"]
        call(store, "memory_retract_fact", fact_id=gone)
        write(store, "The saw is own.", branch="then")
    copy(tmp_path / "store", tmp_path / "copy")
    with opened(tmp_path / "copy") as store:
        assert find(store.repo, "then").began_at is not None
        merged = call(store, "memory_branch_merge", **MERGE | {"source_branch": "then"})
        assert (merged["merged_count"], merged["rejected_count"]) == (1, 0)
        assert "The lathe is old." not in facts(store)
