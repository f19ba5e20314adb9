"""A restored store answers as the one that was backed up, and nothing is overwritten."""

import json
from pathlib import Path
from typing import Any

from day1.app.archives import files as archives
from day1.interfaces.open_store import OpenStore
from day1.services.access.calls import now
from tests.flows.backed_up_store import backed_up, restored
from tests.flows.opened_store import MERGE, call, digest, mounted, opened, refused


def everything(store: Path) -> tuple[list[Any], dict[str, str]]:
    """Live through what a store is for; answers what reads it, and ids."""
    with opened(store) as opened_store:
        before = call(opened_store, "memory_timeline", limit=1)["result"][0]["timestamp"]
        fact = call(opened_store, "memory_timeline", limit=1)["result"][0]["id"]
        secret = call(opened_store, "memory_write_fact", fact_text="the vault opens with plover")[
            "id"
        ]
        for branch in ("side", "main"):
            call(
                opened_store,
                "memory_update_fact",
                fact_id=fact,
                fact_text=f"on {branch}",
                branch=branch,
            )
        call(opened_store, "memory_branch_merge", **MERGE)
        task = call(opened_store, "memory_task_create", name="Task", task_type="x")["task_id"]
        call(opened_store, "memory_task_join", task_id=task, agent_id="ada", assigned_objectives=[])
        call(opened_store, "memory_redact", id=secret, confirm=secret)
        call(
            opened_store,
            "memory_write_observation",
            observation_type="discovery",
            summary="waiting",
        )
    reads = [
        *(("memory_search", {"query": q}) for q in ("one", "plover", "side", "waiting")),
        ("memory_search", {"query": "two", "branch": "side"}),
        ("memory_timeline", {"limit": 100}),
        ("memory_time_travel", {"timestamp": before, "query": "three"}),
        ("memory_held", {"action": "list"}),
        ("memory_history", {"id": fact}),
        ("memory_blame", {"id": fact}),
        ("memory_history", {"id": secret}),
        ("memory_branch_topology", {}),
        ("memory_snapshot_list", {}),
        ("memory_task_status", {"task_id": task}),
    ]
    return reads, {"secret": secret, "fact": fact}


def test_a_restored_store_answers_as_the_one_that_was_backed_up(
    store: Path, tmp_path: Path
) -> None:
    reads, _ = everything(store)
    with opened(store) as opened_store:
        said = answers(opened_store, reads)
        tokens = call_admin(opened_store, "token_create", name="ada", scope="read")
        backed_up(opened_store, tmp_path / "b")
    assert any(one.get("items") for one in said), (
        "nothing is held: the test shows less than it says"
    )
    restored(tmp_path / "b", tmp_path / "restored")
    with opened(tmp_path / "restored") as copy:
        assert answers(copy, reads) == said
        assert "the vault" not in json.dumps(said)
        assert [t["name"] for t in call_admin(copy, "token_list")["result"]] == ["ada"]
        assert admitted(copy, tokens["secret"]) == "read"
        merged = call(copy, "memory_branch_merge", **MERGE)
        assert merged["merged_count"] == 0, "the restored store knows what was merged"


def answers(opened_store: OpenStore, reads: list[Any]) -> list[Any]:
    """What the reads give. A score is of the index, which knows other texts when it is new."""
    found = [call(opened_store, tool, **arguments) for tool, arguments in reads]
    for one in found:
        hits = [hit for hit in one.get("result", ()) if hit.pop("score", None) is not None]
        if hits:
            one["result"] = sorted(hits, key=lambda hit: str(hit["id"]))
    return found


def call_admin(opened_store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    from day1.services.access.caller import Caller
    from day1.toolsets import TOOLSETS

    called = next(t for t in TOOLSETS.choose("admin") if t.name == tool)
    answer: dict[str, Any] = called.call(opened_store.context(Caller()), arguments)
    return answer


def admitted(opened_store: OpenStore, secret: str) -> str:
    from day1.services.access.authentication import Authenticator

    return Authenticator(opened_store.repo, closed=True).admit(secret, now()).scope


def test_only_the_owner_may_read_what_is_made(backup: Path, tmp_path: Path) -> None:
    restored(backup, tmp_path / "new")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "new").iterdir()} == {
        "memory.db": 0o600,
        "ledger.db": 0o600,
    }
    assert not list(tmp_path.glob("*.tmp"))


def test_nothing_that_is_there_is_overwritten(store: Path, backup: Path, tmp_path: Path) -> None:
    before = digest(store), backup.read_bytes()
    with opened(store) as opened_store:
        refused(lambda: backed_up(opened_store, backup), "refused", "exists already")
    refused(lambda: restored(backup, store), "refused", "exists already")
    only_locks = tmp_path / "locks"
    only_locks.mkdir()
    (only_locks / "lock").touch()
    refused(lambda: restored(backup, only_locks), "refused")
    assert (digest(store), backup.read_bytes()) == before
    (tmp_path / "empty").mkdir()
    assert restored(backup, tmp_path / "empty")


def test_somebody_elses_folder_is_not_taken_for_what_a_killed_one_left(
    backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.tmp").mkdir()
    (tmp_path / "new.tmp" / "thesis").touch()
    refused(lambda: restored(backup, tmp_path / "new"), "refused", "holds other files")
    assert (tmp_path / "new.tmp" / "thesis").exists()


def test_two_that_make_the_same_store_do_not_meet(backup: Path, tmp_path: Path) -> None:
    with archives().staging(tmp_path / "new", folder=True):
        refused(lambda: restored(backup, tmp_path / "new"), "refused", "Another process")


def test_where_a_disk_is_mounted_a_folder_in_it_is_asked_for(backup: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=9m", "tmpfs") as disk:
        refused(lambda: restored(backup, disk), "refused", "name a folder in it")
        assert restored(backup, disk / "store")
