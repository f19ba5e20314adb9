"""Purging: afterwards no file of the store has the words that were redacted, and nothing is lost."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.app.archives import rewriting
from day1.app.open import open_with_mask
from day1.interfaces.open_store import OpenStore
from day1.model.records.desk import next_desk
from day1.model.records.merge_record import MergeRecord
from day1.model.redaction.mask import mask_of
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Ref
from day1.services.access.calls import now
from day1.services.branches import deleting, retiring
from day1.services.branches.lookup import find
from day1.services.redaction.purging import purge
from day1.services.repository.commit_ids import new_ids
from day1.services.search.indexing import embed_pending, follow
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.copied_store import copy
from tests.flows.kill_scenarios import Process, fact_id
from tests.flows.opened_store import call, facts, refused, write
from tests.flows.random_store import (
    RandomTeam,
    commits,
    differences,
    ids_between,
    opened_at,
    questions,
    without_index,
)
from tests.forkserver import python
from tests.sampling import sampled

ROOT = Path(__file__).parents[2]
SECRET = "plover4711"
POINTS = ("after_intent", "copied", "replaced", "after_ledger", "scrubbed")
DAILY = {"replaced", "scrubbed"}
"""Points of which every run tries a kill; the others are for once a week."""


def tell(opened_store: OpenStore) -> list[str]:
    """Say the word everywhere; answers the ids of what has to be redacted."""
    told = call(opened_store, "memory_write_fact", fact_text=f"It is {SECRET}.", category=SECRET)[
        "id"
    ]
    seen = {"summary": f"Saw {SECRET}.", "raw_input": SECRET, "raw_output": f"a {SECRET}"}
    saw = call(opened_store, "memory_write_observation", observation_type="tool_use", **seen)["id"]
    ends = {"source_entity": SECRET, "target_entity": "vault", "relation_type": "opens"}
    near = call(opened_store, "memory_write_relation", **ends, properties={"code": SECRET})["id"]
    more = {"thinking": f"Is it {SECRET}?", "tool_calls": [{"try": SECRET}], "title": SECRET}
    said = call(opened_store, "memory_log_message", role="user", content=f"Try {SECRET}.", **more)
    for name in ("side", "gone", "late", "bundled"):
        call(opened_store, "memory_branch_create", branch_name=name)
    call(opened_store, "knowledge_bundle_create", name="known", source_branch="bundled")
    at = {"conversation_id": said["conversation_id"], "fork_at_message_id": said["message_id"]}
    call(opened_store, "memory_fork_conversation", **at, branch="side")
    for branch, word in (("side", "was"), ("main", "will be"), ("gone", "may be")):
        changed = {"fact_text": f"It {word} {SECRET}.", "reason": f"Not {SECRET}."}
        call(opened_store, "memory_update_fact", fact_id=told, branch=branch, **changed)
    sides = {"source_branch": "side", "target_branch": "main"}
    call(opened_store, "memory_branch_merge", **sides, strategy="auto")
    assert SECRET in json.dumps(call(opened_store, "memory_held")["items"])
    value = {"cell": "fact_text", "take": "value", "value": {"fact_text": f"It became {SECRET}."}}
    choices = {"choices": [{"id": told, **value}]}
    gone = {"source_branch": "gone", "target_branch": "main", "strategy": "auto"}
    call(opened_store, "memory_branch_merge", **gone, **choices)
    call(
        opened_store, "memory_update_fact", fact_id=told, fact_text=f"Late {SECRET}.", branch="late"
    )
    call(opened_store, "memory_update_fact", fact_id=told, fact_text=f"Now {SECRET}.")
    review = call(
        opened_store, "review_open", source_branch="late", title=f"Is it so? Now {SECRET}."
    )
    call(opened_store, "review_decide", review_id=review["id"], decisions=[{"id": told, **value}])
    call(
        opened_store,
        "memory_handoff_create",
        source_branch="side",
        target_branch="gone",
        include_unverified=True,
        context_summary=f"Know: It is {SECRET}. And go.",
    )
    aims = [{"description": f"Find out. It is {SECRET}."}]
    call(opened_store, "memory_task_create", name="Find out", objectives=aims)
    deleting.delete(opened_store.repo, find(opened_store.repo, "gone"), "main", now())
    work_on(opened_store, {"lines": [f"Ask. It is {SECRET}."], f"It is {SECRET}.": ["Go."]})
    return [told, saw, near, said["message_id"], said["conversation_id"]]


def work_on(opened_store: OpenStore, value: Any) -> None:
    """Put JSON on the desk of a client, as working sessions do."""
    whose = find(opened_store.repo, "main").id, "client", "session"
    desk = next_desk(None, whose, json.dumps(value), now())
    assert opened_store.repo.ledger.swap(None, desk)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the word was everywhere, was searched for, and was redacted."""
    folder = tmp_path_factory.mktemp("told") / "store"
    with opened_at(folder, create=True) as opened_store:
        RandomTeam(opened_store, seed=3).work(facts=20, branches=3, merges=2)
        ids = tell(opened_store)
        index_all(opened_store)
        assert call(opened_store, "memory_search", query=SECRET)["result"]
        assert (recorded(opened_store), words_in(folder) > set()) == (True, True)
        for row_id in ids:
            call(opened_store, "memory_redact", id=row_id, confirm=row_id, reason="A code.")
        write(opened_store, "This waits.")
    return folder


@pytest.fixture
def store(lived: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lived, tmp_path / "store"))


def recorded(opened_store: OpenStore) -> bool:
    """Whether a merge's record quotes the word, so that the test shows what it says."""
    return any(
        SECRET in json.dumps(m.choices) for m in opened_store.repo.ledger.records(MergeRecord)
    )


def index_all(opened_store: OpenStore) -> None:
    embedder = HashingEmbedder()
    for branch in opened_store.repo.ledger.branches():
        if branch.retired_tip is None:
            follow(
                opened_store.repo.store,
                opened_store.repo.history,
                opened_store.search.index,
                branch.name,
                branch.id,
            )
    assert embed_pending(opened_store.search.index, embedder, None) == 0


def words_in(folder: Path) -> set[str]:
    """The files that have the word, in whatever case."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes().lower()
    }


def run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*python(), "-m", "day1", *arguments, "--json"],
        cwd=ROOT,
        env={**os.environ, "DAY1_EMBEDDER__KIND": "none", "DAY1_HOME": str(folder), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def purged(folder: Path, **env: str) -> dict[str, Any]:
    done = run(folder, "gc", "--purge-redacted", **env)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@contextmanager
def purging(opened_store: OpenStore) -> Iterator[Any]:
    """What `day1 gc --purge-redacted` calls, with a place to do something in between."""
    redactions = opened_store.repo.ledger.records(Redaction)
    files = rewriting(opened_store.settings, opened_store.folder)
    with open_with_mask(opened_store, mask_of(redactions)) as seen:
        yield lambda at: purge(
            replace(seen, point=at), redactions, files, lambda done, total: None, now()
        )


def leave_in_free_pages(folder: Path) -> None:
    """Delete the word from the ledger as an SQLite does that overwrites nothing."""
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as ledger:
        ledger.execute("PRAGMA secure_delete = OFF")
        ledger.execute("CREATE TABLE scratch (said TEXT)")
        ledger.executemany("INSERT INTO scratch VALUES (?)", [(f"It is {SECRET}." * 9,)] * 99)
        ledger.execute("DROP TABLE scratch")


def test_no_file_has_the_words_and_all_else_is_as_before(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "before")
    leave_in_free_pages(store)
    assert {"memory.db", "ledger.db"} <= words_in(store)
    done = purged(store)
    assert done["purged"] == 5
    assert words_in(store) == set()
    for folder in (tmp_path / "before", store):
        without_index(folder)
    with opened_at(tmp_path / "before") as one, opened_at(store) as other:
        ids = ids_between(one, other)
        told = differences(one, other, ids)
        # What differs is what nobody could read: rows as they are stored, records with the words.
        assert {line.split()[0] for line in told} <= {"rows", "records:"}
        records = {line.removeprefix("records: ") for line in told if line.startswith("records")}
        # Records that quote the words lost them when these were redacted.
        assert records == {"Redaction"}
        assert [record.commit for record in other.repo.ledger.records(MergeRecord)] == [
            record.commit and ids[record.commit] for record in one.repo.ledger.records(MergeRecord)
        ]
        for at in range(3):
            asked = questions(one, 5, seed=at)
            assert [call(other, tool, **given) for tool, given in asked]
        for each in (one, other):
            retiring.undelete(each.repo, "gone", now())
        assert facts(one, "gone") == facts(other, "gone")
        assert "[redacted]" in facts(other, "gone")
        index_all(other)
    assert words_in(store) == set()


@pytest.mark.weekly
def test_a_redaction_says_whether_its_words_are_purged(store: Path) -> None:
    with opened_at(store) as opened_store:
        row = opened_store.repo.ledger.records(Redaction)[0].row_id
        before = call(opened_store, "memory_redact", id=row, confirm=row)
        assert (before["already"], before["purged"]) == (True, False)
        assert "day1 gc --purge-redacted" in before["written"]["notes"][0]
    purged(store)
    with opened_at(store) as opened_store:
        after = call(opened_store, "memory_redact", id=row, confirm=row)
        assert (after["already"], after["purged"]) == (True, True)
        assert all(one.purged_at for one in opened_store.repo.ledger.records(Redaction))
        again = call(opened_store, "memory_write_fact", fact_text=f"It is {SECRET}.")["id"]
        assert facts(opened_store)[-1] == "[redacted]", "it is masked as before"
        other = call(opened_store, "memory_redact", id=again, confirm=again)
        assert other["purged"] is False
    purged(store)
    assert words_in(store) == set()


def test_a_new_text_that_a_redacted_row_got_stays(store: Path) -> None:
    with opened_at(store) as opened_store:
        row = opened_store.repo.ledger.records(Redaction)[0].row_id
        call(opened_store, "memory_update_fact", fact_id=row, fact_text="All is well.")
    purged(store)
    with opened_at(store) as opened_store:
        assert "All is well." in facts(opened_store)


def test_a_store_without_redactions_stays_as_it_is(tmp_path: Path) -> None:
    with opened_at(tmp_path / "store", create=True) as opened_store:
        write(opened_store, "Nothing secret.")
        tips = opened_store.repo.history.branches()
    assert purged(tmp_path / "store")["purged"] == 0
    with opened_at(tmp_path / "store") as opened_store:
        assert opened_store.repo.history.branches() == tips


@pytest.mark.parametrize("point", sampled(POINTS, DAILY))
def test_killed_at_any_point_either_store_is_whole_and_the_next_purge_cleans(
    store: Path, point: str
) -> None:
    with opened_at(store) as opened_store:
        before, tips = facts(opened_store), set(commits(opened_store)["graph"])
    killed = run(store, "gc", "--purge-redacted", DAY1_KILL_AT=f"purge.{point}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with opened_at(store) as opened_store:
        assert not (store / "purged.tmp").exists()
        assert facts(opened_store) == before
        anew = set(commits(opened_store)["graph"]).isdisjoint(tips)
        assert anew == (point not in {"after_intent", "copied"})
        known = {commit for one in commits(opened_store)["graph"] for commit in [one]}
        for record in opened_store.repo.ledger.records(MergeRecord):
            assert record.commit is None or record.commit in known
        write(opened_store, "After the kill.")
    purged(store)
    assert words_in(store) == set()
    with opened_at(store) as opened_store:
        assert facts(opened_store) == [*before, "After the kill."]


def test_processes_that_had_the_purged_file_open_go_on_with_the_new_one(store: Path) -> None:
    """Processes that had the old file open read and write the new one, and lose nothing."""
    peer = Process(store)
    first, second = fact_id(), fact_id()
    peer.do({"action": "write", "branch": "main", "id": first, "text": "before"})
    with opened_at(store) as opened_store:
        call(opened_store, "memory_search", query="otter")
        inode = (store / "memory.db").stat().st_ino
        purged(store)
        assert (store / "memory.db").stat().st_ino != inode
        peer.do({"action": "write", "branch": "main", "id": second, "text": "after"})
        assert peer.do({"action": "look", "branch": "main", "id": first}) == [first]
        assert {"before", "after"} <= set(facts(opened_store))
        found = call(opened_store, "memory_search", query="after")["result"]
        assert [hit["fact_text"] for hit in found] == ["after"]
        call(opened_store, "memory_branch_create", branch_name="new")
        write(opened_store, "It goes on.", branch="new")
        assert facts(opened_store, "new")[-1] == "It goes on."
        peer.do({"action": "merge", "source": "new", "target": "main"})
        assert "It goes on." in facts(opened_store)
    assert peer.end() == (0, "")


def test_what_is_written_while_it_is_purged_is_kept(store: Path) -> None:
    with opened_at(store) as opened_store, opened_at(store) as other, purging(opened_store) as do:
        done = threading.Event()

        def late() -> None:  # waits for the lock, and is answered when it is written
            write(other, "Written under the lock.")
            done.set()

        writer = threading.Thread(target=late)

        def at(point: str) -> None:
            if point == "purge.after_intent":
                write(other, "Written in between.")
            if point == "purge.copied":
                writer.start()
                assert not done.wait(0.5)

        do(at)
        writer.join()
        assert {"Written in between.", "Written under the lock."} <= set(facts(opened_store))
    with opened_at(store) as opened_store:
        assert {"Written in between.", "Written under the lock."} <= set(facts(opened_store))


@pytest.mark.weekly
def test_a_redaction_that_comes_meanwhile_is_masked_and_purged_the_next_time(store: Path) -> None:
    with opened_at(store) as opened_store, opened_at(store) as other:
        row = call(other, "memory_write_fact", fact_text="Also heron4712.")["id"]
        with purging(opened_store) as do:
            asked: list[Any] = []

            def at(point: str) -> None:
                if point == "copy.after_commit" and not asked:
                    asked.append(call(other, "memory_redact", id=row, confirm=row))

            do(at)
        assert "Also heron4712." not in facts(opened_store)
        states = {one.row_id: one.purged_at for one in opened_store.repo.ledger.records(Redaction)}
        assert states.pop(row) is None
        assert all(states.values())
    purged(store)
    assert b"heron4712" not in (store / "memory.db").read_bytes()


def test_a_copy_can_leave_the_words_behind(store: Path, tmp_path: Path) -> None:
    done = copy(store, tmp_path / "copy", "--purge-redacted")
    assert done["purged"] == 5
    assert words_in(tmp_path / "copy") == set()
    assert words_in(store), "it stays as it is"
    with opened_at(store) as one, opened_at(tmp_path / "copy") as other:
        assert facts(one) == facts(other)
        assert {r.purged_at is None for r in other.repo.ledger.records(Redaction)} == {False}
    copy(store, tmp_path / "whole")
    assert "memory.db" in words_in(tmp_path / "whole")


def test_a_server_is_told_the_other_way(dolt_database: str, tmp_path: Path) -> None:
    with opened_at(tmp_path / "node", create=True) as opened_store:
        settings = opened_store.settings.store.model_copy(update={"url": dolt_database})
        elsewhere = opened_store.settings.model_copy(update={"store": settings})
        refused(lambda: rewriting(elsewhere, opened_store.folder), "unsupported", "day1 copy")


def test_a_commit_of_before_is_found_by_the_new_one(store: Path) -> None:
    with opened_at(store) as opened_store:
        old = opened_store.repo.store.commit_pending("main")
    purged(store)
    with (
        opened_at(store) as opened_store,
        opened_store.repo.store.reading(Ref(branch="main")) as reading,
    ):
        assert new_ids(opened_store.repo.history)[old] == reading.tip
