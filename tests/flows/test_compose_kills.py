"""`kill -9` in a turn of Compose: it is whole or absent, and recording it again completes it.

`scripts/kills --loops 50` kills the server fifty times under loops that do all kinds of writes.
"""

import random
import shutil
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from day1.errors import NotFound
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, OBSERVATION
from day1.model.values.wallet_space import Owner
from day1.services.access.caller import Caller
from day1.toolsets.compose import COMPOSE
from tests.engine import needs_files
from tests.flows import killed_loops
from tests.flows.kill_scenarios import Process, die_at
from tests.flows.killed_process import call_system, opened
from tests.flows.test_processes import together
from tests.tool_threads import twelve_conversations

OF = {"agentWallet": "w", "threadId": "th1", "sessionId": "s1"}
EVENTS = [{"name": "grep", "result": "found"}]


def turn(name: str, **more: Any) -> dict[str, Any]:
    said = {
        "userMessage": f"Ask {name}.",
        "assistantMessage": f"Tell {name}.",
        "toolEvents": EVENTS,
    }
    return {
        "action": "compose",
        "tool": "turn_record",
        "arguments": {**OF, "turnId": name, **said, **more},
    }


PLAIN = turn("new")
FIRST = turn("new", threadId="th2", sessionId="s2", summary="The second.")
DESCRIBED = turn("new", summary="About the new one.")
KILLS = [
    *((point, deed) for deed in (PLAIN, FIRST) for point in ("turn.after_rows", "add.before_commit")),
    *((point, PLAIN) for point in ("add.after_commit", "turn.recorded")),
    *((point, DESCRIBED) for point in ("turn.after_rows", "change.before_commit")),
    *((point, DESCRIBED) for point in ("change.after_commit", "turn.recorded")),
]  # fmt: skip


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_files()
    folder = tmp_path_factory.mktemp("compose") / "store"
    store = opened(folder)
    call_system(store, turn("old", summary="About the old one."))
    store.close()
    return folder


def there(store: OpenStore, deed: dict[str, Any]) -> list[Any]:
    """The number of rows of each kind, and the transcript of the turn's thread, if there is one."""
    with store.repo.store.reading(Ref(branch="main")) as reading:
        counts = [reading.count(kind) for kind in (CONVERSATION, MESSAGE, OBSERVATION)]
    arguments = {"id": deed["arguments"]["threadId"], "agentWallet": "w"}
    try:
        answer: Any = COMPOSE.tools["transcript_get"].call(store.context(Caller()), arguments)
    except NotFound:
        return [counts]
    said = [message["content"] for message in answer["messages"]]
    return [counts, said, answer.get("summary")]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"action": "compose", "tool": tool, "arguments": {"agentWallet": "w", **arguments}}


RUN = [{"name": name, "result": "done", "status": "ok"} for name in ("grep", "edit", "test")]
KNOWN = "The mill in Selm has 90 spindles."
REMEMBER = call("remember", content="The mill in Bork has 12 spindles.")
REPLACE = call("remember", content="The mill in Selm has 99 spindles.", metadata={"key": "selm"})
COMPRESS = call("sessions_compress", sessionId="s1", coordinatorModel="any")
AGAIN = call("sessions_compress", sessionId="s2", coordinatorModel="any")
EXTRACT = call("jobs_create", type="patterns_extract")
ARCHIVE = call("jobs_create", type="archive_create")
ADDED = ("add.before_commit", "add.after_commit")
CHANGED = ("change.before_commit", "change.after_commit")
JOB = ("job.claimed", "job.before_commit", "job.after_commit")
DEEDS = [
    *((point, REMEMBER) for point in ADDED),
    *((point, REPLACE) for point in CHANGED),
    *((point, COMPRESS) for point in ADDED),
    *((point, AGAIN) for point in ("compress.written", *CHANGED)),
    *((point, EXTRACT) for point in ("patterns.written", *CHANGED, *JOB)),
    *((point, ARCHIVE) for point in ("archive.bundled", *CHANGED, *JOB)),
]


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a fact, threads that call the same tools, and a summary that is outdated."""
    needs_files()
    folder = tmp_path_factory.mktemp("worked") / "store"
    store = opened(folder)
    call_system(store, call("remember", content=KNOWN, metadata={"key": "selm"}))
    for thread in range(3):
        call_system(store, turn("a", threadId=f"t{thread}", sessionId="s1", toolEvents=RUN))
        call_system(store, turn("b", threadId=f"t{thread}", sessionId="s1", toolEvents=[]))
    for name, mill in (("c", "Selm"), ("d", "Bork")):
        if name == "d":
            call_system(store, AGAIN)
        said = f"The mill in {mill} has {len(mill)}0 spindles."
        call_system(store, turn(name, threadId="t9", sessionId="s2", userMessage=said))
    store.close()
    return folder


def facts(store: OpenStore) -> Counter[tuple[object, ...]]:
    """The facts of the branch by their category and status."""
    with store.repo.store.reading(Ref(branch="main")) as reading:
        rows = reading.find(FACT, Query())
    return Counter((row["category"], row["status"]) for row in rows)


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A store with a valid pattern, and the deed that makes a skill of it."""
    needs_files()
    folder = tmp_path_factory.mktemp("mined") / "store"
    store = opened(folder)
    twelve_conversations(store.repo, Owner("w"))
    call_system(store, EXTRACT)
    (pattern,) = call_system(store, call("patterns_list"))["patterns"]
    known = {"patternId": pattern["patternId"]}
    data = call_system(store, call("patterns_validate", **known))["validation"]
    store.close()
    return folder, call("patterns_promote", skillName="Fix", validationData=data, **known)


@pytest.mark.parametrize("point", ADDED)
def test_a_kill_leaves_a_skill_whole_or_absent(
    mined: tuple[Path, dict[str, Any]], tmp_path: Path, point: str
) -> None:
    killed_in(point, *mined, tmp_path)


@pytest.mark.parametrize(("point", "deed"), DEEDS)
def test_a_kill_leaves_what_is_written_whole_or_absent(
    worked: Path, tmp_path: Path, point: str, deed: dict[str, Any]
) -> None:
    killed_in(point, worked, deed, tmp_path)


def killed_in(point: str, worked: Path, deed: dict[str, Any], tmp_path: Path) -> None:
    """Kill the deed in a copy of a store, do it again there, and compare with another copy."""
    store = opened(worked)
    before = facts(store)
    store.close()
    untouched, killed = tmp_path / "untouched", tmp_path / "killed"
    for folder in (untouched, killed):
        shutil.copytree(worked, folder)
    store = opened(untouched)
    call_system(store, deed)
    whole = facts(store)
    store.close()
    assert whole != before
    die_at(point, killed, deed)
    store = opened(killed)
    assert facts(store) in (before, whole)
    call_system(store, deed)
    again = facts(store)
    store.close()
    assert again == whole or deed is ARCHIVE, "each archive is one of its own"
    assert again - whole <= Counter({("archive", "active"): 1})


@pytest.mark.parametrize(("point", "deed"), KILLS)
def test_a_kill_leaves_a_turn_whole_or_absent(
    before: Path, tmp_path: Path, point: str, deed: dict[str, Any]
) -> None:
    untouched, killed = tmp_path / "untouched", tmp_path / "killed"
    for folder in (untouched, killed):
        shutil.copytree(before, folder)
    states = []
    for folder in (untouched, killed):
        if folder is killed:
            die_at(point, killed, deed)
        store = opened(folder)
        found = there(store, deed)
        answer = call_system(store, deed)
        assert answer["stored"]["working"]
        states.append((found, there(store, deed)))
        store.close()
    (old, new), (left, again) = states
    assert left == (old if "before" in point or "rows" in point else new)
    assert again == new != old


def test_one_turn_from_four_processes_is_one_turn(before: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(before, folder)
    peers = [Process(folder) for _ in range(4)]
    answers: list[dict[str, Any]] = []
    start = threading.Barrier(len(peers))

    def record(peer: Process) -> None:
        start.wait()
        for _ in range(5):
            answer = peer.do(PLAIN)
            answers.append({name: part for name, part in answer.items() if name != "written"})

    together(*(lambda peer=peer: record(peer) for peer in peers))
    assert [peer.end() for peer in peers] == [(0, "")] * 4
    assert answers == answers[:1] * 20
    assert answers[0]["stored"] == {
        "transcript": True,
        "working": True,
        "vector": True,
        "graph": False,
    }
    assert answers[0]["vectorId"]
    store = opened(folder)
    assert there(store, PLAIN)[0] == [1, 6, 1]
    store.close()


def test_a_killed_server_keeps_what_loops_were_told_and_doubles_nothing(tmp_path: Path) -> None:
    needs_files()
    chance = random.Random(27)
    loops = [killed_loops.Loop(number, chance) for number in range(3)]
    for _ in range(4):
        killed_loops.kill(tmp_path / "store", loops, chance)
    killed_loops.finish(tmp_path / "store", loops)
    done: Counter[str] = sum((loop.done for loop in loops), Counter())
    assert done.keys() >= {"turn", "remember", "job", "schedule"}
    assert sum(loop.again for loop in loops) > 0
