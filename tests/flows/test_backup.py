"""A backup is taken while others write, and holds all that was acknowledged before."""

import os
import threading
from pathlib import Path
from typing import Any

from day1.adapters.archive.file_copy import StoreCopying
from day1.app.archives import files as archives
from day1.services.access.calls import now
from day1.services.exchange.backup import back_up
from tests.flows import killed_process
from tests.flows.backed_up_store import backed_up, restored
from tests.flows.kill_scenarios import Process, check_doctor, fact_id, facts_on
from tests.flows.opened_store import call, facts, opened
from tests.waiting import until


def test_all_that_was_acknowledged_before_is_in_it_and_nobody_fails(tmp_path: Path) -> None:
    opened_store = killed_process.opened(tmp_path / "store")
    peers = [Process(tmp_path / "store") for _ in range(3)]
    done: dict[str, str] = {}
    ended = threading.Event()
    failed: list[BaseException] = []

    def write(number: int) -> None:
        turn = 0
        try:
            while not ended.is_set():
                turn += 1
                action = {"action": "write", "branch": "main", "id": fact_id(), "text": f"{number}"}
                peers[number].do(action)
                done[action["id"]] = action["text"]
                if number == 0 and turn % 20 == 0:
                    name = f"work/{turn}"
                    peers[0].do({"action": "fork", "name": name, "parent": "main"})
                    peers[0].do({**action, "id": fact_id(), "branch": name})
                    peers[0].do({"action": "merge", "source": name, "target": "main"})
                if number == 1 and turn % 30 == 0:
                    peers[1].do({**action, "action": "change", "text": "changed"})
                    done[action["id"]] = "changed"
        except BaseException as exc:
            failed.append(exc)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    before, made = [], []
    for number in range(3):
        written = len(done)
        until(lambda written=written: len(done) > written or failed, "another write")  # type: ignore[misc]  # mypy knows no type of a lambda's default
        before.append(dict(done))
        made.append(backed_up(opened_store, tmp_path / f"{number}.tar.gz"))
    ended.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert [peer.end() for peer in peers] == [(0, "")] * 3
    after = facts_on(opened_store, "main")
    opened_store.close()
    assert len(before[0]) < len(before[1]) < len(before[2])
    for number, acknowledged in enumerate(before):
        folder = tmp_path / f"restored-{number}"
        assert restored(tmp_path / f"{number}.tar.gz", folder) == made[number].manifest
        copy = killed_process.opened(folder)
        found = facts_on(copy, "main")
        assert acknowledged.keys() <= found.keys() <= after.keys()
        check = made[number].manifest.content.branches
        assert {b.name: b.commit for b in check} == copy.repo.history.branches()
        list(copy.repo.ledger.branches())
        for branch in copy.repo.history.branches():
            call(copy, "memory_search", query="changed", branch=branch)
        check_doctor(copy, folder)
        copy.close()


def test_what_a_killed_writer_left_is_overwritten_between_the_two_parts(tmp_path: Path) -> None:
    opened_store = killed_process.opened(tmp_path / "store")
    write = {"action": "write", "branch": "main", "id": fact_id(), "text": "written between"}
    with (tmp_path / "store" / "memory.db").open("ab") as file:
        file.write(b"\0" * 20_000)
    again = []

    class Interrupted(StoreCopying):
        def ahead(self, to: Path) -> None:
            if not to.exists():
                super().ahead(to)
                killed_process.write(opened_store, write)

        def rest(self, to: Path) -> Any:
            again.append(to.name)
            return super().rest(to)

    made = Interrupted(tmp_path / "store", 10.0)
    back_up(opened_store.repo, made, archives(), tmp_path / "b", now())
    opened_store.close()
    assert again == ["store", "again"]
    restored(tmp_path / "b", tmp_path / "restored")
    with opened(tmp_path / "restored") as copy:
        assert facts(copy) == ["written between"]


def test_a_compaction_between_the_two_parts_harms_nothing(store: Path, tmp_path: Path) -> None:
    parts: list[Any] = []
    afterwards: list[Any] = []
    with opened(store) as opened_store:

        class Interrupted(StoreCopying):
            def ahead(self, to: Path) -> None:
                super().ahead(to)
                opened_store.repo.store.compact()
                afterwards.append(f"afterwards {len(afterwards)}")
                call(opened_store, "memory_write_fact", fact_text=afterwards[-1], branch="side")

            def rest(self, to: Path) -> Any:
                parts.append(to.name)
                return super().rest(to)

        back_up(opened_store.repo, Interrupted(store, 10.0), archives(), tmp_path / "b", now())
    assert parts == ["store"], "it is seen at once, not by a copy that is not whole"
    restored(tmp_path / "b", tmp_path / "restored")
    with opened(tmp_path / "restored") as copy:
        assert facts(copy, "side") == [
            *("one", "two", "three", "aside"),
            *("afterwards 0", "afterwards 1"),
        ]


def test_writers_wait_for_what_is_new_only(store: Path, tmp_path: Path) -> None:
    """What is copied under the lock is what was written since; so it is brief at any size."""
    sizes = []
    with opened(store) as opened_store:

        class Watched(StoreCopying):
            def _copy(self, to: Path, found: os.stat_result) -> None:
                there = to / "memory.db"
                had = there.stat().st_size if there.exists() else 0
                super()._copy(to, found)
                sizes.append(there.stat().st_size - had)

        back_up(opened_store.repo, Watched(store, 10.0), archives(), tmp_path / "b", now())
    assert sizes[0] > 0
    assert sizes[1:] == [0, 0]
