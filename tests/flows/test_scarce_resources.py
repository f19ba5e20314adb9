"""Processes that open a store together, a lock that is held too long, too many open files."""

import fcntl
import resource
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.flows.opened_store import (
    branches,
    call,
    digest,
    facts,
    opened,
    refused,
    write,
)
from tests.forkserver import python

ROOT = Path(__file__).parents[2]


def openers(running: ExitStack, count: int) -> list[subprocess.Popen[str]]:
    """Processes that wait for the name of a store."""
    return [
        running.enter_context(
            subprocess.Popen(
                [*python(), "-m", "tests.flows.opening_process", str(number)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        for number in range(count)
    ]


def test_processes_that_open_a_new_store_together_all_find_it(tmp_path):
    with ExitStack() as running:
        children = openers(running, 5)
        answers = [child.stdout for child in children if child.stdout]
        assert [answer.readline() for answer in answers] == ["ready\n"] * 5
        for turn in range(3):
            for child in children:
                print(tmp_path / str(turn), file=child.stdin, flush=True)
            assert [answer.readline() for answer in answers] == ["done\n"] * 5
        for child in children:
            assert child.stdin
            child.stdin.close()
    for turn in range(3):
        with opened(tmp_path / str(turn)) as opened_store:
            assert sorted(facts(opened_store)) == [f"fact {number}" for number in range(5)]
            assert branches(opened_store) == {"main", *(f"branch-{number}" for number in range(5))}
            assert opened_store.repo.store.check() == []


@pytest.mark.parametrize("lock", ["lock", "deeds.lock"])
def test_a_lock_held_for_longer_than_the_limit_is_said(store, lock):
    with opened(store, wait_s=0.1) as opened_store:
        action = {
            "lock": lambda: write(opened_store, "new"),
            "deeds.lock": lambda: call(opened_store, "memory_branch_create", branch_name="new"),
        }[lock]
        before = digest(store, "memory.db")
        with (store / lock).open("r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            error = refused(action, "store_busy", "0.1 s", "try again")
            assert error.retryable
            assert facts(opened_store) == ["one", "two", "three"]
            assert digest(store, "memory.db") == before
            with opened(store, wait_s=0.1) as other:
                assert branches(other) == {"main", "side"}
        action()


def test_too_many_open_files_is_not_taken_for_a_missing_branch(store):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with opened(store) as opened_store, ExitStack() as taken:
        handle = taken.enter_context((store / "memory.db").open("rb")).fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (handle + 1, limits[1]))
        try:
            refused(lambda: facts(opened_store, "side"), "store_unavailable")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert facts(opened_store, "side")[-1] == "aside"
