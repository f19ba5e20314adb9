"""Read-only folders and other users' files: what can be read is, and writes are refused."""

import os
import shutil
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.flows.opened_store import (
    SIDES,
    WRITES,
    branches,
    call,
    digest,
    facts,
    open_and_close,
    opened,
    read_only,
    refused,
    write,
)

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


@pytest.fixture
def killed(tmp_path):
    """A store whose process was killed: the logs of both stock files lie beside them."""
    with opened(tmp_path / "live", create=True) as opened_store:
        write(opened_store, "one", "two")
        call(opened_store, "memory_branch_create", branch_name="side")
        call(opened_store, "memory_search", query="one")
        return Path(shutil.copytree(tmp_path / "live", tmp_path / "store"))


def test_reading_writes_neither_memory_nor_ledger(store):
    before = digest(store, *KEPT)
    with opened(store) as opened_store:
        for tool, arguments in READS:
            call(opened_store, tool, **arguments)
    assert digest(store, *KEPT) == before


def test_a_closed_store_is_whole_without_logs(store):
    assert {path.name for path in store.iterdir()} == {
        *("memory.db", ".memory.db-lock", "lock", "ledger.db", "deeds.lock", "locks"),
        *("index.db", "index.lock", "uses.db"),
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


def as_nobody(store: Path, action: Callable[[], None]) -> None:
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
            action()
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
