"""The files by which processes of a store's folder know of one another: leases and failing chores."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from day1.adapters.chore_file import FILE, ChoreFile
from day1.adapters.file_lease import FileLease
from day1.app.background import failures_of, lease_of
from day1.app.leases import LeasePlace
from day1.app.stores import place_of
from day1.errors import Day1Error
from day1.services.health.doctor import check
from day1.services.upkeep.chores import ChoreState
from day1.services.upkeep.ledger_lease import LedgerLease
from tests.flows.opened_store import make, opened

HOLDER = """
import sys
from pathlib import Path
from day1.adapters.file_lease import FileLease
lease = FileLease(Path(sys.argv[1]))
print(lease.acquire(), flush=True)
sys.stdin.read()
"""


def test_one_process_of_a_folder_holds_a_lease_until_it_gives_it_back_or_dies(
    tmp_path: Path,
) -> None:
    path = tmp_path / "consolidate.lock"
    mine, other = FileLease(path), FileLease(path)
    assert [mine.acquire(), other.acquire(), mine.acquire()] == [True, False, True]
    other.release()
    assert not other.acquire()
    mine.release()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not mine.acquire()
        process.kill()
        process.wait()
        assert mine.acquire(), "the kernel frees the lock of a process that died"
    mine.release()


def test_a_lease_in_a_folder_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(Day1Error):
        FileLease(tmp_path / "gone" / "it.lock").acquire()


def test_the_lease_of_a_store_fits_its_place(tmp_path: Path) -> None:
    make(tmp_path / "store")
    with opened(tmp_path / "store") as store:
        lease = lease_of(store, "consolidate")
        assert isinstance(lease, FileLease)
        assert lease.acquire()
        assert not lease_of(store, "consolidate").acquire()
        assert lease_of(store, "cleanup").acquire()
        lease.release()
        on_server = replace(store, node="node_1")
        assert isinstance(lease_of(on_server, "consolidate"), LedgerLease)


def test_others_are_told_whether_a_lease_is_held(tmp_path: Path) -> None:
    make(tmp_path / "store")
    with opened(tmp_path / "store") as store:
        for node in ("", "node_1"):
            ledger, present = store.repo.ledger, store.repo.store.present
            place = LeasePlace(store.folder, node, ledger, store.clock, present)
            assert not place.is_held("jobs")
            assert not (store.folder / "jobs.lock").exists() or node
            lease = place.lease("jobs")
            assert lease.acquire()
            assert place.is_held("jobs")
            assert not place.is_held("cleanup")
            late = replace(place, clock=lambda: store.clock() + 61_000_000)
            assert late.is_held("jobs") is (node == ""), "a record expires, a lock does not"
            lease.release()
            assert not place.is_held("jobs")


def test_the_failing_chores_of_processes_that_live_are_known(tmp_path: Path) -> None:
    file, path = ChoreFile(tmp_path), tmp_path / FILE
    file.note({"index": None})
    assert not path.exists(), "where all work there is no file"
    file.note({"index": "store_busy", "commit": None})
    file.note({"noticing": "OSError"})
    assert file.failing() == [("index", "store_busy"), ("noticing", "OSError")]
    other = json.loads(path.read_text())
    other["processes"] |= {"1": {"embed": "KeyError"}, "999999999": {"gone": "KeyError"}}
    path.write_text(json.dumps(other))
    assert [name for name, _ in file.failing()] == ["embed", "index", "noticing"]
    file.note({"index": None, "noticing": None})
    assert file.failing() == [("embed", "KeyError")], "another process's stay"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"processes": 3}', '{"processes": {"x": {}}}'])
def test_a_damaged_file_of_chores_names_none_and_is_written_anew(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / FILE).write_text(content)
    file = ChoreFile(tmp_path)
    assert file.failing() == []
    file.note({"index": "store_busy"})
    assert file.failing() == [("index", "store_busy")]
    assert json.loads((tmp_path / FILE).read_text())["processes"] == {
        str(os.getpid()): {"index": "store_busy"}
    }


def test_doctor_names_a_chore_that_fails_until_it_works_again(tmp_path: Path) -> None:
    make(tmp_path / "store")
    with opened(tmp_path / "store") as store:
        report = failures_of(store)

        def found() -> list[str]:
            findings = check(store.repo, store.search, place_of(store))
            return [str(one.text) for one in findings if one.name == "chores"]

        assert found() == []
        report({"index": ChoreState(0, 1, "store_busy"), "commit": ChoreState(0)})
        assert found() == ["fail in a day1 server on this machine: index (store_busy)"]
        report({"index": ChoreState(0), "commit": ChoreState(0)})
        assert found() == []
