"""The keys of every answer and error of gwt's 21 tools, over stdio and HTTP (S0-001)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wires.gwt_session import GwtSession, served
from tests.wires.http_server import WIRES

Keys = set[str]
CONTRACT: dict[str, str] = {
    "gwt_store": "id memory_type activation_state linked_to tags status",
    "gwt_set_goal": "goal_id description priority status",
    "gwt_broadcast": "status items goal summary",
    "gwt_compete": "winners would_evict all_scores reason reason_breakdown",
    "gwt_query": "result",
    "gwt_attend": "question planner supported_planners context_count passes_requested"
    " passes_completed admit evidence_plan tool_call_count admitted_ids broadcast workspace trace",
    "gwt_resolve": "question planner context_count evidence_plan",
    "gwt_collection_query": "operation answer matched_count matched_records supporting_evidence"
    " metadata",
    "gwt_trace_explain": "status question planner strategy answer pass_count tool_call_count phases"
    " broadcast_bus explanation trace",
    "gwt_bus_inspect": "status broadcast_bus summary",
    "gwt_memory_profile": "status namespace data_dir embedding persisted_item_count"
    " runtime_index_count structured_record_count structured_fields counts_by_type"
    " counts_by_source file_sizes restored_runtime_items cycle_stats retention_policy",
    "gwt_readiness_check": "status checks namespace embedding counts broadcast_bus file_sizes"
    " restored_runtime_items",
    "gwt_backup_memory": "status format namespace file_sizes item_count jsonl",
    "gwt_export_memory": "status format item_count filters jsonl",
    "gwt_import_memory": "status imported_count imported_ids error_count errors admit dedupe"
    " skipped_duplicate_count skipped_duplicates",
    "gwt_restore_memory": "status mode backup imported_count imported_ids error_count errors admit"
    " dedupe skipped_duplicate_count skipped_duplicates",
    "gwt_compact_working_memory": "status max_items keep_count compact_count candidate_ids backup",
    "gwt_reset": "status backup",
    "gwt_evict": "status item_id",
    "gwt_link": "status source_id target_id",
    "gwt_inspect": "target",
}
"""The keys that the seed names, or that are proposed for it."""
ADDED: dict[str, str] = {
    "gwt_store": "written",
    "gwt_broadcast": "text read",
    "gwt_compete": "explained read",
    "gwt_query": "read",
    "gwt_attend": "read",
    "gwt_resolve": "read",
    "gwt_collection_query": "read",
    "gwt_memory_profile": "read",
    "gwt_readiness_check": "problems read",
    "gwt_backup_memory": "read",
    "gwt_export_memory": "read",
    "gwt_import_memory": "written",
    "gwt_restore_memory": "written deleted_count kept_count snapshot_id",
    "gwt_compact_working_memory": "deleted_count summary_id written",
    "gwt_reset": "scope persistent_memory_deleted deleted_count kept_count snapshot_id written",
    "gwt_evict": "id state message",
    "gwt_link": "written",
    "gwt_inspect": "status items",
}
"""The keys that day1 adds."""
FOUND = "id content memory_type activation_state activation_level linked_ids tags admitted score"
ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "gwt_store": ({"content": "x", "memory_type": "odd"}, "supported_memory_types"),
    "gwt_query": ({"query": "x", "memory_type": "odd"}, "supported_memory_types"),
    "gwt_attend": ({"question": "x", "planner": "odd"}, "supported_planners"),
    "gwt_resolve": ({"question": "x", "planner": "odd"}, "supported_planners"),
    "gwt_collection_query": ({"operation": "odd"}, "supported_operations"),
    "gwt_export_memory": ({"memory_type": "odd"}, "supported_memory_types"),
    "gwt_backup_memory": ({"memory_type": "odd"}, "supported_memory_types"),
    "gwt_import_memory": (
        {"jsonl": "{}", "default_memory_type": "odd"},
        "supported_memory_types",
    ),
    "gwt_restore_memory": (
        {"jsonl": "{}", "mode": "replace", "confirm": "restore_replace"},
        "required_confirm mode",
    ),
    "gwt_compact_working_memory": (
        {"dry_run": False, "confirm": "compact_working"},
        "required_confirm scope",
    ),
    "gwt_reset": ({"scope": "persistent", "confirm": ""}, "required_confirm scope"),
    "gwt_inspect": ({"target": "odd"}, "supported_targets"),
    "gwt_evict": ({"item_id": "fact_none"}, ""),
    "gwt_link": ({"source_id": "fact_none", "target_id": "fact_other"}, ""),
    "gwt_set_goal": ({"description": ""}, ""),
    "gwt_compete": ({"n_slots": 0}, ""),
}
"""By tool, arguments that it refuses, and the keys beside `error`, `code` and `details`."""


@pytest.fixture(params=WIRES)
def gwt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GwtSession]:
    with served(request.param, tmp_path / "store") as session:
        yield session


@pytest.mark.line("S0-001")
def test_every_answer_has_the_keys_of_the_contract(gwt: GwtSession) -> None:
    assert gwt.tools.keys() == CONTRACT.keys()
    seen: dict[str, Keys] = {}

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = gwt.ok(tool, **arguments)
        seen[tool] = set(answer)
        return answer

    assert set(gwt.ok("gwt_trace_explain")) == {"status", "message"}
    one = call("gwt_store", content="The mill in Selm has 90 spindles.")["id"]
    other = gwt.store("name: Selm\nspindles: 90")
    for number in range(3):
        gwt.store(f"Note {number} of the mill.", memory_type="working")
    call("gwt_link", source_id=one, target_id=other)
    call("gwt_set_goal", description="Count the spindles of the mill in Selm.")
    call("gwt_compete")
    call("gwt_broadcast")
    (found, *_) = call("gwt_query", query="spindles")["result"]
    assert set(found) == {*FOUND.split()}
    call("gwt_attend", question="How many spindles has the mill in Selm?")
    call("gwt_resolve", question="How many spindles has the mill in Selm?")
    call("gwt_collection_query", operation="count")
    call("gwt_trace_explain")
    call("gwt_bus_inspect")
    call("gwt_memory_profile")
    call("gwt_readiness_check")
    call("gwt_inspect")
    call("gwt_evict", item_id=one)
    jsonl = call("gwt_backup_memory")["jsonl"]
    call("gwt_export_memory")
    call("gwt_import_memory", jsonl=json.dumps({"id": "x", "content": "Herons fish."}))
    call("gwt_compact_working_memory", max_items=1, dry_run=False, confirm="COMPACT_WORKING")
    call("gwt_restore_memory", jsonl=jsonl, mode="replace", confirm="RESTORE_REPLACE")
    call("gwt_reset", scope="persistent", confirm="RESET_PERSISTENT")
    named = {tool: {*CONTRACT[tool].split()} for tool in CONTRACT}
    assert {tool: keys - named[tool] for tool, keys in seen.items()} == {
        tool: {*ADDED.get(tool, "").split()} for tool in CONTRACT
    }
    assert {tool: keys - seen[tool] for tool, keys in named.items()} == {
        tool: set() for tool in CONTRACT
    }


@pytest.mark.line("S0-001")
@pytest.mark.parametrize("tool", ERRORS)
def test_every_error_has_the_keys_of_the_contract(gwt: GwtSession, tool: str) -> None:
    arguments, beside = ERRORS[tool]
    answer = gwt.call(tool, arguments)
    assert answer.is_error
    assert set(answer.structured) == {"error", "code", "details", *beside.split()}
