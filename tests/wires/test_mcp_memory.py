"""Writing over MCP: facts, observations, relations, and who wrote them."""

from typing import Any

import pytest

from tests.wires.mcp_session import ISO, Session

ORIGIN = dict.fromkeys(("agent_id", "session_id", "task_id"), "string|null = null")
"""Who writes: an addition to the seed's arguments on every tool that writes rows."""
OPTIONAL_TEXT = "string|null = null"


def rows(core: Session, source: str, key: str = "new_facts") -> list[dict[str, Any]]:
    """What `source` has that an empty branch has not, with every column that tools show."""
    diff = core.ok("memory_branch_diff", source_branch=source, target_branch="empty")
    found: list[dict[str, Any]] = diff[key]
    return found


@pytest.mark.line("S1-010")
def test_write_fact_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_write_fact") == {
        "fact_text": "string!",
        "category": OPTIONAL_TEXT,
        "confidence": "number|null 0..1 = 1.0",
        "branch": OPTIONAL_TEXT,
        "happened_at": OPTIONAL_TEXT,
        "valid_until": OPTIONAL_TEXT,
        "space": OPTIONAL_TEXT,
        "expires_at": OPTIONAL_TEXT,
        "sensitivity": "secret|public|null = null",
        **ORIGIN,
    }


@pytest.mark.line("S1-010", "S1-011")
def test_a_fact_is_kept_as_it_was_written(core: Session, branch: str) -> None:
    text = "  Ada moved the 北京 cluster to \U0001f680 on 2026-03-01.\n"
    wrote = core.ok(
        "memory_write_fact",
        fact_text=text,
        category="architecture",
        confidence=0.25,
        branch=branch,
        happened_at="2026-03-01T12:00:00+02:00",
    )
    assert set(wrote) == {"id", "created_at", "near_duplicate_of", "written"}
    assert wrote["id"].startswith("fact_")
    assert ISO.fullmatch(wrote["created_at"])
    assert wrote["written"]["branch"] == branch
    assert wrote["written"]["pending"] == 1
    (fact,) = rows(core, branch)
    assert fact["id"] == wrote["id"]
    assert fact["fact_text"] == text
    assert fact["category"] == "architecture"
    assert fact["confidence"] == 0.25
    assert fact["created_at"] == wrote["created_at"]
    assert fact["happened_at"] == "2026-03-01T10:00:00.000000+00:00"
    assert (fact["status"], fact["verification"]) == ("active", "unverified")


@pytest.mark.line("S1-005", "S1-010")
@pytest.mark.parametrize("given", [{}, {"category": None, "confidence": None, "happened_at": None}])
def test_what_is_left_out_or_null_of_a_fact_is_the_default(
    core: Session, branch: str, given: dict[str, None]
) -> None:
    core.ok("memory_write_fact", fact_text="Ada drinks tea.", branch=branch, **given)
    (fact,) = rows(core, branch)
    assert fact["category"] is None
    assert fact["confidence"] == 1.0
    assert fact["happened_at"] is None


@pytest.mark.line("S1-012")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"confidence": -0.001}, "confidence"),
        ({"confidence": 1.001}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"fact_text": ""}, "fact_text"),
        ({"fact_text": " \n\t"}, "fact_text"),
        ({"fact_text": None}, "fact_text"),
        ({"fact_text": "a\0b"}, "fact_text"),
        ({"category": ""}, "category"),
        ({"category": "c" * 256}, "category"),
    ],
)
def test_a_fact_out_of_bounds_is_refused_by_argument(
    core: Session, arguments: dict[str, Any], named: str
) -> None:
    given = {"fact_text": "Ada drinks tea.", **arguments}
    error = core.refused("memory_write_fact", "invalid_request", **given)
    assert [problem["argument"] for problem in error["details"]["problems"]] == [named]
    assert named in error["message"]


@pytest.mark.line("S1-012")
@pytest.mark.parametrize(
    "arguments",
    [{"confidence": 0}, {"confidence": 1}, {"fact_text": "x" * 32_768}, {"category": "c" * 255}],
)
def test_a_fact_at_its_bounds_is_taken(
    core: Session, branch: str, arguments: dict[str, Any]
) -> None:
    core.ok("memory_write_fact", **{"fact_text": "Ada.", "branch": branch, **arguments})
    (fact,) = rows(core, branch)
    assert {name: fact[name] for name in arguments} == arguments


@pytest.mark.line("S1-013")
def test_an_equal_fact_gets_an_id_of_its_own_and_names_its_twin(core: Session, branch: str) -> None:
    def write(text: str, agent: str) -> dict[str, Any]:
        return core.ok("memory_write_fact", fact_text=text, branch=branch, agent_id=agent)

    first, other, again = (
        write("Ada drinks tea.", "bo"),
        write("Ada drinks Tea.", "bo"),
        write("Ada drinks tea.", "cy"),
    )
    assert first["near_duplicate_of"] is None
    assert other["near_duplicate_of"] is None
    assert again["near_duplicate_of"] == first["id"]
    assert len({fact["id"] for fact in rows(core, branch)}) == 3


@pytest.mark.line("S1-013")
def test_a_twin_is_a_live_fact_of_the_same_branch(core: Session, branch: str, fork: Any) -> None:
    other = fork()
    text = "Bo keeps bees."
    elsewhere = core.ok("memory_write_fact", fact_text=text, branch=other)
    here = core.ok("memory_write_fact", fact_text=text, branch=branch)
    assert here["near_duplicate_of"] is None, elsewhere
    core.ok("memory_supersede_fact", fact_id=here["id"], fact_text="Bo kept bees.", branch=branch)
    again = core.ok("memory_write_fact", fact_text=text, branch=branch)
    assert again["near_duplicate_of"] is None


@pytest.mark.line("S1-014")
def test_write_observation_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_write_observation") == {
        "observation_type": "tool_use|discovery|decision|error|insight!",
        "summary": "string!",
        "tool_name": OPTIONAL_TEXT,
        "raw_input": OPTIONAL_TEXT,
        "raw_output": OPTIONAL_TEXT,
        "branch": OPTIONAL_TEXT,
        "happened_at": OPTIONAL_TEXT,
        "space": OPTIONAL_TEXT,
        "expires_at": OPTIONAL_TEXT,
        "sensitivity": "secret|public|null = null",
        **ORIGIN,
    }


@pytest.mark.line("S1-014", "S1-015")
@pytest.mark.parametrize("kind", ["tool_use", "discovery", "decision", "error", "insight"])
def test_an_observation_is_kept_as_it_was_written(core: Session, branch: str, kind: str) -> None:
    wrote = core.ok(
        "memory_write_observation",
        observation_type=kind,
        summary="The build fails on Tuesdays.",
        tool_name="Bash",
        raw_input="make",
        raw_output="Error 2",
        branch=branch,
    )
    assert set(wrote) == {"id", "created_at", "truncated", "written"}
    assert wrote["id"].startswith("obs_")
    assert ISO.fullmatch(wrote["created_at"])
    assert wrote["truncated"] is False
    (seen,) = rows(core, branch, "new_observations")
    assert seen["id"] == wrote["id"]
    assert seen["observation_type"] == kind
    assert seen["summary"] == "The build fails on Tuesdays."
    assert (seen["tool_name"], seen["raw_input"], seen["raw_output"]) == ("Bash", "make", "Error 2")


@pytest.mark.line("S1-005", "S1-014")
def test_an_observation_needs_type_and_summary_only(core: Session, branch: str) -> None:
    nothing = dict.fromkeys(("tool_name", "raw_input", "raw_output", "happened_at"))
    core.ok(
        "memory_write_observation",
        observation_type="insight",
        summary="Fewer words.",
        branch=branch,
        **nothing,
    )
    (seen,) = rows(core, branch, "new_observations")
    assert {name: seen[name] for name in nothing} == nothing


@pytest.mark.line("S1-016")
@pytest.mark.parametrize("name", ["raw_input", "raw_output"])
def test_a_long_raw_text_is_cut_and_said_to_be(core: Session, branch: str, name: str) -> None:
    def write(text: str) -> bool:
        wrote = core.ok(
            "memory_write_observation",
            observation_type="tool_use",
            summary=f"{len(text)} characters",
            branch=branch,
            **{name: text},
        )
        truncated: bool = wrote["truncated"]
        return truncated

    whole, long = "é" * 4_000, "é" * 100_000
    assert [write(whole), write(long)] == [False, True]
    assert [seen[name] for seen in rows(core, branch, "new_observations")] == [whole, whole]


@pytest.mark.line("S1-017")
def test_write_relation_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_write_relation") == {
        "source_entity": "string!",
        "target_entity": "string!",
        "relation_type": "string!",
        "properties": "object|null = null",
        "branch": OPTIONAL_TEXT,
        "happened_at": OPTIONAL_TEXT,
        "valid_until": OPTIONAL_TEXT,
        "space": OPTIONAL_TEXT,
        **ORIGIN,
    }


@pytest.mark.line("S1-017", "S1-018")
@pytest.mark.parametrize(
    "properties",
    [
        None,
        {},
        {
            "why": "it reads users",
            "weight": 0.5,
            "since": 2019,
            "tags": ["a", {"b": None}],
            "ä": True,
        },
    ],
)
def test_a_relation_is_kept_as_it_was_written(
    core: Session, branch: str, properties: dict[str, Any] | None
) -> None:
    wrote = core.ok(
        "memory_write_relation",
        source_entity="AuthService",
        target_entity="UserModel",
        relation_type="depends_on",
        properties=properties,
        branch=branch,
    )
    assert set(wrote) == {"id", "created_at", "written"}
    assert wrote["id"].startswith("rel_")
    (edge,) = rows(core, branch, "new_relations")
    assert edge["id"] == wrote["id"]
    assert edge["source_entity"] == "AuthService"
    assert edge["target_entity"] == "UserModel"
    assert edge["relation_type"] == "depends_on"
    assert edge["properties"] == properties


@pytest.mark.line("S1-017")
@pytest.mark.parametrize(
    "properties",
    [
        {"deep": [{"n": "a\0b"}]},
        {"a\0b": 1},
        {"n": 2**53 + 1},
        {"n": -(2**60)},
        {"text": "x" * 32_768},
        "depends",
        ["a"],
    ],
)
def test_unsound_properties_are_refused(core: Session, properties: Any) -> None:
    error = core.refused(
        "memory_write_relation",
        "invalid_request",
        source_entity="a",
        target_entity="b",
        relation_type="c",
        properties=properties,
    )
    assert {problem["argument"] for problem in error["details"]["problems"]} == {"properties"}


def test_what_looks_like_a_secret_is_kept_with_a_warning(core: Session, branch: str) -> None:
    answer = core.call(
        "memory_write_fact",
        {"fact_text": "The database password: hunter2hunter2", "branch": branch},
    )
    (note,) = answer.structured["written"]["notes"]
    assert "a password" in note
    assert "hunter2" not in note
    assert answer.notes == [f"Note: {note}"]


@pytest.mark.line("S1-088")
@pytest.mark.parametrize(
    ("tool", "key", "arguments"),
    [
        ("memory_write_fact", "new_facts", {"fact_text": "Ada drinks tea."}),
        (
            "memory_write_observation",
            "new_observations",
            {"observation_type": "error", "summary": "Out of tea."},
        ),
        (
            "memory_write_relation",
            "new_relations",
            {"source_entity": "Ada", "relation_type": "drinks", "target_entity": "tea"},
        ),
    ],
)
def test_a_write_keeps_the_agent_session_and_task_it_names(
    core: Session, branch: str, tool: str, key: str, arguments: dict[str, str]
) -> None:
    origin = {"agent_id": "ada", "session_id": "s-1", "task_id": "t-1"}
    core.ok(tool, branch=branch, **arguments, **origin)
    (row,) = rows(core, branch, key)
    assert {name: row[name] for name in origin} == origin
    assert row["source"] == "agent"


@pytest.mark.line("S1-088")
def test_every_tool_that_writes_rows_takes_the_writers_names(core: Session) -> None:
    naming = {name for name in core.tools if set(ORIGIN) <= set(core.takes(name))}
    naming -= {"memory_list_conversations"}  # which looks for them
    assert naming == {
        "memory_write_fact",
        "memory_write_observation",
        "memory_write_relation",
        "memory_branch_merge",
        "memory_consolidate",
        "memory_log_message",
        "memory_fork_conversation",
        "memory_cherry_pick_conversation",
        "verify_fact",
        "verify_batch",
        "memory_update_fact",
        "memory_supersede_fact",
        "memory_retract_fact",
        "memory_remove",
        "memory_restore",
        "memory_held",
        "memory_revert",
        "memory_redact",
        "review_open",
        "review_decide",
        "review_merge",
        "review_close",
        "review_approve",
    }
