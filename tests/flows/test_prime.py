"""The prime: what it has and never has, the kept files, and that nothing is disturbed by them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.app.background import background_worker, prime_renewer
from day1.formats import prime_file
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import Branch
from day1.model.lessons.rating import rating_of
from day1.model.prime.framing import size
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.toolsets import TOOLSETS
from tests.engine import url_of
from tests.fakes.stepped_clock import SteppedClock
from tests.flows.opened_store import call, fill, make, mounted, opened, read_only, remember, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[OpenStore]:
    with opened(folder, create=True) as store:
        yield store


def primed(store: OpenStore, **asked: Any) -> str:
    caller = caller_of(store.settings, ProcessHead(store.repo, "main"), None)
    answer = TOOLSETS.tools["memory_prime"].call(store.context(caller), asked)
    return str(answer["text"])


def kept(store: OpenStore, branch: str = "main", space: str | None = None) -> str:
    found = prime_file.read(store.folder, branch, space)
    return "" if found is None else found.text


def known(text: str) -> list[str]:
    """The facts of a prime, without their dates."""
    said = [line for line in text.splitlines() if line.startswith("- ")]
    return [line[2:].rpartition(" (")[0] for line in said]


# What it has


def test_what_is_superseded_secret_expired_ended_or_retracted_is_never_told(store) -> None:
    remember(store, "The port is 80.")
    first = remember(store, "Ann is on call.")
    call(store, "memory_supersede_fact", fact_id=first, fact_text="Bob is on call.")
    remember(store, "The vault opens at noon.", sensitivity="secret")
    remember(store, "The demo is on.", expires_at="2100-01-01")
    remember(store, "The freeze is on.", valid_until="2020-01-01")
    retracted = remember(store, "The moon is flat.")
    call(store, "memory_retract_fact", fact_id=retracted, reason="no")
    redacted = remember(store, "My password is plover.")
    call(store, "memory_redact", id=redacted, confirm=redacted)
    assert set(known(primed(store))) == {"The port is 80.", "Bob is on call."}


def test_only_facts_that_all_share_are_told_and_those_of_the_space_that_is_asked_for(store) -> None:
    remember(store, "Shared.")
    remember(store, "Of metal.", space="project:metal")
    remember(store, "Of wood.", space="project:wood", category="pinned")
    assert known(primed(store)) == ["Shared."]
    assert known(primed(store, space="shared")) == ["Shared."]
    assert known(primed(store, space="*")) == ["Shared."]
    assert set(known(primed(store, space="project:metal"))) == {"Shared.", "Of metal."}


def test_pinned_judged_and_used_facts_come_before_newer_ones(store) -> None:
    pinned = remember(store, "Run the checks.", category="pinned")
    judged, used = remember(store, "Ask Ann first."), remember(store, "Logs are in /var.")
    for number in range(20):
        remember(store, f"Note {number} of many.")
    now = store.clock()
    for agent in ("a", "b", "c"):
        store.repo.ledger.put(rating_of(judged, agent, None, 1.0, now))
    for _ in range(9):
        store.search.uses.shown([used], now, find(store.repo, "main").id)
    assert set(known(primed(store))[1:3]) == {"Ask Ann first.", "Logs are in /var."}
    assert known(primed(store))[0] == "Run the checks."
    call(store, "memory_update_fact", fact_id=pinned, category="plain")
    assert known(primed(store))[0] != "Run the checks."


def test_a_pinned_fact_is_found_among_more_than_are_looked_at(store) -> None:
    remember(store, "Run the checks.", category="pinned")
    write(store, *(f"Note {number}." for number in range(250)))
    renewer = prime_renewer(store)
    renewer.renew()
    assert known(kept(store))[0] == "Run the checks."
    remember(store, "Later pinned.", category="pinned")
    renewer.renew()
    write(store, *(f"Later note {number}." for number in range(120)))
    renewer.renew()
    assert known(kept(store))[:2] == ["Later pinned.", "Run the checks."]


def test_what_says_how_to_work_is_found_among_more_than_are_looked_at(store) -> None:
    first = remember(store, "Times are UTC.", category="convention")
    write(store, *(f"Note {number}." for number in range(120)))
    store.repo.store.commit_pending("main")
    renewer = prime_renewer(store)
    renewer.renew()
    assert "Times are UTC." in known(kept(store))
    path = prime_file.path_of(store.folder, "main")
    said = json.loads(path.read_text())
    assert said.pop("ageless") == [first]
    path.write_text(json.dumps(said))  # as an earlier day1 left it
    for text in ("Ask before a release.", "Say why."):
        remember(store, text, category="preference")
        renewer.renew()
    write(store, *(f"Later note {number}." for number in range(120)))
    renewer.renew()
    assert {"Times are UTC.", "Ask before a release.", "Say why."} <= set(known(kept(store)))
    call(store, "memory_update_fact", fact_id=first, category="plain")
    renewer.renew()
    assert "Times are UTC." not in known(kept(store))


def test_it_tells_the_task_the_handoff_and_what_waits(store) -> None:
    task = call(store, "memory_task_create", name="login", objectives=[{"description": "page"}])
    joined = call(store, "memory_task_join", task_id=task["task_id"], agent_id="ada")
    begun = {"objective_id": task["objectives"][0]["id"], "status": "in_progress"}
    call(store, "memory_task_update", task_id=task["task_id"], **begun)
    branch = joined["branch_name"]
    call(store, "memory_branch_create", branch_name="api")
    remember(store, "The API has no paging.", branch="api")
    call(
        store,
        "memory_handoff_create",
        source_branch="api",
        target_branch=branch,
        handoff_type="session_handoff",
        context_summary="Paging comes next.",
        include_unverified=True,
    )
    call(store, "review_open", source_branch=branch, target_branch="main")
    text = primed(store, branch=branch)
    assert "Task: login; 0 of 1 objectives done; in progress: page" in text
    assert ", from api): Paging comes next." in text
    assert "Waiting: 1 review." in text
    assert "Waiting: 1 review." in primed(store)


def test_held_items_wait(store) -> None:
    row = remember(store, "Port 80.")
    call(store, "memory_branch_create", branch_name="side")
    call(store, "memory_update_fact", fact_id=row, fact_text="Port 81.", branch="side")
    call(store, "memory_update_fact", fact_id=row, fact_text="Port 82.", branch="main")
    call(store, "memory_branch_merge", source_branch="side", target_branch="main", strategy="auto")
    assert "Waiting: 1 held." in primed(store)


# The kept files


def test_a_renewal_keeps_the_text_with_its_commit_and_stamp(store, folder) -> None:
    remember(store, "The port is 80.")
    prime_renewer(store).renew()
    said = json.loads(prime_file.path_of(store.folder, "main").read_text("utf-8"))
    assert said["format"] == 1
    assert said["branch"] == "main"
    assert said["text"] == primed(store)
    assert said["chars"] == len(said["text"]) <= size(said["text"]) <= 1_200
    assert said["at"] == store.repo.history.branches()["main"]
    assert said["stamp"] == prime_file.stamp_of(store.folder)
    remember(store, "The port is 81.")
    if url_of(folder) is None:
        assert said["stamp"] != prime_file.stamp_of(store.folder)


def test_only_who_owns_the_store_reads_the_file(store) -> None:
    prime_renewer(store).renew()
    path = prime_file.path_of(store.folder, "main")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["main.json"]


def test_closing_a_store_leaves_the_prime_fresh(folder) -> None:
    with opened(folder, create=True) as store:
        remember(store, "The port is 80.")
        prime_renewer(store).renew()
    found = prime_file.read(folder, "main")
    if url_of(folder) is None:
        assert found
        assert found.stamp == prime_file.stamp_of(folder)


def test_branches_that_moved_are_renewed_and_the_others_stamped(store) -> None:
    call(store, "memory_branch_create", branch_name="side")
    call(store, "memory_branch_create", branch_name="other")
    renewer = prime_renewer(store)
    renewer.renew(["side", "other"])
    store.repo.store.commit_pending("side")
    other = prime_file.read(store.folder, "other")
    remember(store, "Of side.", branch="side")
    store.repo.store.commit_pending("side")
    renewer.renew(["side"])
    assert known(kept(store, "side")) == ["Of side."]
    assert other
    assert prime_file.read(store.folder, "other") == other._replace(
        stamp=prime_file.stamp_of(store.folder)
    )


def test_a_renewal_without_change_writes_nothing(store) -> None:
    renewer = prime_renewer(store)
    renewer.renew()
    path = prime_file.path_of(store.folder, "main")
    path.unlink()
    renewer.renew()
    assert not path.exists()
    remember(store, "New.")
    renewer.renew()
    assert path.exists()


def test_what_only_the_ledger_says_is_renewed_too(store) -> None:
    if store.repo.ledger.stamp() is None:
        pytest.skip("a ledger on a server does not say that it changed")
    call(store, "memory_branch_create", branch_name="side")
    renewer = prime_renewer(store)
    renewer.renew()
    call(store, "review_open", source_branch="side", target_branch="main")
    renewer.renew()
    assert "Waiting: 1 review." in kept(store)


def test_a_redaction_removes_every_kept_prime_at_once(store) -> None:
    row = remember(store, "My password is plover.")
    prime_renewer(store).renew(["main"])
    assert "plover" in kept(store)
    prime_file.note_told(store.folder, "one", kept(store), prime_file.times_forgotten(store.folder))
    call(store, "memory_redact", id=row, confirm=row)
    assert not list((store.folder / prime_file.FOLDER).iterdir())


def test_the_prime_of_a_deleted_branch_is_removed_and_old_ones_are(store) -> None:
    for number in range(23):
        call(store, "memory_branch_create", branch_name=f"b{number}")
    renewer = prime_renewer(store)
    renewer.renew([f"b{number}" for number in range(19)])
    assert len(list((store.folder / prime_file.FOLDER).iterdir())) == 20
    delete(store.repo, find(store.repo, "b0"), "main", store.clock())
    renewer.renew([f"b{number}" for number in range(15, 23)])
    assert kept(store, "b22")
    assert not kept(store, "b0")
    assert len(list((store.folder / prime_file.FOLDER).iterdir())) == 20


def test_the_worker_renews_after_a_commit(store) -> None:
    clock = SteppedClock()
    worker = background_worker(store, clock=clock)
    clock.wait(worker.step())
    remember(store, "The port is 80.")
    worker.step()
    assert known(kept(store)) == ["The port is 80."]


def test_a_file_that_is_no_prime_is_none(store) -> None:
    prime_renewer(store).renew()
    path = prime_file.path_of(store.folder, "main")
    for content in (
        b"",
        b"{",
        b"[]",
        b'{"format": 2}',
        b'{"format": 1, "branch": "main"}',
        b"\xff",
    ):
        path.write_bytes(content)
        assert prime_file.read(store.folder, "main") is None
        assert primed(store)
    path.write_text('{"format": 1, "branch": "main", "at": "x", "text": "", "pinned": [3]}')
    assert primed(store), "a commit that is not there"


def test_names_of_branches_and_spaces_are_one_safe_name_each() -> None:
    assert prime_file.file_name("main") == "main.json"
    assert prime_file.file_name("task/a", "project:ä") == "task%2Fa@project%3A%C3%A4.json"
    long = prime_file.file_name("main", "p:" + "ü" * 250)
    assert len(long.encode()) < 255
    assert long != prime_file.file_name("main", "p:" + "ü" * 251)


# What is in the way


def test_a_read_only_store_has_a_prime_and_no_file(tmp_path: Path) -> None:
    make(tmp_path / "store")
    with read_only(tmp_path / "store"), opened(tmp_path / "store") as store:
        assert known(primed(store))
        prime_renewer(store).renew()
        assert not (store.folder / prime_file.FOLDER).exists()


def test_a_full_disk_disturbs_nothing_and_leaves_the_earlier_file(tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=32m", "tmpfs") as disk,
        opened(disk / "store", create=True) as store,
    ):
        remember(store, "The port is 80.")
        renewer = prime_renewer(store)
        renewer.renew()
        remember(store, "The port is 81.")
        fill(disk, 0)
        renewer.renew()
        assert known(kept(store)) == ["The port is 80."]
        assert len(list((store.folder / prime_file.FOLDER).iterdir())) == 1
        assert "The port is 81." in primed(store)


def test_a_file_in_the_place_of_the_folder_disturbs_nothing(store) -> None:
    (store.folder / prime_file.FOLDER).write_text("no folder")
    remember(store, "The port is 81.")
    prime_renewer(store).renew()
    assert not kept(store)
    assert "The port is 81." in primed(store)


def test_whatever_fails_in_a_renewal_is_logged_and_nothing_else(store, caplog) -> None:
    def broken() -> list[Branch]:
        raise ZeroDivisionError

    renewer = prime_renewer(store)
    renewer._repo.ledger.branches = broken
    renewer.renew()
    assert "renewing the prime" in caplog.text


def test_what_a_session_was_told_is_kept_for_the_last_sessions(store) -> None:
    primes = store.prime.primes
    for number in range(100):
        prime_file.note_told(store.folder, f"../{number}", f"Told {number}.", 0)
        os.utime(store.folder / prime_file.FOLDER / f"..%2F{number}.told", ns=(number, number))
    first = primes.told("../0")
    assert first
    assert first.text == "Told 0."
    prime_file.note_told(store.folder, "../1", "Told again.", 0)
    prime_file.note_told(store.folder, "new", "Told.", 0)
    assert primes.told("../0") is None
    assert [primes.told(name).text for name in ("../1", "new")] == ["Told again.", "Told."]
    assert primes.every() == []
    prime_file.forget(store.folder)
    prime_file.note_told(store.folder, "late", "Told.", 0)
    assert [primes.told(name) for name in ("new", "late")] == [None, None]
