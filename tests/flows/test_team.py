"""Eight agents as processes on one task: nothing is lost, and all of it can be played again."""

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.interfaces.heads import ProcessHead
from day1.interfaces.open_store import OpenStore
from day1.services.access.caller import Caller
from day1.services.health.doctor import StoreLocation, check
from day1.settings import EmbedderSettings, SearchSettings, Settings
from day1.toolsets import TOOLSETS
from tests.flows.team import (
    Agent,
    Work,
    check_conversations,
    dated,
    found_in_flight,
    replay,
)
from tests.oracle.copying_store import CopyingMemory
from tests.suites.engine_memory import EngineMemory

AGENTS = 8
SECONDS = 20.0


def opened(folder: Path) -> OpenStore:
    settings = Settings(
        home=folder, embedder=EmbedderSettings(kind="none"), search=SearchSettings(chroma=False)
    )
    return open_store(settings, create=True)


def call(store: OpenStore, tool: str, **arguments: Any) -> dict[str, Any]:
    called = next(t for t in TOOLSETS.choose("core,review") if t.name == tool)
    caller = Caller(agent_id="lead", head=ProcessHead(store.repo, "main"))
    return called.call(store.context(caller), arguments)


@pytest.mark.parametrize(
    "killing",
    [
        pytest.param(False, id="undisturbed", marks=pytest.mark.weekly),
        pytest.param(True, id="one killed every second"),
    ],
)
def test_eight_agents_on_one_task_lose_nothing(
    tmp_path: Path, record_property: Any, killing: bool
) -> None:
    folder = tmp_path / "store"
    store = opened(folder)
    task = call(store, "memory_task_create", name="locks", objectives=[{"description": "look"}])
    up = task["branch_name"]
    oracle = CopyingMemory()
    oracle.fork(up, "main")
    shared = [
        call(store, "memory_write_fact", fact_text=f"Lock {n} waits.", branch=up) for n in range(10)
    ]
    names = [f"agent-{n}" for n in range(AGENTS)]
    joined = [
        call(store, "memory_task_join", task_id=task["task_id"], agent_id=n)["branch_name"]
        for n in names
    ]
    with EngineMemoryAt(folder) as engine:
        for row_id, row in engine.state(up)["facts"].items():
            oracle.add_fact(up, row_id, fact_text=row["fact_text"])
    for branch in joined:
        oracle.fork(branch, up)
    ids = [fact["id"] for fact in shared]
    works = [
        Work(Agent(folder, name), task["task_id"], up, branch, ids)
        for name, branch in zip(names, joined, strict=True)
    ]
    run(works, killing=killing)
    store.close()

    store = opened(folder)  # which recovers what a killed process left
    assert [wrong for work in works for wrong in work.wrong] == []
    events = [event for work in works for event in work.events]
    events = dated(store, [*events, *found_in_flight(store, works)])
    replay(oracle, events)
    for branch in joined:
        call(store, "memory_branch_merge", source_branch=branch, target_branch=up, strategy="auto")
        oracle.next_time = None
        oracle.merge(branch, up)
    messages = check_conversations(store, works)
    findings = check(
        store.repo, store.search, StoreLocation(1, 10**12, read_only=False, chroma=False)
    )
    assert [f for f in findings if f.level == "error"] == []
    store.close()
    with EngineMemoryAt(folder) as engine:
        for branch in (up, *joined):
            assert engine.state(branch) == oracle.state(branch), branch
            assert sorted(engine.held(branch), key=str) == sorted(oracle.held(branch), key=str)
    kills = sum(work.kills for work in works)
    assert bool(kills) == killing
    merges = sum(event.tool == "memory_branch_merge" for event in events)
    told = sum((work.calls for work in works), start=type(works[0].calls)())
    assert merges >= AGENTS / 2
    record_property(
        "summary",
        f"{told.total()} calls, {len(events)} units, {merges} merges, {messages} messages, "
        f"{kills} kills",
    )


def run(works: list[Work], *, killing: bool) -> None:
    """Let all of them work for a while, killing one each second if so asked."""
    for work in works:
        work.agent.ready()
    stop = threading.Event()
    threads = [threading.Thread(target=work.run, args=(stop,)) for work in works]
    for thread in threads:
        thread.start()
    end, lot = time.monotonic() + SECONDS, random.Random(8)
    while time.monotonic() < end and all(thread.is_alive() for thread in threads):
        time.sleep(1.0)  # a kill each second, for as long as they work
        if killing:
            lot.choice(works).agent.kill()
    stop.set()
    for thread in threads:
        thread.join()
    for work in works:
        work.agent.end()


class EngineMemoryAt:
    """The contract suite's look at a store."""

    def __init__(self, folder: Path) -> None:
        self._memory = EngineMemory(folder)

    def __enter__(self) -> EngineMemory:
        return self._memory

    def __exit__(self, *_: object) -> None:
        self._memory.close()
