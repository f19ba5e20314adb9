"""Intents that end at each lock, statement and commit of theirs: what is left is whole.

A step is what a process says to an engine, to the ledger or to a lock. From the one at which it
dies it says nothing more: it frees no lock and rolls nothing back. Only its connections and files
are closed, as the kernel does.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import Engine, event

from day1.adapters import flock
from day1.model.records.merge_record import MergeRecord
from day1.services.branches import deleting, forking, lookup, retiring
from day1.services.merges import merging, planning
from tests import servers
from tests.sampling import sampled
from tests.suites.engine_memory import EngineMemory

EVERY = 64
"""More than any of these calls has, steps beyond the last change nothing."""
STEPS = sampled(range(1, EVERY), {1, 4, 9, *range(11, 60, 4)})


class Died(BaseException):
    """Nothing in day1 catches it."""


@contextmanager
def dying(at: int) -> Iterator[list[int]]:
    """Let this thread die at its step of that number; gives how many it began."""
    steps, thread = [0], threading.get_ident()

    def step(*_: Any) -> None:
        if threading.get_ident() == thread:
            steps[0] += 1
            if steps[0] >= at:
                raise Died

    take = flock.take

    def taken(*args: Any) -> flock.LockHandle | None:
        step()
        return take(*args)

    with patch.object(flock, "take", taken):
        for name in ("before_cursor_execute", "commit"):
            event.listen(Engine, name, step)
        try:
            yield steps
        finally:
            for name in ("before_cursor_execute", "commit"):
                event.remove(Engine, name, step)


def fork(memory: EngineMemory, name: str) -> None:
    forking.create(memory.repo, name, lookup.find(memory.repo, "main"), memory.clock())


def merge(memory: EngineMemory, name: str) -> None:
    ends = lookup.find(memory.repo, name), lookup.find(memory.repo, "main")
    request = planning.MergeRequest(*ends, "auto")
    merging.merge(memory.repo, request, memory.origin, memory.clock())


def delete(memory: EngineMemory, name: str) -> None:
    deleting.delete(memory.repo, lookup.find(memory.repo, name), "main", memory.clock())


def retire(memory: EngineMemory, name: str) -> None:
    retiring.retire(memory.repo, lookup.find(memory.repo, name), memory.clock())


def revive(memory: EngineMemory, name: str) -> None:
    branch = memory.ledger.branch(name)
    assert branch is not None
    retiring.revive(memory.repo, branch, memory.clock())


def retired(memory: EngineMemory, name: str) -> None:
    changed(memory, name)
    retire(memory, name)


def changed(memory: EngineMemory, name: str) -> None:
    """A branch with a fact of its own."""
    fork(memory, name)
    memory.add_fact(name, f"fact_{name}", fact_text=f"of {name}")


Act = Callable[[EngineMemory, str], None]
ACTS: dict[str, tuple[Act | None, Act]] = {
    "fork": (None, fork),
    "merge": (changed, merge),
    "delete": (changed, delete),
    "retire": (changed, retire),
    "revive": (retired, revive),
}
"""What is there before, and what is cut off."""


@pytest.fixture(scope="module", params=["folder", "dolt"])
def where(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path | str]:
    """A store that all these tests change, each on a branch of its own."""
    if request.param == "folder":
        yield tmp_path_factory.mktemp("cut")
        return
    with servers.database(request.getfixturevalue("dolt_url")) as url:
        yield url


@pytest.fixture(scope="module")
def peer(where: Path | str) -> Iterator[EngineMemory]:
    """Another process on that store, which lives on."""
    peer = EngineMemory(where, agent="two")
    yield peer
    peer.close()


def facts_on(memory: EngineMemory) -> int:
    return len(memory.state("main")["facts"])


def standing(memory: EngineMemory) -> set[str]:
    """Every branch of the ledger that has a ref."""
    return {branch.name for branch in memory.ledger.branches() if branch.retired_tip is None}


@pytest.mark.parametrize("at", STEPS)
@pytest.mark.parametrize("act", ACTS)
def test_an_intent_that_is_cut_off_is_whole_or_absent(
    where: Path | str, peer: EngineMemory, act: str, at: int
) -> None:
    before, action = ACTS[act]
    name = f"{act}-{at}"
    if before is not None:
        before(peer, name)
    facts = facts_on(peer)
    cut = EngineMemory(where, peer.clock, "one")
    with closing(cut), suppress(Died), dying(at):
        action(cut, name)
    peer.ledger.recover_orphans()
    assert peer.ledger.open_intents() == []
    assert standing(peer) == peer.repo.history.branches().keys()
    merged = [commit for commit in peer.repo.history.log("main") if commit.op == "merge"]
    assert {commit.id for commit in merged} == {r.commit for r in peer.ledger.records(MergeRecord)}
    done = {"fork": name in standing(peer), "revive": name in standing(peer)}
    done |= {"delete": name not in standing(peer), "retire": name not in standing(peer)}
    done["merge"] = facts_on(peer) == facts + 1
    if not done[act]:
        assert facts_on(peer) == facts
        action(peer, name)  # no lock is left behind
    else:
        with peer.ledger.exclusive():  # nor here
            pass
