"""What every tool has in common over MCP: names, schemas, shapes, eras; and a quiet server."""

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs

from day1.app.open import open_store
from day1.interfaces.mcp.server import result
from day1.mcp.tools import TOOLS, handle_tool_call
from day1.services.access.caller import Caller
from day1.settings import Settings
from tests.wires.mcp_session import Session, unscored
from tests.wires.minimal_arguments import MINIMAL, SPENT, prepared
from tests.wires.raw_pipe import RawPipe

CORE = [
    "memory_write_fact",
    "memory_write_observation",
    "memory_write_relation",
    "memory_search",
    "memory_graph_query",
    "memory_timeline",
    "memory_branch_create",
    "memory_branch_list",
    "memory_branch_switch",
    "memory_branch_diff",
    "memory_branch_merge",
    "memory_snapshot",
    "memory_snapshot_list",
    "memory_time_travel",
    "memory_task_create",
    "memory_task_join",
    "memory_task_status",
    "memory_task_update",
    "memory_consolidate",
    "memory_search_task",
    "memory_agent_timeline",
    "memory_replay_task_type",
    "memory_log_message",
    "memory_list_conversations",
    "memory_search_messages",
    "memory_fork_conversation",
    "memory_cherry_pick_conversation",
    "memory_branch_create_curated",
    "memory_session_context",
    "memory_branch_topology",
    "memory_branch_enrich",
    "memory_template_list",
    "memory_template_create",
    "memory_template_instantiate",
    "verify_fact",
    "verify_batch",
    "verify_merge_gate",
    "memory_handoff_create",
    "memory_handoff_get",
    "knowledge_bundle_create",
    "knowledge_bundle_import",
    "knowledge_bundle_list",
]
LISTS = {
    "memory_search",
    "memory_graph_query",
    "memory_timeline",
    "memory_branch_list",
    "memory_snapshot_list",
    "memory_time_travel",
    "memory_search_task",
    "memory_agent_timeline",
    "memory_list_conversations",
    "memory_search_messages",
    "review_list",
}
ANSWERS = {
    "memory_write_fact": {"id", "created_at"},
    "memory_write_observation": {"id", "created_at"},
    "memory_write_relation": {"id"},
    "memory_search": {"id", "fact_text", "category", "score"},
    "memory_graph_query": {"source", "target", "relation", "properties"},
    "memory_timeline": {"type", "timestamp", "content"},
    "memory_branch_create": {"branch_name", "created_at"},
    "memory_branch_list": {"branch_name", "parent", "status", "description"},
    "memory_branch_switch": {"active_branch"},
    "memory_branch_diff": {"new_facts", "new_relations", "conflicts"},
    "memory_branch_merge": {"merged_count", "rejected_count", "merge_id"},
    "memory_snapshot": {"snapshot_id", "created_at"},
    "memory_snapshot_list": {"id", "label", "created_at"},
    "memory_time_travel": {"id", "fact_text", "category", "score"},
    "memory_task_create": {"task_id", "branch_name"},
    "memory_task_join": {"branch_name", "objectives"},
    "memory_task_status": {"task", "agents", "objectives"},
    "memory_task_update": {"task_id", "objective_id", "status", "updated_at", "task_status"},
    "memory_consolidate": {"new_facts", "duplicates_merged"},
    "memory_search_task": {"id", "fact_text", "category", "score", "branch"},
    "memory_agent_timeline": {"type", "timestamp", "content", "task_id", "branch"},
    "memory_replay_task_type": {"task_type", "task_count", "tasks", "patterns"},
    "memory_log_message": {"message_id", "conversation_id"},
    "memory_list_conversations": {"conversation_id", "title", "branch", "message_count"},
    "memory_search_messages": {"message_id", "conversation_id", "sequence", "role", "content"},
    "memory_fork_conversation": {"forked_conversation_id", "messages_copied"},
    "memory_cherry_pick_conversation": {"new_conversation_id", "messages_copied"},
    "memory_branch_create_curated": {"branch_name", "conversations", "facts"},
    "memory_session_context": {"session", "facts", "conversations", "observations"},
    "memory_branch_topology": {"branch_name", "children", "status", "metadata"},
    "memory_branch_enrich": {"branch_name", "metadata"},
    "memory_template_list": {"templates"},
    "memory_template_create": {
        "name",
        "version",
        "branch_name",
        "fact_count",
        "conversation_count",
    },
    "memory_template_instantiate": {
        "branch_name",
        "template_name",
        "template_version",
        "facts_inherited",
    },
    "verify_fact": {"fact_id", "verdict", "reason", "scores"},
    "verify_batch": {"total_processed", "verified", "invalidated"},
    "verify_merge_gate": {"can_merge", "verified", "unverified"},
    "memory_handoff_create": {"handoff_id", "fact_count", "conversation_count"},
    "memory_handoff_get": {"facts", "conversations", "context_summary"},
    "knowledge_bundle_create": {"id", "name", "fact_count"},
    "knowledge_bundle_import": {"facts_imported", "conversations_imported"},
    "knowledge_bundle_list": {"bundles"},
}
"""What the seed promises of each answer, or of each item of a list."""


@pytest.mark.line("S1-002")
def test_the_seeds_tools_come_first_in_its_order_by_its_names(core: Session) -> None:
    assert list(core.tools)[: len(CORE)] == CORE
    assert list(core.tools) == list(MINIMAL)
    families = ("memory_", "verify_", "knowledge_bundle_", "review_")
    assert all(name.startswith(families) for name in core.tools)
    about = ("branch", "template", "handoff", "knowledge_bundle", "verify")
    for name in CORE:
        if {"branch_name", "source_branch"} & set(core.takes(name)):
            assert name.removeprefix("memory_").startswith(about), name


@pytest.mark.line("S1-003")
def test_schemas_are_json_schema_2020_12_and_every_argument_is_typed(core: Session) -> None:
    for tool in core.tools.values():
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert "$ref" not in json.dumps(tool.input_schema), "some clients follow none"
        Draft202012Validator(tool.input_schema).validate(MINIMAL[tool.name])
        assert tool.description


@pytest.mark.line("S1-003")
def test_output_schemas_promise_the_seeds_fields_and_the_state(core: Session) -> None:
    for name, promised in ANSWERS.items():
        schema = core.tools[name].output_schema
        assert schema is not None
        if name in LISTS:
            assert set(schema["required"]) == {"result", "read"}
            assert promised <= set(schema["properties"]["result"]["items"]["required"])
        else:
            assert promised <= set(schema["required"])
            assert {"read", "written"} & set(schema["required"])


@pytest.mark.line("S1-003", "S1-005")
def test_every_tool_answers_json_with_or_without_its_optional_arguments(
    core: Session, branch: str
) -> None:
    given = prepared(core, branch)
    for name, arguments in given.items():
        answer = core.call(name, arguments)  # which holds the answer against all promises
        assert not answer.is_error, (name, answer.structured)
        assert isinstance(answer.document, list) == (name in LISTS)
        items = answer.document if name in LISTS else [answer.document]
        for item in items:
            assert ANSWERS.get(name, set()) <= set(item)

        optional = [n for n, line in core.takes(name).items() if not line.endswith("!")]
        if name not in SPENT:
            nulls = dict.fromkeys(set(optional) - set(arguments))
            again = core.call(name, {**arguments, **nulls})
            assert not again.is_error, (name, again.structured)
            hints = core.tools[name].annotations
            if hints and hints.read_only_hint:
                same: Any = unscored if name in LISTS else dict
                assert same(again.document) == same(answer.document)
                assert again.structured["read"] == answer.structured["read"]


@pytest.mark.line("S1-091")
def test_names_that_differ_between_tools_stay_as_the_seed_prints_them(core: Session) -> None:
    assert {"source_entity", "target_entity", "relation_type"} <= set(
        core.takes("memory_write_relation")
    )
    assert {"source", "target", "relation"} <= ANSWERS["memory_graph_query"]
    assert "parent_branch" in core.takes("memory_branch_create")
    assert "parent" in ANSWERS["memory_branch_list"]
    assert "branch" in core.takes("memory_snapshot_list")
    assert "branch_name" in core.takes("memory_branch_switch")
    assert "source_branch" in core.takes("memory_branch_diff")
    assert "snapshot_id" in ANSWERS["memory_snapshot"]
    assert "id" in ANSWERS["memory_snapshot_list"]


def test_hints_say_what_a_tool_does(core: Session) -> None:
    hints = {name: tool.annotations for name, tool in core.tools.items()}
    reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}
    assert reading == LISTS | {
        "memory_branch_diff",
        "memory_task_status",
        "memory_replay_task_type",
        "memory_session_context",
        "memory_branch_topology",
        "memory_template_list",
        "verify_merge_gate",
        "memory_handoff_get",
        "knowledge_bundle_list",
        "memory_merge_preview",
        "review_show",
        "memory_history",
        "memory_blame",
    }
    destroying = {
        name
        for name, hint in hints.items()
        if name not in reading and (hint is None or hint.destructive_hint is not False)
    }
    assert destroying == {
        "memory_retract_fact",
        "memory_remove",
        "memory_restore",
        "memory_redact",
        "memory_branch_delete",
    }
    repeatable = {name for name, hint in hints.items() if hint and hint.idempotent_hint}
    assert {"memory_task_join", "memory_task_update", "knowledge_bundle_import"} <= repeatable
    assert not repeatable & {"memory_write_fact", "memory_task_create", "memory_log_message"}
    assert all(hint is not None and hint.open_world_hint is False for hint in hints.values())


def test_a_person_confirms_decisions_rights_and_what_cannot_be_undone(tmp_path: Path) -> None:
    with Session(tmp_path / "store", toolsets="core,review,browse,admin,kompanion") as everything:
        metas = {name: tool.meta for name, tool in everything.tools.items() if tool.meta}
    assert set(metas) == {
        "review_decide",
        "review_approve",
        "review_merge",
        "memory_redact",
        "memory_branch_protect",
        "memory_branch_delete",
        "token_create",
        "token_revoke",
    }
    assert all(meta == {"anthropic/requiresUserInteraction": True} for meta in metas.values())
    assert not metas.keys() & set(CORE), "an agent's daily work waits for nobody"


def test_instructions_name_tools_that_there_are(core: Session) -> None:
    words = str(core.instructions).replace(",", " ").replace(".", " ").replace(";", " ").split()
    named = {word.strip("():") for word in words if word.startswith("memory_")}
    assert named
    assert named <= set(core.tools)


def test_the_list_of_tools_stays_small(core: Session, record_property: Any) -> None:
    """An agent reads it at every start; output schemas are for the client only."""
    read = [
        {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
        for t in core.tools.values()
    ]
    for names, most in ((CORE, 25_000), (list(core.tools), 37_000)):
        size = len(json.dumps([t for t in read if t["name"] in names], separators=(",", ":")))
        record_property("summary", f"{len(names)} tools: {size} bytes, about {size // 4} tokens")
        assert size < most


@pytest.mark.line("S1-007")
def test_tools_are_run_by_an_async_handler(tmp_path: Path) -> None:
    assert inspect.iscoroutinefunction(handle_tool_call)
    assert list(TOOLS) == CORE
    store = open_store(
        Settings(home=tmp_path / "store", embedder={"kind": "none"}, search={"chroma": False}),
        create=True,
    )
    context = store.context(Caller(agent_id="ada"))
    try:
        wrote = asyncio.run(
            handle_tool_call("memory_write_fact", {"fact_text": "Ada drinks tea."}, context)
        )
        read: Any = asyncio.run(handle_tool_call("memory_timeline", {}, context))
    finally:
        store.close()
    (moment,) = read["result"]
    assert (moment["id"], moment["agent_id"]) == (wrote["id"], "ada")


MARK = "Zebrafish-51"
"""A word that memory holds and no log may."""


def test_stdout_is_the_wire_and_no_log_holds_memory_text(tmp_path: Path) -> None:
    with RawPipe(tmp_path / "store", DAY1_LOG_LEVEL="DEBUG") as pipe:
        pipe.ask("tools/list", "{}")
        pipe.call("memory_write_fact", f'{{"fact_text":"{MARK} swims."}}')
        pipe.call("memory_write_fact", f'{{"fact_text":"{MARK}","confidence":7,"{MARK}":1}}')
        pipe.call("memory_search", f'{{"query":"Where is {MARK}?"}}')
        pipe.call("memory_write_fact", f'{{"fact_text":"{MARK} \\ud83c"}}')
        pipe.call("memory_restore", f'{{"to":"{MARK}","confirm":"main"}}')
        pipe.call("memory_branch_create", f'{{"branch_name":"x","description":"{MARK}"}}')
        pipe.call("memory_branch_merge", '{"source_branch":"x","strategy":"auto"}')
        assert pipe.leave() == 0
        for line in pipe.said:
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            assert "result" in message
    log = pipe.log.read_text(encoding="utf-8")
    assert "memory_write_fact ok" in log
    assert MARK not in log


def test_half_a_character_in_an_answer_is_replaced() -> None:
    """Unsent: one lone surrogate would end a stdio session."""
    answer = result({"error": {"message": "\ud83c"}}, is_error=True)
    assert answer.structured_content == {"error": {"message": "?"}}
    assert answer.model_dump_json()
