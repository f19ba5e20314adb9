"""What memory and workspace hold and whether all works, by gwt's tools, over stdio and HTTP."""

import json
from pathlib import Path

import pytest

from tests.wires.gwt_session import GwtSession, HttpGwtSession, is_place, served
from tests.wires.http_server import STDIO_DAILY, HttpServer

READINESS = {"status", "checks", "namespace", "embedding", "counts", "broadcast_bus"}
READINESS |= {"file_sizes", "restored_runtime_items"}
PROFILE = {"status", "namespace", "data_dir", "embedding", "persisted_item_count"}
PROFILE |= {"runtime_index_count", "structured_record_count", "structured_fields"}
PROFILE |= {"counts_by_type", "counts_by_source", "file_sizes", "restored_runtime_items"}
PROFILE |= {"cycle_stats", "retention_policy"}


def fill(gwt: GwtSession) -> None:
    gwt.store("mill: Selm\nspindles: 90")
    gwt.store("Oil it weekly.", memory_type="procedural")
    line = json.dumps({"content": "Its owner is Ada.", "source": "notes", "memory_type": "working"})
    gwt.ok("gwt_import_memory", jsonl=line)
    gwt.ok("gwt_broadcast")


@pytest.mark.line("S0-018")
@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_a_profile_counts_and_survives_a_restart(tmp_path: Path, wire: str) -> None:
    folder = tmp_path / "store"
    with served(wire, folder) as gwt:
        empty = gwt.ok("gwt_memory_profile")
        assert (empty["persisted_item_count"], empty["restored_runtime_items"]) == (0, 0)
        fill(gwt)
        before = gwt.ok("gwt_memory_profile")
    assert set(before) == {*PROFILE, "read"}
    assert (before["persisted_item_count"], before["runtime_index_count"]) == (3, 3)
    assert before["counts_by_type"] == {"procedural": 1, "semantic": 1, "working": 1}
    assert before["counts_by_source"] == {"agent": 2, "notes": 1}
    assert (before["structured_record_count"], before["structured_fields"]) == (1, ["mill", "spindles"])  # fmt: skip
    stats = before["cycle_stats"]
    assert (stats["cycles"], stats["slots"]) == (1, 7)
    assert before["restored_runtime_items"] == stats["workspace"] + stats["buffer"] == 2
    assert before["embedding"] == {"provider": "none", "model": None, "dim": None}
    assert before["retention_policy"]["workspace_places"] == 7
    assert before["data_dir"] == before["namespace"]["data_dir"]
    assert is_place(before["data_dir"], folder)
    with served(wire, folder) as gwt:
        after = gwt.ok("gwt_memory_profile")
        ready = gwt.ok("gwt_readiness_check")
    same = PROFILE - {"file_sizes"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert set(ready) == {*READINESS, "problems", "read"}
    assert (ready["status"], ready["problems"], set(ready["checks"].values())) == ("ready", {}, {True})  # fmt: skip
    assert ready["counts"] == {
        "persisted_items": 3,
        "runtime_index_items": 3,
        "structured_records": 1,
        "workspace_occupied": stats["workspace"],
        "workspace_capacity": 7,
        "buffer_size": stats["buffer"],
        "broadcasts": 1,
        "active_goals": 0,
    }
    assert ready["restored_runtime_items"] == 2
    assert ready["broadcast_bus"]["configured"] is True
    assert "recall" in ready["broadcast_bus"]["subscribers"]


def test_a_model_that_is_missing_degrades(tmp_path: Path) -> None:
    with served(
        "stdio", tmp_path / "store", "minilm", DAY1_EMBEDDER__MODEL_DIR=str(tmp_path)
    ) as gwt:
        gwt.store("Herons fish.")
        ready = gwt.ok("gwt_readiness_check")
        assert ready["status"] == "degraded"
        assert set(ready["problems"]) == {"embedding_ready"}
        assert ready["checks"]["embedding_ready"] is False
        assert ready["counts"]["runtime_index_items"] == 1


@pytest.mark.line("S0-025")
def test_only_who_administers_the_store_reads_where_it_is(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        boss = server.token("boss")
        tokens = {
            "merge": server.token("merger", "merge", boss),
            "read": server.token("reader", "read", boss),
            "limited": server.token("limited", "admin", boss, branches=["main"]),
        }
        with HttpGwtSession(server, path="/mcp/gwt", token=boss) as gwt:
            fill(gwt)
            assert is_place(gwt.ok("gwt_memory_profile")["data_dir"], server.folder)
        for token in tokens.values():
            with HttpGwtSession(server, path="/mcp/gwt", token=token) as gwt:
                for tool in ("gwt_memory_profile", "gwt_readiness_check", "gwt_backup_memory"):
                    answer = gwt.ok(tool)
                    assert answer["namespace"]["data_dir"] == "store"
                    assert str(tmp_path) not in json.dumps(answer)


def test_each_client_has_its_own_mind_over_stdio(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with served("stdio", folder, DAY1_AGENT_ID="ada") as ada:
        fill(ada)
    for agent, restored in (("ada", 2), ("bo", 0)):
        with served("stdio", folder, DAY1_AGENT_ID=agent) as gwt:
            profile = gwt.ok("gwt_memory_profile")
            assert (profile["persisted_item_count"], profile["restored_runtime_items"]) == (
                3,
                restored,
            )


def test_each_client_has_its_own_mind_over_http(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        for agent, restored in (("ada", 2), ("bo", 0)):
            headers = {"Day1-Agent-Id": agent}
            with HttpGwtSession(server, path="/mcp/gwt", headers=headers) as gwt:
                if agent == "ada":
                    fill(gwt)
                assert gwt.ok("gwt_memory_profile")["restored_runtime_items"] == restored
