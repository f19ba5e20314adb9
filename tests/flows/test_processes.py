"""Several processes on one store: nobody is lost, nobody waits for good, and time goes on."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.errors import StoreBusy
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.settings import EmbedderSettings, Settings, StoreSettings
from tests.flows import killed_process
from tests.flows.kill_scenarios import Action, Process, Refused, fact_id, facts_on

SECONDS = 2.0


def fact(text: str, branch: str = "main") -> Action:
    return {"action": "write", "branch": branch, "id": fact_id(), "text": text}


def together(*actions: Callable[[], None]) -> None:
    """Run in threads, and raise here what any of them raised."""
    failed: list[BaseException] = []

    def run(action: Callable[[], None]) -> None:
        try:
            action()
        except BaseException as exc:
            failed.append(exc)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def test_five_processes_write_one_store_and_see_each_other_at_once(tmp_path: Path) -> None:
    store = killed_process.opened(tmp_path)
    peers = [Process(tmp_path) for _ in range(5)]
    written: list[list[str]] = [[] for _ in peers]
    end = time.monotonic() + SECONDS

    def write(number: int) -> None:
        while time.monotonic() < end:
            action = fact(f"written by {number}")
            peers[number].do(action)
            assert killed_process.look(store, action) == [action["id"]]
            written[number].append(action["id"])

    together(*(lambda n=n: write(n) for n in range(5)))
    last = [row_ids[-1] for row_ids in written]
    for peer in peers:
        seen = [peer.do({"action": "look", "branch": "main", "id": row_id}) for row_id in last]
        assert seen == [[row_id] for row_id in last]
        assert peer.end() == (0, "")
    assert facts_on(store, "main").keys() == {row_id for each in written for row_id in each}
    store.close()


def test_who_waits_too_long_for_the_lock_is_told_so(tmp_path: Path) -> None:
    store = killed_process.opened(tmp_path)
    short = StoreSettings(wait_s=0.2)
    hasty = open_store(Settings(home=tmp_path, store=short, embedder=EmbedderSettings(kind="none")))
    with store.repo.store.adding("main"):
        started = time.monotonic()
        with pytest.raises(StoreBusy) as busy:
            killed_process.write(hasty, fact("too late"))
        assert time.monotonic() - started >= 0.2
    assert busy.value.retryable
    again = fact("in time")
    killed_process.write(hasty, again)
    assert facts_on(store, "main") == {again["id"]: "in time"}
    hasty.close()
    store.close()


def test_of_two_forks_of_one_name_one_wins(tmp_path: Path) -> None:
    store = killed_process.opened(tmp_path)
    peers = [Process(tmp_path) for _ in range(2)]
    for number in range(5):
        name = f"task-{number}"
        refused: list[Any] = []
        start = threading.Barrier(2)

        def fork(peer: Process, name: str = name, refused: list[str] = refused) -> None:
            start.wait()  # noqa: B023 - used up before the next turn
            try:
                peer.do({"action": "fork", "name": name, "parent": "main"})
            except Refused as exc:
                refused.append(str(exc))

        together(*(lambda peer=peer: fork(peer) for peer in peers))
        assert refused == ["branch_exists"]
        assert [b.name for b in store.repo.ledger.branches()].count(name) == 1
        assert name in store.repo.history.branches()
    assert not store.repo.ledger.open_intents()
    assert [peer.end() for peer in peers] == [(0, "")] * 2
    store.close()


def test_a_clock_that_is_behind_does_not_turn_time_back(tmp_path: Path) -> None:
    store = killed_process.opened(tmp_path)
    ahead, behind = Process(tmp_path), Process(tmp_path, behind_s=10)
    actions = [fact(f"number {number}") for number in range(8)]
    for number, action in enumerate(actions):
        (behind if number % 2 else ahead).do(action)
        if number == 3:
            behind.do(
                {"action": "change", "branch": "main", "id": actions[0]["id"], "text": "changed"}
            )
    with store.repo.store.reading(Ref(branch="main")) as reading:
        at: dict[Any, Any] = {str(r["id"]): r["created_at"] for r in reading.find(FACT, Query())}
    times = [at[action["id"]] for action in actions]
    assert times == sorted(set(times))
    stamps = [commit.ts for commit in store.repo.history.log("main")]
    assert stamps == sorted(set(stamps), reverse=True)
    for number, moment in enumerate(times):
        with store.repo.store.reading(Ref(branch="main", until=moment)) as then:
            assert then.count(FACT) == number + 1
    assert [ahead.end(), behind.end()] == [(0, "")] * 2
    store.close()
