"""Copying a whole store: onto any engine, while it is used, cut off anywhere, to the same memory."""

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import text

from day1.adapters.ledger.tables import TABLES
from day1.errors import IntegrityBroken
from day1.interfaces.open_store import OpenStore
from day1.model.access.lease import HeldLease
from day1.model.records.intent import Intent
from day1.model.records.store_copy import CopyMark
from day1.model.rows.change import Commit, Message, Query, Ref
from day1.model.rows.kind import FACT, Row
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import first_commit
from day1.services.exchange.store_copy import copy_store, unchanged
from day1.services.repository.commit_ids import CARRIED
from day1.services.repository.repository import Repository
from day1.services.rows.recording import NewFact, fact_row
from tests.adapters.server_ledgers import said
from tests.flows.copied_store import content, copied_while, copy, ends, run, same, started
from tests.flows.kill_scenarios import Process, fact_id
from tests.flows.opened_store import call, digest, facts, refused, write
from tests.flows.random_store import (
    RandomTeam,
    differences,
    ids_between,
    opened_at,
    rows,
    without_index,
)
from tests.sampling import sampled

POINTS = ("marked", "after_commit", "replayed", "before_whole")
DAILY = {"after_commit", "before_whole"}
"""Points of which every run tries a kill; the others are for once a week."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a store on a server has on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module", params=sampled(((250, 6, 8), (600, 8, 12)), {(250, 6, 8)}))
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which all has happened; only read."""
    folder = tmp_path_factory.mktemp("lived") / "store"
    with opened_at(folder, create=True) as opened_store:
        RandomTeam(opened_store).work(*request.param)
    return folder


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a little of all; only read."""
    folder = tmp_path_factory.mktemp("brief") / "store"
    with opened_at(folder, create=True) as opened_store:
        RandomTeam(opened_store, seed=6).work(facts=20, branches=3, merges=2)
        assert any(found["held"] for _, found in rows(opened_store).values())
    return folder


@pytest.fixture
def store(brief: Path, tmp_path: Path) -> Path:
    """One of these to write to."""
    return Path(shutil.copytree(brief, tmp_path / "store"))


@pytest.fixture(params=["folder", "dolt"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no store yet, on each engine."""
    if request.param == "folder":
        return str(tmp_path / "copy")
    return str(request.getfixturevalue("dolt_database"))


# All of it, on every engine


def test_a_copy_is_the_same_memory(lived: Path, place: str) -> None:
    done = copy(lived, place)
    assert done["tags"] >= 3
    assert sum(branch["pending"] for branch in done["branches"]) >= 12
    assert not done["source_moved"]
    same(lived, place, count=100)
    again = run(lived, place)
    assert again.returncode == 1
    assert json.loads(again.stderr.splitlines()[-1])["error"]["code"] == "conflict"


@pytest.mark.weekly
def test_a_store_copied_there_and_back_is_the_same(
    lived: Path, dolt_database: str, tmp_path: Path
) -> None:
    there = copy(lived, dolt_database)
    back = copy(dolt_database, tmp_path / "back")
    assert content(there) == content(back)
    assert there["commits"] == back["commits"]
    for where in (lived, tmp_path / "back"):
        without_index(where)
    with opened_at(lived) as one, opened_at(dolt_database) as server:
        first = ids_between(one, server)
        with opened_at(tmp_path / "back") as other:
            second = ids_between(server, other)
            ids = {old: second[new] for old, new in first.items()}
            assert differences(one, other, ids, count=20) == []


@pytest.mark.weekly
def test_names_of_255_characters_are_copied_there_and_back(place: str, tmp_path: Path) -> None:
    folder, back = tmp_path / "named", tmp_path / "back"
    named = {"agent_id": "a" * 255, "session_id": "ü" * 255, "task_id": "語" * 255}
    with opened_at(folder, create=True) as opened_store:
        fact_id = call(opened_store, "memory_write_fact", fact_text="Named.", **named)["id"]
        call(opened_store, "memory_log_message", role="user", content="Hello.", **named)
    assert content(copy(folder, place)) == content(copy(place, back))
    with opened_at(back) as opened_store:
        with opened_store.repo.store.reading(Ref(branch="main")) as reading:
            found = reading.get(FACT, [fact_id])[fact_id]
        assert {name: found[name] for name in named} == named


def test_a_deleted_branch_comes_back_on_a_copy(store: Path, place: str) -> None:
    with opened_at(store) as opened_store:
        call(opened_store, "memory_branch_create", branch_name="gone")
        write(opened_store, "Only here.", branch="gone")
        call(opened_store, "memory_branch_delete", branch_name="gone", force=True)
    copy(store, place)
    for where in (store, place):
        with opened_at(where) as opened_store:
            call(opened_store, "memory_branch_revive", branch_name="gone", deleted=True)
            assert facts(opened_store, "gone")[-1] == "Only here."


@pytest.mark.weekly
def test_the_copy_goes_on_as_the_store_would(store: Path, place: str) -> None:
    """What was merged is known to be, and what is held is taken."""
    copy(store, place)
    merged = []
    for where in (store, place):
        with opened_at(where) as opened_store:
            for name in sorted(opened_store.repo.history.branches()):
                if name in {"main", "squashed"} or name.startswith("template/"):
                    continue
                sides = {"source_branch": name, "target_branch": "main", "strategy": "auto"}
                done = call(opened_store, "memory_branch_merge", **sides)
                merged.append((name, done["merged_count"], done["rejected_count"]))
            write(opened_store, "Afterwards.")
            assert facts(opened_store)[-1] == "Afterwards."
    half = len(merged) // 2
    assert merged[:half] == merged[half:]


def test_a_commit_says_which_one_it_was(brief: Path, tmp_path: Path) -> None:
    copy(brief, tmp_path / "copy")
    with opened_at(brief) as one, opened_at(tmp_path / "copy") as other:
        old = next(iter(one.repo.history.log("main")))
        new = next(iter(other.repo.history.log("main")))
        assert new.meta["from"] == old.id
        (mark,) = other.repo.ledger.records(CopyMark)
        assert (mark.id, mark.whole) == (first_commit(one.repo), True)


def test_every_kind_of_record_is_carried_or_of_one_store_only() -> None:
    assert {*CARRIED, Intent, CopyMark, HeldLease} == set(TABLES)


# What is refused


def test_a_copy_overwrites_no_store(brief: Path, tmp_path: Path) -> None:
    with opened_at(tmp_path / "other", create=True) as opened_store:
        write(opened_store, "Mine.")
    with opened_at(tmp_path / "empty", create=True):
        pass
    for name in ("other", "empty"):
        before = digest(tmp_path / name, "memory.db")
        assert run(brief, tmp_path / name).returncode == 1
        assert digest(tmp_path / name, "memory.db") == before
        with opened_at(tmp_path / name) as opened_store:
            assert opened_store.repo.ledger.records(CopyMark) == []
    assert run(brief, brief).returncode == 1


def test_half_a_copy_is_no_store_and_goes_on_from_its_own_source_only(
    brief: Path, lived: Path, tmp_path: Path
) -> None:
    half = tmp_path / "half"
    assert run(brief, half, DAY1_KILL_AT="copy.after_commit").returncode == -signal.SIGKILL
    error = refused(lambda: opened_at(half).__enter__(), "not_a_store", "unfinished copy")
    assert str(half) in str(error)
    assert run(half, tmp_path / "third").returncode == 1
    assert not (tmp_path / "third").exists()
    assert run(lived, half).returncode == 1
    copy(brief, half)
    same(brief, half)


def test_rows_that_are_not_those_of_the_commit_are_not_committed(store: Path) -> None:
    with opened_at(store) as opened_store:
        repo = opened_store.repo
        tip = repo.store.commit_pending("main")
        row = fact_row(fact_id(), NewFact("Repeated."), Origin(), 1)
        made = Commit("0" * 40, (tip,), "change", 1, "ada", "change", {"v": 1})
        elsewhere = replace(made, parents=(first_commit(repo),))
        with pytest.raises(IntegrityBroken, match="written to"):
            repo.store.repeat("main", elsewhere, {"facts": {str(row["id"]): row}})
        write(opened_store, "Waiting.")
        with pytest.raises(IntegrityBroken, match="another unit"):
            repo.store.repeat("main", made, {"facts": {str(row["id"]): row}})
        here = replace(made, parents=(repo.history.branches()["reviewed"],))
        missing: dict[str, dict[str, Row | None]] = {"facts": {fact_id(): None}}
        with pytest.raises(IntegrityBroken, match="differ from the plan"):
            repo.store.repeat("reviewed", here, missing)
        assert repo.history.branches()["main"] == tip


def _commit(made: Repository) -> None:
    with made.store.changing("main") as work:
        row = next(iter(work.scan(FACT, ("id",), Query())))[0]
        work.change(FACT, str(row), {"category": "meddled"})
        work.commit(Message("change", "meddle"))


def _change(made: Repository) -> None:
    """A pending row; as many are pending as before."""
    with made.store.adding("main") as work:
        newest = max(work.find(FACT, Query()), key=lambda row: int(row["created_at"] or 0))
        meddle = "UPDATE facts SET category = 'meddled' WHERE id = :id"
        cast("Any", work).connection.execute(
            text(meddle), {"id": newest["id"]}
        )  # day1 itself does not


def _add(branch: str) -> Callable[[Repository], None]:
    def add(made: Repository) -> None:
        with made.store.adding(branch) as work:
            work.add(FACT, [fact_row(fact_id(), NewFact("Meddled."), Origin(), work.now)])

    return add


@pytest.mark.parametrize(
    "meddle",
    [_commit, _change, _add("main"), _add("reviewed")],
    ids=["commit", "changed", "pending", "first-pending"],
)
def test_a_copy_that_was_written_to_is_found_out(
    brief: Path, tmp_path: Path, meddle: Callable[[Repository], None]
) -> None:
    with ends(brief, tmp_path / "copy") as (_, seen, made):

        def at(name: str) -> None:
            if name == "copy.replayed":
                meddle(made)

        with pytest.raises(IntegrityBroken, match="differs from the store"):
            copy_store(seen, replace(made, point=at), unchanged, lambda done, total: None)
    refused(lambda: opened_at(tmp_path / "copy").__enter__(), "not_a_store")


# While others use it


def test_what_comes_while_it_is_copied_is_copied_too(store: Path, tmp_path: Path) -> None:
    def write_more(opened_store: OpenStore) -> None:
        write(opened_store, "While it was copied.")
        call(opened_store, "memory_branch_create", branch_name="late")
        write(opened_store, "On a late branch.", branch="late")
        call(opened_store, "memory_branch_merge", source_branch="late", strategy="auto")
        write(opened_store, "And this waits.", branch="late")

    done = copied_while(store, tmp_path / "copy", "after_commit", write_more)
    assert not done.moved
    same(store, tmp_path / "copy")
    with opened_at(tmp_path / "copy") as opened_store:
        assert facts(opened_store, "late")[-2:] == ["On a late branch.", "And this waits."]


@pytest.mark.weekly
def test_a_copy_says_that_rows_came_too_late_for_it(store: Path, tmp_path: Path) -> None:
    done = copied_while(
        store, tmp_path / "copy", "replayed", lambda opened_store: write(opened_store, "Late.")
    )
    assert done.moved
    with opened_at(tmp_path / "copy") as opened_store:
        assert "Late." not in facts(opened_store)


def test_an_interrupted_operation_is_recovered_before_a_copy(store: Path, tmp_path: Path) -> None:
    process = Process(store, kill_at="merge.after_engine")
    with pytest.raises(Exception):  # noqa: B017 - it dies
        process.do({"action": "merge", "source": "still-reviewed", "target": "main"})
    process.end()
    copy(store, tmp_path / "copy")
    same(store, tmp_path / "copy")
    with opened_at(tmp_path / "copy") as opened_store:
        merged = call(opened_store, "memory_branch_list")["result"]
        assert "merged" in [b["status"] for b in merged if b["branch_name"] == "still-reviewed"]


# Cut off


@pytest.mark.parametrize("point", sampled(POINTS, DAILY))
def test_a_copy_that_was_killed_goes_on_to_the_same_end(
    brief: Path, tmp_path: Path, point: str
) -> None:
    killed = run(brief, tmp_path / "copy", DAY1_KILL_AT=f"copy.{point}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if point == "after_commit":  # each run makes one more
        for _ in range(3):
            assert run(brief, tmp_path / "copy", DAY1_KILL_AT="copy.after_commit").returncode < 0
    done = copy(brief, tmp_path / "copy")
    made = {"marked": 0, "after_commit": 4}.get(point, done["commits"] - 1)
    assert done["repeated"] == done["commits"] - 1 - made
    same(brief, tmp_path / "copy")


@pytest.mark.weekly
def test_what_waited_and_was_committed_since_is_one_commit(store: Path, tmp_path: Path) -> None:
    """The copy has pending rows; in the store these and more have been committed meanwhile."""
    copy_to = tmp_path / "copy"
    assert run(store, copy_to, DAY1_KILL_AT="copy.replayed").returncode == -signal.SIGKILL
    with opened_at(store) as opened_store:
        write(opened_store, "More waits.")
        opened_store.repo.store.commit_pending("main")
        call(
            opened_store,
            "memory_update_fact",
            fact_id=_newest(opened_store),
            fact_text="And is changed.",
        )
        write(opened_store, "New and waiting.")
    copy(store, copy_to)
    same(store, copy_to)


def _newest(opened_store: OpenStore) -> str:
    with opened_store.repo.store.reading(Ref(branch="main")) as reading:
        return max(str(i) for (i,) in reading.scan(FACT, ("id",), Query()))


@pytest.mark.weekly
def test_two_copies_of_one_store_at_once_do_not_mix(brief: Path, tmp_path: Path) -> None:
    processes = [started(brief, tmp_path / "copy", DAY1_STORE__WAIT_S="60") for _ in range(2)]
    ended = [process.communicate(timeout=120) for process in processes]
    assert any(process.returncode == 0 for process in processes), ended
    same(brief, tmp_path / "copy")


def test_what_another_program_made_beside_a_store_is_left_out_or_refused(
    dolt_database: str, tmp_path: Path
) -> None:
    """A tag or branch of the database's own first commit ended the copy in an internal error."""
    with opened_at(dolt_database, create=True) as source:
        write(source, "It works.")
        (*_, root) = source.repo.history.log("main")
    said(dolt_database, f"CALL DOLT_TAG('theirs', '{root.id}')")
    assert copy(dolt_database, tmp_path / "copy")["tags"] == 0
    said(dolt_database, f"CALL DOLT_BRANCH('theirs', '{root.id}')")
    answer = run(dolt_database, tmp_path / "other")
    assert json.loads(answer.stderr.splitlines()[-1])["error"]["code"] == "conflict"


def test_an_empty_store_is_copied(tmp_path: Path) -> None:
    with opened_at(tmp_path / "empty", create=True):
        pass
    assert copy(tmp_path / "empty", tmp_path / "copy")["repeated"] == 0
    with opened_at(tmp_path / "empty") as one, opened_at(tmp_path / "copy") as other:
        assert rows(one) == rows(other)
        write(other, "It works.")
