"""Refusals over MCP: results with `isError` and the one JSON shape, that say what to mend.

`Session.refused` asserts that nothing was changed.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from day1.mcp.tools import TOOLS
from tests.wires.mcp_session import Session
from tests.wires.minimal_arguments import MINIMAL
from tests.wires.raw_pipe import RawPipe


def problem(error: dict[str, Any]) -> dict[str, str]:
    """The one problem that an error names."""
    (only,) = error["details"]["problems"]
    assert f"{only['argument']}: {only['problem']}" in error["message"]
    found: dict[str, str] = only
    return found


@pytest.mark.line("S1-008")
@pytest.mark.parametrize("tool", MINIMAL)
def test_an_unknown_argument_is_named_with_those_that_are_known(core: Session, tool: str) -> None:
    error = core.refused(tool, "invalid_request", **MINIMAL[tool], brunch="main")
    found = problem(error)
    assert found["argument"] == "brunch"
    known = found["problem"].removeprefix("unknown argument; known are: ").split(", ")
    assert [name for name in known if name != "request_id"] == list(core.takes(tool))


@pytest.mark.line("S1-008")
def test_an_unknown_argument_within_one_is_named_by_its_path(core: Session) -> None:
    error = core.refused(
        "memory_search", "invalid_request", query="tea", time_range={"since": "2026-01-01"}
    )
    assert problem(error) == {"argument": "time_range.since", "problem": "unknown argument"}


@pytest.mark.line("S1-008")
def test_several_problems_are_named_at_once(core: Session) -> None:
    error = core.refused(
        "memory_write_observation", "invalid_request", observation_type="x", brunch="", summary=""
    )
    named = {problem["argument"] for problem in error["details"]["problems"]}
    assert named == {"observation_type", "brunch", "summary"}


NEEDED = [(tool, name) for tool in MINIMAL for name in MINIMAL[tool]]


@pytest.mark.line("S1-008")
def test_a_missing_argument_is_named(core: Session) -> None:
    asked = set()
    for tool, name in NEEDED:
        if core.takes(tool)[name].endswith("!"):
            given = {key: value for key, value in MINIMAL[tool].items() if key != name}
            error = core.call(tool, given).structured["error"]
            assert problem(error) == {"argument": name, "problem": "Field required"}, tool
            asked.add(tool)
    assert len(asked) > len(MINIMAL) / 2, "most tools need something"


ENUMS = [
    ("memory_write_observation", "observation_type", "tool_use discovery decision error insight"),
    ("memory_search", "search_type", "hybrid vector keyword"),
    ("memory_branch_list", "status", "active merged archived"),
    ("memory_branch_merge", "strategy", "auto cherry_pick squash"),
    ("memory_task_update", "status", "pending in_progress completed"),
    ("memory_template_list", "status", "active deprecated"),
    (
        "memory_handoff_create",
        "handoff_type",
        "task_continuation agent_switch session_handoff escalation",
    ),
    ("knowledge_bundle_list", "status", "active deprecated"),
    ("memory_merge_preview", "strategy", "auto cherry_pick squash"),
    ("memory_held", "action", "list take edit dismiss"),
]


@pytest.mark.line("S1-008")
@pytest.mark.parametrize(("tool", "name", "allowed"), ENUMS)
@pytest.mark.parametrize("given", ["other", "", 1, ["auto"]])
def test_a_value_out_of_an_enum_lists_the_allowed_ones(
    core: Session, tool: str, name: str, allowed: str, given: Any
) -> None:
    error = core.refused(tool, "invalid_request", **{**MINIMAL[tool], name: given})
    found = problem(error)
    assert found["argument"] == name
    assert all(f"'{value}'" in found["problem"] for value in allowed.split())
    assert "other" not in error["message"], "what was given is not repeated"


TIMES = [
    ("memory_write_fact", "happened_at"),
    ("memory_write_observation", "happened_at"),
    ("memory_write_relation", "happened_at"),
    ("memory_search", "at"),
    ("memory_graph_query", "at"),
    ("memory_timeline", "after"),
    ("memory_timeline", "before"),
    ("memory_timeline", "at"),
    ("memory_time_travel", "timestamp"),
    ("memory_update_fact", "happened_at"),
]


@pytest.mark.line("S1-008", "S1-009")
@pytest.mark.parametrize(("tool", "name"), TIMES)
@pytest.mark.parametrize(
    "given",
    ["yesterday", "", "2026-13-01", "2026-02-30", "1767225600", "9999-12-31T23:59:59-23:00"],
)
def test_a_malformed_time_is_refused(core: Session, tool: str, name: str, given: str) -> None:
    error = core.refused(tool, "invalid_request", **{**MINIMAL[tool], name: given})
    assert given == "" or "ISO 8601" in error["message"]
    assert f"{name}: " in error["message"]


@pytest.mark.line("S1-008")
@pytest.mark.parametrize("side", ["after", "before"])
def test_a_malformed_side_of_a_window_is_refused(core: Session, side: str) -> None:
    core.refused("memory_search", "invalid_request", query="tea", time_range={side: "soon"})


LABELS = [
    ("memory_write_fact", "category"),
    ("memory_write_fact", "agent_id"),
    ("memory_write_observation", "tool_name"),
    ("memory_write_relation", "source_entity"),
    ("memory_write_relation", "target_entity"),
    ("memory_write_relation", "relation_type"),
    ("memory_snapshot", "label"),
    ("memory_branch_enrich", "owner"),
    ("memory_search", "category"),
    ("memory_graph_query", "entity"),
]
TEXTS = [
    ("memory_write_fact", "fact_text"),
    ("memory_write_observation", "summary"),
    ("memory_search", "query"),
    ("memory_time_travel", "query"),
    ("memory_branch_create", "description"),
    ("memory_branch_enrich", "purpose"),
    ("memory_update_fact", "reason"),
]


@pytest.mark.line("S1-012")
@pytest.mark.parametrize(
    ("tool", "name", "most"), [(*t, 255) for t in LABELS] + [(*t, 32_768) for t in TEXTS]
)
def test_text_is_neither_empty_nor_too_long_nor_cut_by_a_nul(
    core: Session, tool: str, name: str, most: int
) -> None:
    for given in ("", "   ", "x" * (most + 1), "a\0b"):
        error = core.call(tool, {**MINIMAL[tool], name: given}).structured["error"]
        assert error["code"] == "invalid_request"
        assert problem(error)["argument"] == name


@pytest.mark.parametrize("name", ["raw_input", "raw_output"])
def test_a_raw_text_holds_no_nul(core: Session, name: str) -> None:
    given = {**MINIMAL["memory_write_observation"], name: "a\0b"}
    error = core.refused("memory_write_observation", "invalid_request", **given)
    assert problem(error)["argument"] == name


NUMBERS = [
    ("memory_search", "limit", (0, 201, -1, "many", 1.5)),
    ("memory_time_travel", "limit", (0, 201)),
    ("memory_timeline", "limit", (0, 501)),
    ("memory_graph_query", "depth", (0, 6)),
    ("memory_branch_topology", "max_depth", (-1, 101)),
    ("memory_branch_enrich", "ttl_days", (0, 36_501, 2**70)),
]


@pytest.mark.line("S1-008")
@pytest.mark.parametrize(("tool", "name", "values"), NUMBERS)
def test_a_number_out_of_bounds_is_refused(
    core: Session, tool: str, name: str, values: tuple[Any, ...]
) -> None:
    for given in values:
        error = core.call(tool, {**MINIMAL[tool], name: given}).structured["error"]
        assert error["code"] == "invalid_request"
        assert problem(error)["argument"] == name


WITH_BRANCH = [tool for tool in MINIMAL if "branch" in MINIMAL[tool]]


@pytest.mark.line("S1-004")
@pytest.mark.parametrize("tool", WITH_BRANCH)
def test_a_branch_that_is_not_there_is_refused(core: Session, tool: str) -> None:
    for name in ("nowhere", "Main"):
        error = core.refused(tool, "unknown_branch", **{**MINIMAL[tool], "branch": name})
        assert error["details"] == {"branch": name}
        assert ("Did you mean 'main'?" in error["message"]) == (name == "Main")
    if tool != "memory_snapshot_list":
        answer = core.call(tool, {**MINIMAL[tool], "branch": None}, meta={"day1/branch": "nowhere"})
        assert answer.structured["error"]["code"] == "unknown_branch", "never main instead"


@pytest.mark.parametrize("key", ["branch", "agent_id", "space"])
def test_a_name_in_meta_that_is_no_text_is_refused(core: Session, key: str) -> None:
    for wrong in (5, True, ["main"], {"name": "main"}):
        answer = core.call("memory_branch_list", {}, meta={f"day1/{key}": wrong})
        assert answer.structured["error"]["code"] == "invalid_request", "never the default instead"


@pytest.mark.line("S1-008", "S1-089")
@pytest.mark.parametrize(
    "tool",
    ["memory_branch_rename", "memory_delete_fact", "verify_everything", "x" * 200],
)
def test_what_is_no_tool_here_is_refused_with_those_there_are(core: Session, tool: str) -> None:
    assert tool not in core.tools
    error = core.refused(tool, "unknown_tool", branch_name="empty")
    assert error["details"]["tools"] == sorted(core.tools)
    assert len(error["message"]) < 150


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawPipe]:
    """A server that is sent what the official client will not write."""
    with RawPipe(tmp_path_factory.mktemp("raw") / "store", toolsets="core") as pipe:
        yield pipe


@pytest.mark.line("S1-002", "S1-089")
def test_a_server_of_the_core_has_the_core_only(core: Session, pipe: RawPipe) -> None:
    names = [tool["name"] for tool in pipe.ask("tools/list", "{}")["result"]["tools"]]
    assert names == list(TOOLS)
    assert len(names) < len(core.tools)
    result = pipe.call("memory_update_fact", '{"fact_id":"fact_1","category":"x"}')
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["details"]["tools"] == sorted(names)


@pytest.mark.line("S1-012")
@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("memory_write_fact", '{"fact_text":"Tea.","confidence":NaN}', "confidence"),
        ("memory_write_fact", '{"fact_text":"Tea.","confidence":1e999}', "confidence"),
        ("memory_write_fact", '{"fact_text":"Tea.","confidence":-Infinity}', "confidence"),
        ("memory_write_fact", '{"fact_text":"Half a cup: \\ud83c."}', "fact_text"),
        ("memory_write_fact", '{"fact_text":"Tea.","category":"\\udf75"}', "category"),
        (
            "memory_write_observation",
            '{"observation_type":"error","summary":"Tea.","raw_output":"\\ud83c"}',
            "raw_output",
        ),
        (
            "memory_write_relation",
            '{"source_entity":"a","target_entity":"b","relation_type":"c",'
            '"properties":{"n":[1e999]}}',
            "properties",
        ),
        (
            "memory_write_relation",
            '{"source_entity":"a","target_entity":"b","relation_type":"c",'
            '"properties":{"n":{"\\ud83c":1}}}',
            "properties",
        ),
        ("memory_search", '{"query":"\\ud83c"}', "query"),
    ],
)
def test_half_characters_and_numbers_that_are_none_are_refused(
    pipe: RawPipe, tool: str, arguments: str, named: str
) -> None:
    result = pipe.call(tool, arguments)
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert error["code"] == "invalid_request"
    assert problem(error)["argument"].split(".")[0] == named
    listed = pipe.call("memory_timeline", "{}")
    assert listed["structuredContent"]["result"] == []
    assert pipe.call("memory_graph_query", '{"entity":"a"}')["structuredContent"]["result"] == []


def test_half_a_character_in_a_name_ends_no_session(pipe: RawPipe) -> None:
    for tool, arguments in (
        ("memory_\\ud83c", "{}"),
        ("memory_timeline", '{"\\ud83c":1}'),
        ("memory_timeline", '{"branch":"\\ud83c"}'),
    ):
        assert pipe.call(tool, arguments)["isError"] is True
    whole = pipe.call("memory_search", '{"query":"\\ud83c\\udf75"}')
    assert whole["isError"] is False
