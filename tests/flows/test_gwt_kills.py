"""`kill -9` in a call of gwt: its rows are whole or absent, and the same call completes it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT, OBSERVATION, RELATION
from day1.services.access.caller import Caller
from day1.toolsets.gwt import GWT
from tests.engine import needs_files
from tests.flows.kill_scenarios import die_at
from tests.flows.killed_process import call_system, opened


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"action": "gwt", "tool": tool, "arguments": arguments}


STORE = call("gwt_store", content="The mill in Bork has 12 spindles.", tags=["mill"])
LINE = '{"content": "The mill in Unna has 7 spindles."}'
IMPORT = call("gwt_import_memory", jsonl=LINE)
REPLACE = call("gwt_restore_memory", jsonl=LINE, mode="replace", confirm="RESTORE_REPLACE")
COMPACT = call("gwt_compact_working_memory", max_items=1, dry_run=False, confirm="COMPACT_WORKING")
RESET = call("gwt_reset", scope="persistent", confirm="RESET_PERSISTENT")
CHANGED = ("change.before_commit", "change.after_commit")
KILLS = [
    *((point, STORE) for point in ("add.before_commit", "add.after_commit", "gwt.stored")),
    *((point, IMPORT) for point in ("gwt.imported", *CHANGED)),
    *((point, REPLACE) for point in ("gwt.snapshot", "gwt.replaced", *CHANGED)),
    *((point, COMPACT) for point in ("gwt.compacted", *CHANGED)),
    *((point, RESET) for point in ("gwt.snapshot", "gwt.reset", *CHANGED)),
]
WRITTEN = {"add.after_commit", "change.after_commit", "gwt.stored"}
"""Points at which the rows of a call are durable."""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_files()
    folder = tmp_path_factory.mktemp("gwt") / "store"
    store = opened(folder)
    first = call_system(store, call("gwt_store", content="The mill in Selm has 90 spindles."))
    call_system(store, call("gwt_store", content="Its owner is Ada.", link_to=first["id"]))
    for number in range(3):
        note = {"content": f"Note {number} on mills.", "memory_type": "working"}
        call_system(store, call("gwt_store", **note, link_to=first["id"]))
    store.close()
    return folder


def counts(store: OpenStore) -> dict[str, int]:
    """The number of rows of each kind, and of memories that wait for a place."""
    with store.repo.store.reading(Ref(branch="main")) as reading:
        rows = {kind.table: reading.count(kind) for kind in (FACT, OBSERVATION, RELATION)}
    inspected: Any = GWT.tools["gwt_inspect"].call(store.context(Caller()), {"target": "buffer"})
    return {**rows, "waiting": len(inspected["items"])}


@pytest.mark.parametrize(("point", "deed"), KILLS)
def test_a_kill_leaves_rows_whole_or_absent(
    before: Path, tmp_path: Path, point: str, deed: dict[str, Any]
) -> None:
    untouched, killed = tmp_path / "untouched", tmp_path / "killed"
    for folder in (untouched, killed):
        shutil.copytree(before, folder)
    store = opened(untouched)
    old = counts(store)
    call_system(store, deed)
    new = counts(store)
    store.close()
    assert new != old
    die_at(point, killed, deed)
    store = opened(killed)
    left = counts(store)
    is_written = point in WRITTEN
    assert {**left, "waiting": 0} == {**(new if is_written else old), "waiting": 0}
    assert left["waiting"] == old["waiting"], "a kill loses no more than the place of the new row"
    call_system(store, deed)
    assert counts(store) == new
    store.close()
