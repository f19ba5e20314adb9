"""What hooks have heard is taken in once and in order, whatever is killed meanwhile."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from day1.formats import spool
from day1.model.branches.branch import Branch
from day1.model.records.sharing import Handoff
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT, MESSAGE
from day1.model.values.parts import piece_of
from tests.flows.heard import all_taken, said, taken, the_conversation, waiting
from tests.flows.hooked_process import tell
from tests.flows.opened_store import make, opened
from tests.forkserver import python
from tests.wires.command_line import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "store")
    return tmp_path / "store"


def taker(folder: Path, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*python(), "-m", "tests.flows.hooked_process", "take", str(folder)],
        cwd=ROOT,
        env={**os.environ, "DAY1_EMBEDDER__KIND": "none", **environment},
        stdout=subprocess.PIPE,
    )


POINTS = ["taking.after_aside", "taking.after_unit", "taking.after_rows", "taking.after_drop", "fork.after_intent", "fork.after_engine", "fork.after_ledger"]  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_taker_loses_and_doubles_nothing(folder: Path, point: str) -> None:
    tell(folder, "session-start", session_id="one", source="fork")
    for turn in range(30):
        tell(folder, "prompt", prompt=f"{turn}", prompt_id=str(turn))
    with spool.path_of(folder, "one").open("ab") as file:
        file.write(b"damaged\n")
    tell(folder, "compacted", compact_summary="In short.", prompt_id="1")
    tell(folder, "session-end", reason="exit")
    for _ in range(2):
        with taker(folder, DAY1_KILL_AT=point) as process:
            assert process.stdout is not None
            if point not in {"taking.after_drop", "fork.after_ledger", "fork.after_engine"}:
                assert process.wait(60) == -signal.SIGKILL
            else:  # done, so the second one has nothing to do
                process.stdout.readline()
                process.kill()
    branch = "fork/claude-code-one"
    all_taken(folder)
    with opened(folder) as store:
        assert said(store, branch) == {"one claude-code": [("user", str(n)) for n in range(30)]}
        assert len(store.repo.ledger.records(Handoff)) == 1
        assert "ended" in str(the_conversation(store, branch)["detail"])
        forks = [b for b in store.repo.ledger.branches() if b.name.startswith("fork/")]
        assert [type(b) for b in forks] == [Branch]
    assert waiting(folder) == []
    assert len(list((folder / "spool" / "aside").iterdir())) == 1


def test_a_long_message_whose_taker_is_killed_between_its_parts_is_there_once(folder: Path) -> None:
    long = "".join(f"Line {n:05} of what was pasted.\n" for n in range(3_300))
    tell(folder, "prompt", prompt=long, prompt_id="1")
    tell(folder, "prompt", session_id="two", prompt=long)
    for _ in range(2):  # each ends after one more part
        with taker(folder, DAY1_KILL_AT="taking.after_part") as process:
            assert process.wait(60) == -signal.SIGKILL
    all_taken(folder)
    talks = taken(folder)
    assert len(talks) == 2
    for talk in talks.values():
        assert len(talk) == 4
        assert "".join(piece_of(text) for _, text in talk) == long


def test_a_thousand_events_of_eight_sessions_while_takers_are_killed(folder: Path) -> None:
    chance, sessions, each = random.Random(16), [f"session {n}" for n in range(8)], 125
    hooks = [
        subprocess.Popen(
            [*python(), "-m", "tests.flows.hooked_process", "hear", str(folder), name, str(each)],
            cwd=ROOT,
        )
        for name in sessions
    ]  # fmt: skip
    killed = 0
    while any(hook.poll() is None for hook in hooks) or killed < 6:
        takers = [taker(folder) for _ in range(2)]
        for process in takers:
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(chance.random() * 0.3)
        for process in takers:
            process.kill()
            process.communicate()
            killed += 1
    assert [hook.wait() for hook in hooks] == [0] * 8
    all_taken(folder)
    talks = taken(folder)
    wanted = [("assistant" if n % 2 else "user", n) for n in range(each)]
    assert talks == {
        f"{name} claude-code": [(role, f"{name} says {n}") for role, n in wanted]
        for name in sessions
    }
    with opened(folder) as store, store.repo.store.reading(Ref(branch="main")) as reading:
        assert reading.count(MESSAGE, {}) == 1_000
        assert reading.count(FACT, {}) == 3, "and nothing else"
