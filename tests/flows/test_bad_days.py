"""The disk is full, the folder read-only, somebody in the way: it is said, and harms nothing."""

import fcntl
import os
import resource
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.errors import Day1Error
from tests.flows.opened_store import (
    MERGE,
    SIDES,
    branches,
    call,
    digest,
    facts,
    fill,
    make,
    mount,
    mounted,
    open_and_close,
    opened,
    read_only,
    refused,
    write,
)

ROOT = Path(__file__).parents[2]
KEPT = ("memory.db", "ledger.db")
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_search", {"query": "one"}),
    ("memory_search", {"query": "one", "branch": "side"}),
    ("memory_graph_query", {"entity": "one"}),
    ("memory_timeline", {"branch": "side"}),
    ("memory_branch_list", {}),
    ("memory_branch_topology", {}),
    ("memory_branch_diff", SIDES),
    ("memory_merge_preview", SIDES),
    ("memory_snapshot_list", {}),
    ("memory_time_travel", {"timestamp": "2100-01-01T00:00:00Z", "query": "one"}),
    ("memory_held", {"action": "list"}),
)
WRITES = (
    ("memory_write_fact", {"fact_text": "new"}),
    ("memory_write_observation", {"observation_type": "discovery", "summary": "new"}),
    ("memory_branch_create", {"branch_name": "new"}),
    ("memory_branch_enrich", {"branch_name": "side", "owner": "new"}),
    ("memory_snapshot", {"label": "new"}),
    ("memory_branch_merge", MERGE),
)


@pytest.fixture
def store(tmp_path):
    make(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def killed(tmp_path):
    """A store whose process was killed: the logs of both stock files lie beside them."""
    with opened(tmp_path / "live", create=True) as opened_store:
        write(opened_store, "one", "two")
        call(opened_store, "memory_branch_create", branch_name="side")
        call(opened_store, "memory_search", query="one")
        return Path(shutil.copytree(tmp_path / "live", tmp_path / "store"))


# Reading and read-only folders


def test_reading_writes_neither_memory_nor_ledger(store):
    before = digest(store, *KEPT)
    with opened(store) as opened_store:
        for tool, arguments in READS:
            call(opened_store, tool, **arguments)
    assert digest(store, *KEPT) == before


def test_a_closed_store_is_whole_without_logs(store):
    assert {path.name for path in store.iterdir()} == {
        *("memory.db", ".memory.db-lock", "lock", "ledger.db", "deeds.lock"),
        *("index.db", "index.lock"),
    }


def test_a_read_only_folder_is_read_and_writes_are_refused(store):
    with opened(store) as opened_store:
        write(opened_store, "not indexed yet")
    before = digest(store)
    with read_only(store), opened(store) as opened_store:
        assert opened_store.read_only
        for tool, arguments in READS:
            state = call(opened_store, tool, **arguments)["read"]
            if tool == "memory_search":
                assert any("read-only" in note for note in state["notes"])
        assert facts(opened_store) == ["one", "two", "three", "not indexed yet"]
        assert call(opened_store, "memory_timeline")["read"]["pending"] == 1
        for tool, arguments in WRITES:
            refused(partial(call, opened_store, tool, **arguments), "store_read_only", "access")
    assert digest(store) == before


def test_a_store_cannot_be_made_in_a_read_only_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with read_only(folder):
        for place in (folder, folder / "below"):
            refused(partial(open_and_close, place, create=True), "store_read_only", "access")
            refused(partial(open_and_close, place), "not_a_store", "day1 init")
    assert list(folder.iterdir()) == []


def test_what_a_killed_process_left_is_read_in_a_read_only_folder(killed):
    """Its ledger is in the log, which `immutable` would pass over."""
    before = digest(killed, *KEPT, "ledger.db-wal")
    assert (killed / "ledger.db-wal").stat().st_size
    with read_only(killed), opened(killed) as opened_store:
        assert branches(opened_store) == {"main", "side"}
        assert facts(opened_store, "side") == ["one", "two"]
    assert digest(killed, *KEPT, "ledger.db-wal") == before


def test_a_log_that_cannot_be_read_is_not_passed_over(killed):
    (killed / "ledger.db-shm").unlink()

    def look() -> set[str]:
        with opened(killed) as opened_store:
            return branches(opened_store)

    with read_only(killed):
        refused(look, "store_read_only", "ledger.db", "copy")
    assert look() == {"main", "side"}


def test_a_reader_of_a_read_only_folder_sees_what_another_writes_there(store, tmp_path):
    with (
        read_only(store, seen_as=tmp_path / "seen"),
        opened(tmp_path / "seen") as reader,
    ):
        assert branches(reader) == {"main", "side"}
        with opened(store) as writer:
            call(writer, "memory_branch_create", branch_name="later")
            write(writer, "of later", branch="later")
            assert branches(reader) == {"main", "side", "later"}
            assert facts(reader, "later")[-1] == "of later"
        assert branches(reader) == {"main", "side", "later"}


def as_nobody(store: Path, deed: Callable[[], None]) -> None:
    """Do something to a store as a user of few rights, in a process of its own."""
    for folder in store.parents:
        if folder.stat().st_mode & 0o001:
            break
        folder.chmod(0o755)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            deed()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another user")
def test_another_users_files_in_a_folder_of_ones_own_make_it_read_only(store):
    """As after one command run with sudo."""
    for path in (store, store / "memory.db", store / ".memory.db-lock"):
        os.chown(path, 65534, 65534)
    for path in store.iterdir():  # a folder that others are let into
        path.chmod(path.stat().st_mode | 0o055)

    def look() -> None:
        with opened(store) as opened_store:
            assert opened_store.read_only
            assert facts(opened_store, "side")[-1] == "aside"
            refused(lambda: write(opened_store, "new"), "store_read_only")

    as_nobody(store, look)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another user")
def test_another_user_of_a_shared_folder_searches_without_its_index(store):
    """B4: a lock file of the index is another user's; words are searched, and it is said."""
    (store / "index.lock").chmod(0o600)
    for path in (store, *store.iterdir()):
        if path.name != "index.lock":
            os.chown(path, 65534, 65534)

    def search() -> None:
        with opened(store) as opened_store:
            answer = call(opened_store, "memory_search", query="two")
            assert [hit["fact_text"] for hit in answer["result"]] == ["two"]
            (note,) = answer["read"]["notes"]
            assert "cannot be used (EACCES)" in note
            write(opened_store, "two more")
            assert len(call(opened_store, "memory_search", query="two")["result"]) == 2

    as_nobody(store, search)


# A full disk


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def try_writes(opened_store, acknowledged: list[str], number: int) -> set[str]:
    """Try one of each kind of write; gives the codes of those that failed."""
    codes: set[str] = set()
    for tool, arguments in (*WRITES, WRITES[0]):
        given = dict(arguments)
        if tool == "memory_write_fact":
            given["fact_text"] = f"fact {number} {len(codes)} {len(acknowledged)}"
        if tool == "memory_branch_create":
            given["branch_name"] = f"branch-{number}"
        try:
            call(opened_store, tool, **given)
        except Day1Error as error:
            codes.add(error.code)
        else:
            acknowledged += [given["fact_text"]] if "fact_text" in given else []
            acknowledged += ["aside"] if tool == "memory_branch_merge" else []
    return codes


def check_whole(opened_store, acknowledged: list[str]) -> None:
    """The process that met the full disk goes on, and nothing is lost, half or made up."""
    write(opened_store, "afterwards")
    call(opened_store, "memory_branch_create", branch_name="afterwards")
    call(opened_store, "memory_branch_merge", **MERGE)
    assert set(facts(opened_store)) == {"one", "two", "three", "aside", "afterwards", *acknowledged}
    assert branches(opened_store) >= {"main", "side", "afterwards"}
    assert opened_store.repo.ledger.open_intents() == []
    assert opened_store.repo.store.check() == []


def test_a_file_that_cannot_grow_refuses_writes_and_keeps_the_rest(store):
    acknowledged: list[str] = []
    codes: set[str] = set()
    with opened(store) as opened_store:
        for number, slack in enumerate([0, 1, 50, 97, 500, 2_000, 4_000, 8_000, 16_000]):
            with no_file_beyond((store / "memory.db").stat().st_size + slack):
                codes |= try_writes(opened_store, acknowledged, number)
                assert facts(opened_store)[:3] == ["one", "two", "three"]
                assert call(opened_store, "memory_search", query="one")["result"]
        check_whole(opened_store, acknowledged)
    with opened(store) as opened_store:
        assert "afterwards" in facts(opened_store)
    assert codes == {"store_full"}


def test_a_full_disk_refuses_writes_and_keeps_the_rest(tmp_path):
    acknowledged: list[str] = []
    codes: set[str] = set()
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=3m", "tmpfs") as disk:
        make(disk / "store")
        with opened(disk / "store") as opened_store:
            call(opened_store, "memory_search", query="one")
            for pages in range(12):
                fill(disk, pages)
                codes |= try_writes(opened_store, acknowledged, pages)
                assert facts(opened_store)[:3] == ["one", "two", "three"]
                assert call(opened_store, "memory_search", query="one")["result"]
                (disk / "filler").unlink()
            check_whole(opened_store, acknowledged)
    assert codes == {"store_full"}


def test_what_was_never_searched_is_found_on_a_full_disk(tmp_path):
    """B9: reading needs no room, also where an index was to be made first; then it is made."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=3m", "tmpfs") as disk:
        make(disk / "store")
        for file in (disk / "store").glob("index.*"):
            file.unlink()
        with opened(disk / "store") as opened_store:
            write(opened_store, "four")
            fill(disk, 0)
            for branch, query in (("main", "four"), ("side", "aside")):
                answer = call(opened_store, "memory_search", query=query, branch=branch)
                assert [hit["fact_text"] for hit in answer["result"]] == [query]
                assert any("the index cannot be used" in n for n in answer["read"]["notes"])
            (disk / "filler").unlink()
            answer = call(opened_store, "memory_search", query="four")
            assert [hit["fact_text"] for hit in answer["result"]] == ["four"]
            assert not any("the index" in note for note in answer["read"]["notes"])


def test_a_store_on_a_full_disk_says_so_and_opens_when_there_is_room(tmp_path):
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as disk:
        make(disk / "store")
        before = digest(disk / "store", *KEPT)
        fill(disk, 0)
        refused(lambda: open_and_close(disk / "store"), "store_full", "free some space")
        assert digest(disk / "store", *KEPT) == before
        (disk / "filler").unlink()
        with opened(disk / "store") as opened_store:
            assert facts(opened_store, "side") == ["one", "two", "three", "aside"]


@pytest.mark.parametrize("size", ["8k", "40k", "80k", "100k", "120k", "140k"])
def test_a_store_that_could_not_be_made_is_made_when_there_is_room(tmp_path, size):
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", f"size={size}", "tmpfs") as disk:
        refused(lambda: open_and_close(disk / "store", create=True), "store_full")
        assert not [path for path in disk.rglob("*") if ".new" in path.name]
        mount("-o", "remount,size=4m", str(disk))
        make(disk / "store")
        with opened(disk / "store") as opened_store:
            check_whole(opened_store, [])


# Others on the same store


def openers(running: ExitStack, count: int) -> list[subprocess.Popen[str]]:
    """Processes that wait for the name of a store."""
    return [
        running.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.flows.opening_process", str(number)],
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
        deed = {
            "lock": lambda: write(opened_store, "new"),
            "deeds.lock": lambda: call(opened_store, "memory_branch_create", branch_name="new"),
        }[lock]
        before = digest(store, "memory.db")
        with (store / lock).open("r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            error = refused(deed, "store_busy", "0.1 s", "try again")
            assert error.retryable
            assert facts(opened_store) == ["one", "two", "three"]
            assert digest(store, "memory.db") == before
            with opened(store, wait_s=0.1) as other:
                assert branches(other) == {"main", "side"}
        deed()


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


def test_threads_that_meet_a_full_disk_all_hear_of_it_and_go_on(store):
    """Each discards its own connection; those of the others stay sound."""
    heard: list[str] = []
    acknowledged: list[str] = []

    def work(number: int) -> None:
        for turn in range(3):
            try:
                write(opened_store, f"fact {number} {turn}")
                acknowledged.append(f"fact {number} {turn}")
            except Day1Error as error:
                heard.append(error.code)

    with opened(store) as opened_store:
        with no_file_beyond((store / "memory.db").stat().st_size + 9_000):
            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert set(heard) == {"store_full"}
        check_whole(opened_store, acknowledged)
