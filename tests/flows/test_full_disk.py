"""A full disk refuses writes in clear words, and harms nothing that is there."""

import threading

import pytest

from day1.errors import Day1Error
from tests.flows.opened_store import (
    MERGE,
    WRITES,
    branches,
    call,
    digest,
    facts,
    fill,
    make,
    mount,
    mounted,
    no_file_beyond,
    open_and_close,
    opened,
    refused,
    write,
)

KEPT = ("memory.db", "ledger.db")


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
