"""A branch is deleted or retired beside processes that write to it.

`DAY1_TEST_DELETIONS` says how many branches are; each run tries a few.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from day1.errors import Conflict, StoreBusy, UnknownBranch
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import Branch
from day1.model.records.desk import Desk
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.services.branches import deleting, forking, lookup, retiring
from day1.services.repository.repository import Repository
from day1.toolsets.gwt import GWT
from tests.flows.opened_store import call, facts, make, opened, write
from tests.flows.writing_process import THREADS
from tests.forkserver import python

DELETIONS = int(os.environ.get("DAY1_TEST_DELETIONS", "4"))
PROCESSES = 2
ROOT = Path(__file__).resolve().parents[2]
LEAVE: dict[str, Callable[[Repository, Branch, int], Branch]] = {
    "delete": lambda repo, branch, now: deleting.delete(repo, branch, "main", now),
    "retire": retiring.retire,
}
WHILE_UNDECIDED = {"delete": "delete.after_keep", "retire": "retire.marked"}


class Died(BaseException):
    """As good as a kill: nothing in day1 catches it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "store", "one")
    return tmp_path / "store"


@pytest.fixture
def writers(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that write to the branches that they are told."""
    with ExitStack() as stack:
        processes = []
        for number in range(PROCESSES):
            process = stack.enter_context(
                subprocess.Popen(
                    [*python(), "-m", "tests.flows.writing_process", str(folder), f"w{number}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=ROOT,
                    text=True,
                )
            )
            stack.callback(process.kill)
            assert _line(process) == "ready\n"
            processes.append(process)
        yield processes


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _tell(process: subprocess.Popen[str], branch: str) -> None:
    assert process.stdin is not None
    print(branch, file=process.stdin, flush=True)


def _rows_at(store: OpenStore, commit: str | None) -> set[str]:
    with store.repo.store.reading(Ref(commit=commit)) as reading:
        return {str(row_id) for (row_id,) in reading.scan(FACT, ("id",), Query())}


@pytest.mark.parametrize("how", LEAVE)
def test_a_branch_goes_beside_writers_with_all_that_they_were_told_is_written(
    folder: Path, writers: list[subprocess.Popen[str]], how: str
) -> None:
    with opened(folder) as store:
        for number in range(DELETIONS):
            name = f"busy{number}"
            forking.create(store.repo, name, lookup.find(store.repo, "main"), store.clock())
            for process in writers:
                _tell(process, name)
            before = len(facts(store))
            while len(facts(store, name)) < before + 4 * PROCESSES * THREADS:
                time.sleep(0.002)
            decided: list[float] = []

            def point(at: str, decided: list[float] = decided) -> None:
                if at == WHILE_UNDECIDED[how]:
                    decided.append(time.monotonic())

            repo = replace(store.repo, point=point)
            gone = LEAVE[how](repo, lookup.find(store.repo, name), store.clock())
            reports = [json.loads(_line(process)) for process in writers]
            acknowledged = {one for report in reports for one in report["acknowledged"]}
            assert acknowledged <= _rows_at(store, gone.retired_tip)
            for refusal in (one for report in reports for one in report["refusals"]):
                assert refusal["retryable"] or refusal["code"] == UnknownBranch.code
                assert refusal["retryable"] or refusal["at"] >= decided[0]
            assert name not in store.repo.history.branches()


@pytest.mark.parametrize("how", LEAVE)
def test_while_it_is_undecided_a_write_waits_or_may_be_tried_again(folder: Path, how: str) -> None:
    """And a branch that stays, since deleting its ref failed, then takes the write."""
    with opened(folder) as store, opened(folder, wait_s=0.1) as other:

        def point(at: str) -> None:
            if at == WHILE_UNDECIDED[how]:
                with pytest.raises(StoreBusy):
                    write(other, "meanwhile", branch="side")
                with pytest.raises(StoreBusy), other.repo.store.adding("side"):
                    pass  # by a writer that found the branch before it was marked
                raise Conflict("The ref cannot be deleted.")

        with pytest.raises(Conflict):
            LEAVE[how](
                replace(store.repo, point=point), lookup.find(store.repo, "side"), store.clock()
            )
        write(other, "afterwards", branch="side")
        assert facts(store, "side")[-1] == "afterwards"


@pytest.mark.parametrize(
    ("how", "at"),
    [
        ("delete", "delete.after_intent"),
        ("delete", "delete.after_keep"),
        ("delete", "delete.after_engine"),
        ("retire", "retire.after_intent"),
        ("retire", "retire.marked"),
        ("retire", "retire.after_engine"),
    ],
)
def test_a_process_that_runs_on_finds_out_what_became_of_the_branch(
    folder: Path, how: str, at: str
) -> None:
    """Of one that died in the middle: nobody opens the store anew, and nobody asks for a lock."""
    with opened(folder) as other:
        write(other, "before", branch="side")
        with opened(folder) as store:

            def point(name: str) -> None:
                if name == at:
                    raise Died

            branch = lookup.find(store.repo, "side")
            with pytest.raises(Died):
                LEAVE[how](replace(store.repo, point=point), branch, store.clock())
        if at.endswith("after_engine"):
            with pytest.raises(UnknownBranch):
                write(other, "too late", branch="side")
            assert "side" not in other.repo.history.branches()
        else:
            write(other, "afterwards", branch="side")
            assert facts(other, "side")[-2:] == ["before", "afterwards"]


def test_a_writer_that_knew_the_branch_is_told_that_it_is_gone(folder: Path) -> None:
    """Its process has a connection on the branch, which the engine keeps open."""
    with opened(folder) as store, opened(folder) as other:
        write(other, "before", branch="side")
        deleting.delete(store.repo, lookup.find(store.repo, "side"), "main", store.clock())
        with pytest.raises(UnknownBranch), other.repo.store.adding("side"):
            pass
        call(store, "memory_branch_create", branch_name="side")
        write(other, "to the new one", branch="side")
        assert facts(store, "side") == ["one", "to the new one"]


@pytest.mark.parametrize("dies_at", ["delete.after_engine", "delete.after_ledger", None])
def test_a_deleted_branch_takes_its_desks_along(folder: Path, dies_at: str | None) -> None:
    with opened(folder) as store, opened(folder) as other:
        for branch in ("side", "main"):
            caller = caller_of(store.settings, ProcessHead(store.repo, branch), None)
            goal = {"description": f"a goal on {branch}"}
            GWT.tools["gwt_set_goal"].call(store.context(caller), goal)

        def point(name: str) -> None:
            if name == dies_at:
                raise Died

        with pytest.raises(Died) if dies_at else nullcontext():
            side = lookup.find(store.repo, "side")
            deleting.delete(replace(store.repo, point=point), side, "main", store.clock())
        other.repo.ledger.recover_orphans()
        desks = other.repo.ledger.records(Desk)
        assert ["a goal on main" in desk.value for desk in desks] == [True]
