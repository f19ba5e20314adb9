"""Contexts over both wires: JSON byte for byte, keys, expiry, secrets, branches and the past."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine import needs_files
from tests.forkserver import python
from tests.unit.test_kept_content import JSON
from tests.waiting import until
from tests.wires.http_server import HTTP_DAILY, HttpServer, HttpSession
from tests.wires.kompanion_client import (
    METAL,
    WOOD,
    Both,
    clients,
    contents,
    found,
    model,
)
from tests.wires.kompanion_client import both as both  # noqa: PLC0414 - a fixture
from tests.wires.kompanion_client import shared as shared  # noqa: PLC0414 - a fixture
from tests.wires.mcp_session import environment
from tests.wires.raw_pipe import RawPipe

SESSION = {"day1/session_id": "s1"}
PLAN: Any = {"a": [1, 2.5, None, "ü"]}


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.fixture(scope="module", params=HTTP_DAILY)
def lasting(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Both]:
    with clients(request.param, tmp_path_factory.mktemp("kompanion") / "store") as both:
        yield both


@pytest.mark.line("S3-001", "S3-003")
def test_what_was_answered_outlives_a_killed_server(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    arguments = dumped({**METAL, "key": "plan", "content": PLAN})
    with RawPipe(folder, "kompanion") as pipe:
        first = pipe.call("save_context", arguments)["structuredContent"]
    # RawPipe kills its process.
    with HttpServer(folder) as server:
        with HttpSession(server, path="/mcp/kompanion") as client:
            (item,) = client.ok("recall_context", **METAL, key="plan")["items"]
            assert dumped(item["content"]) == dumped(PLAN)
            assert (item["id"], item["key"]) == (first["id"], "plan")
            second = client.ok("save_context", **WOOD, key="plan", content=[PLAN])
        server.process.kill()
        server.process.wait()
    with RawPipe(folder, "kompanion") as pipe:
        asked = dumped({**WOOD, "key": "plan"})
        (item,) = pipe.call("recall_context", asked)["structuredContent"]["items"]
        assert dumped(item["content"]) == dumped([PLAN])
        assert item["id"] == second["id"]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=JSON)
def test_any_json_comes_back_byte_for_byte(lasting: Both, content: Any) -> None:
    """Over real wires, of which each reads and writes JSON in ways of its own."""
    lasting.kompanion.ok("save_context", **METAL, key="any", content=content)
    (there,) = contents(lasting.kompanion, **METAL, key="any")
    assert dumped(there) == dumped(content)


@pytest.mark.parametrize("content", [1, "1", 1.0, True, None, [], {}, "", 2**70, {"b": 1, "a": 2}])
def test_values_that_look_alike_stay_apart(lasting: Both, content: Any) -> None:
    lasting.kompanion.ok("save_context", **METAL, key=dumped(content), content=content)
    (there,) = contents(lasting.kompanion, **METAL, key=dumped(content))
    assert dumped(there) == dumped(content)


@pytest.mark.line("S3-003")
def test_the_same_key_replaces_and_history_keeps_both(both: Both) -> None:
    own, day1 = both
    first = own.ok("save_context", **METAL, key="plan", content={"v": 1})
    between = day1.ok("memory_snapshot")["created_at"]
    second = own.ok("save_context", **METAL, key="plan", content={"v": 2}, tags=["new"])
    assert (second["id"], second["created_at"]) == (first["id"], first["created_at"])
    again = own.ok("save_context", **METAL, key="plan", content={"v": 2}, tags=["new"])
    assert again["written"]["commit"] == second["written"]["commit"], "nothing changed"
    assert contents(own, **METAL) == [{"v": 2}]
    history = day1.ok("memory_history", id=first["id"])
    assert '"v": 1' in dumped(history).replace('\\"', '"')
    log = day1.found("memory_log")
    changes = [commit for commit in log if commit["op"] == "change"]
    assert len(changes) == 1
    past = day1.ok("memory_get", id=first["id"], at=between)["row"]
    assert past["structure"] == {"v": 1}
    day1.ok("memory_revert", commit=changes[0]["commit"])
    assert contents(own, **METAL, key="plan") == [{"v": 1}]


def test_a_key_that_two_branches_set_is_held_and_decided(both: Both) -> None:
    own, day1 = both
    main = own.meta["day1/branch"]

    def save(content: Any, branch: str) -> None:
        given = {**METAL, "key": "plan", "content": content}
        assert not own.call("save_context", given, {"day1/branch": branch}).is_error

    save({"by": "both"}, main)
    side = f"{main}/side"
    day1.ok("memory_branch_create", branch_name=side, parent_branch=main)
    save({"by": "main"}, main)
    save({"by": "side"}, side)
    sides = {"source_branch": side, "target_branch": main}
    merged = day1.ok("memory_branch_merge", **sides, strategy="auto")
    assert merged["rejected_count"] == 1
    (item,) = day1.ok("memory_held")["items"]
    assert '{"by":"main"}' in dumped(item).replace('\\"', '"').replace(": ", ":")
    assert '{"by":"side"}' in dumped(item).replace('\\"', '"').replace(": ", ":")
    assert contents(own, **METAL, key="plan") == [{"by": "main"}]
    day1.ok("memory_held", action="take", id=item["id"])
    assert contents(own, **METAL, key="plan") == [{"by": "side"}]


@pytest.mark.line("S3-004")
def test_contexts_are_fetched_by_tags_time_and_number_newest_first(both: Both) -> None:
    own = both.kompanion
    made = [
        own.ok("save_context", **METAL, content=number, tags=["even"[number % 2 :], "all"])
        for number in range(6)
    ]
    assert len({one["id"] for one in made}) == 6
    assert contents(own, **METAL) == [5, 4, 3, 2, 1, 0]
    assert contents(own, **METAL, limit=2) == [5, 4]
    assert contents(own, **METAL, tags=["all", "even"]) == [4, 2, 0]
    assert contents(own, **METAL, tags=["all", "odd"]) == []
    assert contents(own, **METAL, since=made[3]["created_at"]) == [5, 4, 3]
    assert contents(own, **METAL, since=made[1]["created_at"], tags=["even"], limit=1) == [4]
    assert contents(own, **WOOD) == []
    (note,) = own.ok("recall_context", namespace="project:metall")["read"]["notes"]
    assert "project:metal (6)" in note
    (item,) = own.ok("recall_context", **METAL, limit=1)["items"]
    assert set(item) == {"id", "content", "tags", "created_at"}
    own.ok("save_context", **WOOD, content=None)
    (bare,) = own.ok("recall_context", **WOOD)["items"]
    assert set(bare) == {"id", "content", "created_at"}
    for number in range(20):
        own.ok("save_context", **WOOD, content=number)
    assert len(contents(own, **WOOD)) == 20


@pytest.mark.line("S3-004", "S3-017")
def test_what_has_expired_is_gone_without_a_write_and_there_in_the_past(both: Both) -> None:
    own, day1 = both
    for content, more in (({"pass": "bluebell"}, {"ttl_seconds": 3}), ("daisies", {})):
        saved = own.call(
            "save_context", {**METAL, "content": content, **more}, {"day1/session_id": "s4"}
        )
        assert not saved.is_error
    asked = {"level": "session", "session_id": "s4"}
    made = day1.ok("memory_consolidate", **asked)["facts"]
    assert [fact["fact_text"] for fact in made] == ["pass: bluebell", "daisies"]
    bundled = {"source_branch": own.meta["day1/branch"], "only_verified": False}
    bundle = day1.ok("knowledge_bundle_create", name="all", **bundled)
    assert bundle["fact_count"] == 2
    known = day1.ok("memory_snapshot")["created_at"]
    alive = day1.ok("memory_timeline")["read"]

    def seen() -> list[bool]:
        everywhere = (
            own.ok("recall_context", **METAL),
            own.ok("search_memory", **METAL, query={"text": "bluebell"}),
            day1.ok("memory_search", query="bluebell", types=["fact", "observation"]),
            day1.ok("memory_list", type="observation"),
            day1.ok("memory_list", type="fact"),
        )
        return ["bluebell" in dumped(answer) for answer in everywhere]

    assert seen() == [True] * 5
    until(lambda: not any(seen()), "the context to expire", 10)
    assert contents(own, **METAL) == ["daisies"]
    assert day1.ok("memory_timeline")["read"] == alive, "nothing was written meanwhile"
    assert day1.ok("memory_consolidate", **asked)["new_facts"] == 0
    shelf = f"{own.meta['day1/branch']}/shelf"
    day1.ok("memory_branch_create", branch_name=shelf, parent_branch="main")
    for one in (bundle, day1.ok("knowledge_bundle_create", name="later", **bundled)):
        day1.ok("knowledge_bundle_import", bundle_id=one["id"], target_branch=shelf)
    facts = day1.ok("memory_list", type="fact", branch=shelf)["rows"]
    assert [fact["fact_text"] for fact in facts] == ["daisies"]
    for kind in ("fact", "observation"):
        assert "bluebell" in dumped(day1.ok("memory_list", type=kind, at=known))


def test_saving_an_expired_key_again_brings_it_back(both: Both) -> None:
    own = both.kompanion
    own.ok("save_context", **METAL, key="k", content=1, ttl_seconds=0.001)
    until(lambda: contents(own, **METAL) == [], "the context to expire")
    own.ok("save_context", **METAL, key="k", content=1)
    assert contents(own, **METAL) == [1]


@pytest.mark.line("S3-011")
@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ("stdio", {"content": {"note": "the vault PIN is plover"}, "sensitivity": "secret"}),
        ("http", {"content": {"note": "the vault PIN is plover", "sensitivity": "secret"}}),
        ("http", {"content": "the vault PIN is plover", "tags": ["secret"]}),
    ],
    ids=["argument", "content", "tag"],
)
def test_a_secret_is_told_by_its_own_space_alone(
    tmp_path: Path, said: dict[str, Any], wire: str
) -> None:
    needs_files()
    folder = tmp_path / "store"
    with clients(wire, folder, **model()) as (own, day1):
        own.ok("save_context", **METAL, key="vault", **said)
        items = [{"id": "m", "text": "plover it is", "metadata": {"sensitivity": "secret"}}]
        own.ok("upsert_memory", **METAL, items=items)
        own.ok("upsert_memory", **METAL, items=[{"text": "roses need water"}])
        assert contents(own, **METAL, key="vault") == [said["content"]]
        assert "m" not in found(own, "plover it is")
        assert own.ok("warm_cache", **METAL)["queued"] == 0
        assert own.ok("sync_semantic", **METAL) | {"written": 0} == {
            "processed": 0,
            "pending": 0,
            "written": 0,
        }
        for answer in (
            own.ok("search_memory", **METAL, query={"text": "vault PIN plover"}),
            day1.ok("memory_search", query="vault PIN plover", types=["fact", "observation"]),
            day1.ok("memory_list", type="observation"),
            day1.ok("memory_list", type="fact"),
            day1.ok("memory_timeline"),
            bundle := day1.ok(
                "knowledge_bundle_create", name="b", source_branch="main", only_verified=False
            ),
        ):
            assert "plover" not in dumped(answer)
        assert bundle["fact_count"] == 1
    for name, export in (("all", ["export", "-o"]), ("bundle", ["bundle", "export", bundle["id"]])):
        file = tmp_path / f"{name}.jsonl"
        line = [*python(), "-m", "day1", *export, str(file)]
        subprocess.run(line, env={**os.environ, **environment(folder)}, check=True, cwd=tmp_path)
        assert "roses need water" in file.read_text()
    holding = sorted(
        file.name
        for file in tmp_path.rglob("*")
        if file.is_file() and b"plover" in file.read_bytes()
    )
    assert all(name.startswith("memory.db") for name in holding), holding
    assert holding, "it is in memory.db"


def test_a_context_that_becomes_secret_takes_its_facts_with_it(tmp_path: Path) -> None:
    with clients("stdio", tmp_path / "store", **model()) as (own, day1):
        own.ok("save_context", **METAL, key="code", content="the gate opens with bluebell")
        assert own.ok("sync_semantic", **METAL)["processed"] == 1
        assert "bluebell" in dumped(day1.ok("memory_search", query="gate opens with"))
        own.ok("save_context", **METAL, key="code", content="x", sensitivity="secret")
        assert "bluebell" not in dumped(day1.ok("memory_search", query="gate opens with"))
        assert "bluebell" not in dumped(own.ok("search_memory", **METAL, query={"text": "gate"}))
        own.ok("save_context", **METAL, key="code", content="open again", sensitivity="normal")
        assert contents(own, **METAL) == ["open again"]


@pytest.mark.line("S3-011")
def test_no_fact_is_made_of_a_secret_or_of_what_has_expired(both: Both) -> None:
    own, day1 = both
    for content, more in (
        ("Lilies open at dawn.", {}),
        ("Bluebells open the vault.", {"sensitivity": "secret"}),
        ("Daisies opened once.", {"ttl_seconds": 0.001}),
    ):
        saved = own.call("save_context", {**METAL, "content": content, **more}, SESSION)
        assert not saved.is_error
    until(lambda: len(contents(own, **METAL)) == 2, "the context to expire")
    made = day1.ok("memory_consolidate", level="session", session_id="s1")
    assert made["new_facts"] == 1
    facts = [row["fact_text"] for row in day1.ok("memory_list", type="fact")["rows"]]
    assert facts == ["Lilies open at dawn."]


def test_what_was_redacted_is_not_replaced_unseen(both: Both) -> None:
    """Its namespace is hidden with its words, so nobody would find what came in its place."""
    own, day1 = both
    context = {**METAL, "key": "plan"}
    memory = {**METAL, "items": [{"id": "m", "text": "Ann owes 40 crowns."}]}
    kept = own.ok("save_context", **context, content="Bob owes 30 crowns.")["id"]
    own.ok("upsert_memory", **memory)
    (fact,) = day1.ok("memory_list", type="fact")["rows"]
    for row_id in (kept, fact["id"]):
        day1.ok("memory_redact", id=row_id, confirm=row_id)
    assert contents(own, **METAL) == []
    assert "crowns" not in dumped(own.ok("search_memory", **METAL, query={"text": "crowns"}))
    own.refused("save_context", "refused", **context, content="Paid.")
    own.refused("upsert_memory", "refused", **{**METAL, "items": [{"id": "m", "text": "Paid."}]})
