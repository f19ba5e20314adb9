"""Clients over MCP: which branch a call means, who writes, and both eras of the protocol."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.errors import UnknownBranch
from day1.interfaces.heads import ProcessHead
from day1.services.branches import deleting, forking
from day1.services.branches.lookup import find
from day1.settings import Settings
from tests.forkserver import python
from tests.wires.conftest import Fork
from tests.wires.mcp_session import Session, environment, unscored


@pytest.fixture(scope="module")
def other(core: Session) -> Iterator[Session]:
    """A second server on the same store: an older client's, whose environment says who writes."""
    who = {f"DAY1_{name.upper()}_ID": f"env-{name}" for name in ("agent", "session", "task")}
    with Session(core.folder, mode="legacy", **who) as session:
        yield session


def written(core: Session, source: str) -> list[dict[str, Any]]:
    """The facts of a branch, with every column that tools show."""
    diff = core.ok("memory_branch_diff", source_branch=source, target_branch="empty")
    found: list[dict[str, Any]] = diff["new_facts"]
    return found


@pytest.fixture
def switching(other: Session) -> Iterator[Session]:
    """A second client on the shared store, to be switched."""
    yield other
    other.ok("memory_branch_switch", branch_name="main")


@pytest.mark.line("S1-004", "S1-034")
def test_a_switch_moves_the_default_of_later_calls(
    core: Session, switching: Session, branch: str, fork: Fork
) -> None:
    assert switching.takes("memory_branch_switch") == {"branch_name": "string!"}
    assert switching.ok("memory_timeline")["read"]["branch"] == "main"

    answer = switching.ok("memory_branch_switch", branch_name=branch)
    assert answer["active_branch"] == branch
    assert answer["read"]["branch"] == branch
    wrote = switching.ok("memory_write_fact", fact_text="Ada drinks tea.")
    assert wrote["written"]["branch"] == branch
    for tool, arguments in READS.items():
        assert switching.ok(tool, **arguments)["read"]["branch"] == branch, tool
    assert [i["branch_name"] for i in switching.found("memory_branch_list") if i["active"]] == [
        branch
    ]
    elsewhere = fork()
    named = switching.ok("memory_write_fact", fact_text="Named.", branch=elsewhere)
    assert named["written"]["branch"] == elsewhere

    assert core.ok("memory_timeline")["read"]["branch"] == "main", "another client stays"
    error = switching.refused("memory_branch_switch", "unknown_branch", branch_name="nowhere")
    assert error["details"] == {"branch": "nowhere"}
    assert switching.ok("memory_timeline")["read"]["branch"] == branch, "a refusal moves nothing"


READS: dict[str, dict[str, Any]] = {
    "memory_search": {"query": "tea"},
    "memory_graph_query": {"entity": "Ada"},
    "memory_timeline": {},
    "memory_time_travel": {"query": "tea", "timestamp": "2100-01-01"},
    "memory_held": {},
}


@pytest.mark.line("S1-004")
@pytest.mark.parametrize("tool", READS)
def test_the_branch_of_a_reading_call_is_main_unless_told(
    core: Session, branch: str, tool: str
) -> None:
    assert core.ok(tool, **READS[tool])["read"]["branch"] == "main"
    assert core.ok(tool, **READS[tool], branch=None)["read"]["branch"] == "main"
    assert core.ok(tool, **READS[tool], branch=branch)["read"]["branch"] == branch


@pytest.mark.line("S1-004")
def test_every_branch_argument_says_its_default(core: Session) -> None:
    having = {
        name: tool.input_schema["properties"]["branch"]
        for name, tool in core.tools.items()
        if "branch" in tool.input_schema["properties"]
        and name not in {"memory_snapshot_list", "review_list"}
    }
    assert len(having) > 15
    for name, part in having.items():
        assert part.get("default") is None
        told = {
            "memory_fork_conversation": "target; default: active branch",
            "memory_consolidate": "default: where they were written",
        }
        usual = "default: your active branch, at first main"
        assert part["description"] == told.get(name, usual)


@pytest.mark.line("S1-088")
@pytest.mark.parametrize(
    ("arguments", "meta", "agent"),
    [
        ({}, None, "env-agent"),
        ({}, {"day1/agent_id": "meta-agent"}, "meta-agent"),
        ({"agent_id": "said-agent"}, {"day1/agent_id": "meta-agent"}, "said-agent"),
    ],
    ids=["environment", "_meta before it", "argument before both"],
)
def test_who_writes_is_said_by_argument_meta_or_environment(
    other: Session, branch: str, arguments: dict[str, str], meta: dict[str, str] | None, agent: str
) -> None:
    given = {"fact_text": "Ada drinks tea.", "branch": branch, **arguments}
    assert not other.call("memory_write_fact", given, meta).is_error
    (fact,) = written(other, branch)
    assert fact["agent_id"] == agent
    assert (fact["session_id"], fact["task_id"]) == ("env-session", "env-task")


@pytest.mark.line("S1-088")
def test_a_second_server_sees_at_once_what_the_first_wrote(
    core: Session, other: Session, branch: str
) -> None:
    wrote = core.ok("memory_write_fact", fact_text="Seen at once.", branch=branch)
    (moment,) = other.found("memory_timeline", branch=branch)
    assert moment["id"] == wrote["id"]
    assert moment["agent_id"] is None


@pytest.mark.line("S1-004")
def test_meta_names_the_branch_of_a_call_and_an_argument_overrides_it(
    core: Session, branch: str, fork: Any
) -> None:
    other, meta = fork(), {"day1/branch": branch}
    by_meta = core.call("memory_write_fact", {"fact_text": "By meta."}, meta)
    assert by_meta.structured["written"]["branch"] == branch
    said = core.call("memory_write_fact", {"fact_text": "Said.", "branch": other}, meta)
    assert said.structured["written"]["branch"] == other
    assert [fact["fact_text"] for fact in written(core, branch)] == ["By meta."]
    assert [fact["fact_text"] for fact in written(core, other)] == ["Said."]


@pytest.mark.line("S1-003")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_both_protocol_eras_get_the_same_tools_and_answers(
    core: Session, other: Session, branch: str, mode: str
) -> None:
    era = core if mode == "auto" else other
    assert (era.protocol >= "2026") == (mode == "auto")
    assert {n: t.input_schema for n, t in era.tools.items()} == {
        n: t.input_schema for n, t in core.tools.items()
    }
    wrote = era.ok("memory_write_fact", fact_text="Any era likes tea.", branch=branch)
    by_meta = era.call("memory_search", {"query": "tea"}, {"day1/branch": branch})
    assert [hit["id"] for hit in by_meta.document] == [wrote["id"]]
    by_argument = core.found("memory_search", query="tea", branch=branch)
    assert unscored(by_meta.structured["result"]) == unscored(by_argument)
    assert by_meta.notes
    error = era.refused("memory_search", "invalid_request", query="tea", search_type="psychic")
    assert "'hybrid'" in error["message"]
    era.refused("memory_nothing", "unknown_tool")


def test_a_branch_that_is_gone_is_not_another_one_of_its_name(tmp_path: Path) -> None:
    """A7: a process whose branch was deleted writes to no other that has the name since."""
    folder = tmp_path / "store"

    def day1(*arguments: str) -> None:
        command = [*python(), "-m", "day1", *arguments]
        subprocess.run(command, env=environment(folder), cwd=tmp_path, check=True)

    with Session(folder) as agent:
        agent.ok("memory_branch_create", branch_name="team")
        agent.ok("memory_branch_create", branch_name="x", parent_branch="team")
        agent.ok("memory_branch_switch", branch_name="x")
        day1("branch", "-D", "x")
        error = agent.refused("memory_write_fact", "unknown_branch", fact_text="To x.")
        assert error["details"] == {"branch": "x", "instead": "team"}
        day1("branch", "x")
        error = agent.refused("memory_write_fact", "unknown_branch", fact_text="To x.")
        assert "memory_branch_switch to 'team', or to 'x' for the new one" in error["message"]
        assert [i["branch_name"] for i in agent.found("memory_branch_list") if i["active"]] == []
        wrote = agent.ok("memory_write_fact", fact_text="To x.", branch="x")
        assert wrote["written"]["branch"] == "x", "who names it means the one that there is"
        agent.ok("memory_branch_switch", branch_name="x")
        assert agent.ok("memory_timeline")["read"]["branch"] == "x"


def test_a_process_that_was_started_on_a_branch_holds_that_one(tmp_path: Path) -> None:
    """A7: also before its first call."""
    store = open_store(Settings(home=tmp_path, embedder={"kind": "none"}), create=True)
    make = partial(forking.create, store.repo, "x", find(store.repo, "main"))
    make(1)
    started, not_yet = ProcessHead(store.repo, "x"), ProcessHead(store.repo, "y")
    deleting.delete(store.repo, find(store.repo, "x"), "main", 2)
    make(3)
    with pytest.raises(UnknownBranch):
        started.name()
    assert not_yet.name() == "y", "it need not exist until it is used"
    store.close()
