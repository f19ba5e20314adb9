"""kill -9 at each named point of what engram does: all of it is there, or none, and it can go on."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.engine import needs_files
from tests.flows.kill_scenarios import die_at
from tests.flows.killed_process import call_system, opened
from tests.forkserver import python
from tests.wires.engram_session import LESSON, lesson
from tests.wires.mcp_session import ROOT, environment


def call(folder: Path, tool: str, arguments: Any = None, kill_at: str | None = None) -> Any:
    """Call a tool in a process of its own; None if it was killed, as it must be then."""
    killed = {} if kill_at is None else {"DAY1_KILL_AT": kill_at}
    done = subprocess.run(
        [*python(), "-m", "day1", "call", f"engram.{tool}", "-"],
        input=json.dumps(arguments or {}),
        env={**os.environ, **environment(folder, **killed)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if kill_at is not None:
        assert done.returncode == -signal.SIGKILL, done.stderr
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def memories(folder: Path) -> Any:
    return call(folder, "memory_export")["memories"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Four lessons of one cause, and one that is there in two wordings."""
    folder = tmp_path / "store"
    given = [lesson(number, action="Renewed the token in time") for number in range(4)]
    given += [LESSON, {**LESSON, "result": LESSON["result"] + "."}]
    at = {"created_at": "2026-01-02T00:00:00Z"}
    rows = [{"id": f"m{n}", **one, **at} for n, one in enumerate(given)]
    call(folder, "memory_import", {"version": 1, "memories": rows})
    return folder


APPLY = {"min_confidence": 0.8}


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("consolidate.written", 6),
        pytest.param("consolidate.committed", 5, marks=pytest.mark.weekly),
    ],
)
def test_a_consolidation_is_whole_or_absent(store: Path, point: str, left: int) -> None:
    before = memories(store)
    call(store, "memory_consolidate_apply", APPLY, kill_at=point)
    found = memories(store)
    assert len(found) == left
    assert left == 5 or found == before
    call(store, "memory_consolidate_apply", APPLY)
    assert len(memories(store)) == 5


def test_a_run_of_insights_is_whole_or_absent(store: Path) -> None:
    generate = {"action": "generate"}
    call(store, "memory_insights", generate, kill_at="insights.written")
    assert call(store, "memory_insights")["insights"] == []
    assert len(call(store, "memory_insights", generate)["insights"]) == 1


@pytest.mark.parametrize("count", [2_100, pytest.param(100_000, marks=pytest.mark.weekly)])
def test_an_import_goes_on_where_it_was_killed(store: Path, count: int) -> None:
    at = {"created_at": "2026-01-02T00:00:00Z"}
    rows = [{"id": f"n{n}", **lesson(n), **at, "score": 0.5} for n in range(count)]
    given = {"version": 1, "memories": rows}
    call(store, "memory_import", given, kill_at="import.after_unit")
    assert len(memories(store)) == 6 + 2_000
    done = call(store, "memory_import", given)
    assert (done["imported"], done["skipped"]) == (count - 2_000, 2_000)
    found = [memory for memory in memories(store) if memory["id"].startswith("n")]
    assert len(found) == count
    assert {memory["score"] for memory in found} == {0.5}


def deed(tool: str, **more: Any) -> dict[str, Any]:
    return {"action": "engram", "tool": tool, "arguments": more}


CAUSE = [lesson(number, action="Renewed the token in time") for number in range(9)]
ADDED = ("add.before_commit", "add.after_commit")
CHANGED = ("change.after_pending", "change.before_commit", "change.after_commit")
NEW = {"id": "new", "created_at": "2026-01-02", "score": 0.25, **lesson(99)}
DEEDS = (
    (ADDED, deed("memory_store", **lesson(77))),
    (CHANGED, deed("memory_store", **{**LESSON, "action": f"{LESSON['action']}."})),
    (CHANGED, deed("memory_import", version=1, memories=[NEW])),
    (CHANGED, deed("memory_consolidate_apply", min_confidence=0.8)),
    (CHANGED, deed("memory_insights", action="generate")),
)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lessons of one cause, and two that are there in two wordings; one of these is pending."""
    needs_files()
    folder = tmp_path_factory.mktemp("engram") / "store"
    store = opened(folder)
    both = [{**LESSON, "result": f"{LESSON['result']}{end}", "project": "p"} for end in ("", ".")]
    at = {"created_at": "2026-01-02T00:00:00Z"}
    rows = [{"id": f"m{n}", **one, **at} for n, one in enumerate([*CAUSE, *both])]
    call_system(store, deed("memory_import", version=1, memories=rows))
    call_system(store, deed("memory_store", **LESSON))
    store.close()
    return folder


def states(folder: Path, done: dict[str, Any]) -> list[Any]:
    """What the store exports before and after a deed, and after the same once more."""
    store = opened(folder)
    found = []
    for one in (None, done, done):
        if one is not None:
            call_system(store, one)
        memories = call_system(store, deed("memory_export"))["memories"]
        hidden = {"id", "created_at", "updated_at"}
        told = [{k: v for k, v in m.items() if k not in hidden} for m in memories]
        found.append(sorted(told, key=str))
    store.close()
    return found


@pytest.mark.parametrize(
    ("point", "done"),
    [
        pytest.param(point, done, marks=() if point == points[-2] else pytest.mark.weekly)
        for points, done in DEEDS
        for point in points
    ],
    ids=lambda v: v if isinstance(v, str) else v["tool"],
)
def test_a_kill_leaves_a_deed_whole_or_absent(
    before: Path, tmp_path: Path, point: str, done: dict[str, Any]
) -> None:
    untouched, killed = tmp_path / "untouched", tmp_path / "killed"
    for folder in (untouched, killed):
        shutil.copytree(before, folder)
    old, new, _ = states(untouched, done)
    die_at(point, killed, done)
    found, *again = states(killed, done)
    assert found in (old, new)
    assert old != new
    assert again == [new, new]
