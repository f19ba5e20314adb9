"""`kill -9` in a deed of Kompanion: it is whole or absent, and doing it again completes it."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.contexts.keyed import CONTEXT, context_id
from day1.model.rows.change import Ref
from day1.model.rows.kind import EDIT, OBSERVATION
from day1.services.access.caller import Caller
from day1.toolsets.kompanion import KOMPANION
from tests.engine import needs_files
from tests.flows.kill_scenarios import Killed, Process, die_at
from tests.flows.killed_process import call_system, opened
from tests.flows.test_processes import together

HERE = {"namespace": "project:metal"}
OLD = [f"Bolt {number} is loose." for number in range(30)]
NEW = [*(f"Bolt {number} is tight." for number in range(3)), *OLD[3:], "Bolt 30 is new."]
ADDED = ("add.before_commit", "add.after_commit")
CHANGED = ("change.after_pending", "change.before_commit", "change.after_commit")
EMBEDDED = ("embed.vectors_written", "embed.before_commit")


def items(texts: list[str]) -> list[dict[str, Any]]:
    return [{"id": f"n{number}", "text": text} for number, text in enumerate(texts)]


def deed(tool: str, **more: Any) -> dict[str, Any]:
    return {"action": "kompanion", "tool": tool, "arguments": {**HERE, **more}}


SAVE = deed("save_context", key="plan", content={"step": 1})
REPLACE = deed("save_context", key="first", content={"step": 2})
UPSERT = deed("upsert_memory", items=items(NEW))
FRESH = deed("upsert_memory", items=[{"id": "fresh", "text": "A nut is missing."}])
SYNC = deed("sync_semantic", max_batch=3)
WARM = deed("warm_cache")
KILLS = [
    *((point, SAVE) for point in ADDED),
    *((point, REPLACE) for point in CHANGED),
    *((point, FRESH) for point in ADDED),
    *((point, UPSERT) for point in CHANGED),
    *((point, SYNC) for point in (*ADDED, *EMBEDDED)),
    *((point, WARM) for point in EMBEDDED),
]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_files()
    folder = tmp_path_factory.mktemp("kompanion") / "store"
    store = opened(folder)
    for number in range(5):
        content = {"note": f"Wheel {number} turns."}
        call_system(
            store, deed("save_context", key=["first", f"k{number}"][number > 0], content=content)
        )
    call_system(store, deed("upsert_memory", items=items(OLD)))
    store.close()
    return folder


def there(store: OpenStore) -> dict[str, Any]:
    """All that the namespace holds, as its tools tell it."""
    ctx = store.context(Caller())
    kept = KOMPANION.tools["recall_context"].call(ctx, {**HERE, "limit": 200})["items"]
    found = KOMPANION.tools["search_memory"].call(
        ctx, {**HERE, "query": {"text": "bolt nut wheel turns is loose tight", "k": 200}}
    )["matches"]
    assert isinstance(kept, list)
    assert isinstance(found, list)
    return {
        "contexts": {item["key"]: item["content"] for item in kept},
        "texts": sorted((match["id"], match["text"]) for match in found),
    }


def states(folder: Path, *deeds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the namespace holds before and after each deed."""
    store = opened(folder)
    yield there(store)
    for one in deeds:
        call_system(store, one)
        yield there(store)
    store.close()


@pytest.mark.parametrize(
    ("point", "done"), KILLS, ids=lambda v: v if isinstance(v, str) else v["tool"]
)
def test_a_kill_leaves_a_deed_whole_or_absent(
    before: Path, tmp_path: Path, point: str, done: dict[str, Any]
) -> None:
    untouched, killed = tmp_path / "untouched", tmp_path / "killed"
    for folder in (untouched, killed):
        shutil.copytree(before, folder)
    old, new = states(untouched, done)
    die_at(point, killed, done)
    found, again = states(killed, done)
    assert found in (old, new)
    if done is SYNC:  # what was cut off may be whole, and then this was the next batch
        assert len(again["texts"]) in {len(new["texts"]), len(new["texts"]) + 3}
    else:
        assert again == new


def test_a_killed_promotion_is_finished_by_the_next(before: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(before, folder)
    for point in ADDED:
        die_at(point, folder, deed("sync_semantic", max_batch=2))
    store = opened(folder)
    left = [call_system(store, deed("sync_semantic", max_batch=2)) for _ in range(3)]
    store.close()
    assert [(done["processed"], done["pending"]) for done in left] == [(2, 1), (1, 0), (0, 0)]


def values_of_first(folder: Path) -> set[str]:
    """Every value that the context `first` had after its first one; no row or edit is doubled."""
    row_id = context_id("project:metal", "first")
    store = opened(folder)
    with store.repo.store.reading(Ref(branch="main")) as reading:
        edits = reading.count(EDIT, {"row_id": row_id})
        contexts = reading.count(OBSERVATION, {"observation_type": CONTEXT})
        versions = store.repo.history.versions(OBSERVATION, row_id, reading.tip)
    store.close()
    texts = {str(row["summary"]) for row in versions.values()}
    assert (contexts, edits) == (5, len(texts) - 1)
    return {text.removeprefix("step: ") for text in texts if text.startswith("step: ")}


@pytest.mark.parametrize("point", [None, *CHANGED[1:]])
def test_two_processes_that_replace_one_key_lose_no_update(
    before: Path, tmp_path: Path, point: str | None
) -> None:
    """One of them may be killed in its first replacement, while the other one goes on."""
    folder = tmp_path / "store"
    shutil.copytree(before, folder)
    peers = {"a": Process(folder, kill_at=point), "b": Process(folder)}
    acknowledged: list[str] = []
    start = threading.Barrier(2)

    def replace(name: str) -> None:
        start.wait()
        for number in range(8):
            value = f"{name}{number}"
            try:
                peers[name].do(deed("save_context", key="first", content={"step": value}))
            except Killed:
                return
            acknowledged.append(value)

    together(*(lambda name=name: replace(name) for name in peers))
    for peer in peers.values():
        peer.end()
    # One that was killed after its commit was not told of it.
    unheard = {"a0"} if point == "change.after_commit" else set()
    assert values_of_first(folder) == {*acknowledged, *unheard}
    assert len(acknowledged) == (16 if point is None else 8)
