"""A call is made again because its answer never came: the process died, or there are two of it."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.interfaces.heads import ProcessHead
from day1.interfaces.open_store import OpenStore
from day1.model.records.merge_record import MergeRecord
from day1.model.records.task import Task
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, MEMORIES
from day1.services.access.caller import Caller
from day1.settings import EmbedderSettings, Settings
from tests.engine import store_settings, variables
from tests.flows.opened_store import TOOLS
from tests.forkserver import python

ROOT = Path(__file__).parents[2]
Call = tuple[str, dict[str, Any]]
SAID: Call = ("memory_write_fact", {"fact_text": "Ada drinks tea.", "request_id": "one"})
CUT_OFF = [
    ("add.after_commit", SAID),
    (
        "add.after_commit",
        (
            "memory_write_observation",
            {"observation_type": "insight", "summary": "Tea.", "request_id": "one"},
        ),
    ),
    (
        "add.after_commit",
        ("memory_log_message", {"role": "user", "content": "Tea?", "request_id": "one"}),
    ),
    ("fork.after_engine", ("memory_branch_create", {"branch_name": "new", "request_id": "one"})),
    ("fork.after_ledger", ("memory_task_create", {"name": "tea", "request_id": "one"})),
    (
        "merge.after_engine",
        (
            "memory_branch_merge",
            {"source_branch": "side", "strategy": "squash", "request_id": "one"},
        ),
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a fact on the branch `side`."""
    made = tmp_path / "store"
    answered(made, ("memory_branch_create", {"branch_name": "side"}))
    answered(made, ("memory_write_fact", {"fact_text": "Bo keeps bees.", "branch": "side"}))
    return made


def opened(folder: Path) -> OpenStore:
    embedder = EmbedderSettings(kind="none")
    settings = Settings(home=folder, embedder=embedder, store=store_settings(folder))
    return open_store(settings, create=True)


def answered(folder: Path, call: Call) -> dict[str, Any]:
    """Open the store, as a later process does, and call a tool as the same agent."""
    with closing(opened(folder)) as store:
        context = store.context(Caller(agent_id="ada", head=ProcessHead(store.repo, "main")))
        answer: dict[str, Any] = TOOLS[call[0]].call(context, call[1])
        return answer


def ask(folder: Path, call: Call, **environment: str) -> dict[str, Any] | None:
    """Call a tool in a process of its own; None if it died before it answered."""
    done = subprocess.run(
        [*python(), "-m", "tests.flows.agent_process", str(folder), "ada"],
        input=json.dumps({"tool": call[0], "arguments": call[1]}) + "\n",
        env={**os.environ, **variables(folder), **environment},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return answers[1]["answer"] if answers[1:] else None


def held(folder: Path) -> dict[str, Any]:
    """Rows by branch, and what the ledger has of merges and tasks."""
    store = opened(folder)
    found: dict[str, Any] = {}
    for branch in store.repo.history.branches():
        with store.repo.store.reading(Ref(branch=branch)) as reading:
            found[branch] = sorted(
                str(row["id"]) for kind in MEMORIES for row in reading.find(kind, Query())
            )
    found["merges"] = [record.id for record in store.repo.ledger.records(MergeRecord)]
    found["tasks"] = [task.id for task in store.repo.ledger.records(Task)]
    store.close()
    return found


@pytest.mark.parametrize(("point", "call"), CUT_OFF, ids=[call[0] for _, call in CUT_OFF])
def test_a_call_whose_answer_was_lost_is_made_again(folder: Path, point: str, call: Call) -> None:
    """F4: killed between its commit and its answer, a call made again finds what it did."""
    before = held(folder)
    assert ask(folder, call, DAY1_KILL_AT=point) is None
    again = answered(folder, call)
    once = held(folder)
    assert once != before
    assert answered(folder, call) == again
    assert held(folder) == once


@pytest.mark.parametrize("request_id", ["one", None])
def test_two_processes_that_say_the_same_at_once_write_it_once(
    folder: Path, request_id: str | None
) -> None:
    """F4: which of the two comes first is decided under the branch's lock."""
    call = (SAID[0], {**SAID[1], "request_id": request_id})
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: ask(folder, call), range(2))
    assert first is not None
    assert second is not None
    assert first["id"] == second["id"]
    store = opened(folder)
    with store.repo.store.reading(Ref(branch="main")) as reading:
        assert reading.count(FACT) == 1
    store.close()
