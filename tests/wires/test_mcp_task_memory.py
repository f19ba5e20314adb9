"""Task memory over MCP: searching a task, an agent's timeline, comparing tasks."""

from typing import Any

import pytest

from day1.services.access.calls import now
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from tests.flows.opened_store import opened
from tests.wires.conftest import Fork
from tests.wires.mcp_session import Session
from tests.wires.task_team import Team, team_of

NULLABLE = "string|null = null"


def merge(core: Session, source: str, target: str) -> dict[str, Any]:
    both = {"source_branch": source, "target_branch": target}
    return core.ok("memory_branch_merge", strategy="auto", **both)


@pytest.fixture
def team(core: Session) -> Team:
    return team_of(core)


# Searching a task


@pytest.mark.line("S1-059")
def test_search_task_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_search_task") == {
        "task_id": "string!",
        "query": "string!",
        "agent_id": NULLABLE,
        "space": NULLABLE,
        "limit": "integer|null 1..200 = 10",
        "full": "boolean|null = false",
    }
    core.refused("memory_search_task", "not_found", task_id="task_none", query="leak")


@pytest.mark.line("S1-059")
def test_a_tasks_rows_are_found_on_all_its_branches_and_no_others(
    core: Session, fork: Fork
) -> None:
    parent = fork()
    core.ok("memory_write_fact", fact_text="The leak was there before.", branch=parent)
    team, other = team_of(core, parent), team_of(core, parent)
    other.observe(other.ada, "A leak of another task.")
    mine = core.ok("memory_write_fact", fact_text="The leak is in pool.py.", branch=team.ada)
    his = team.observe(team.bo, "The leak grows by 3 MB an hour.")
    lead = core.ok("memory_write_fact", fact_text="Leak: roll back first.", branch=team.branch)
    unrelated = team.observe(team.bo, "Lunch was good.")

    def found(**more: Any) -> dict[str, tuple[str | None, str, str]]:
        hits = core.found("memory_search_task", task_id=team.task, query="leak", **more)
        assert [h["score"] for h in hits] == sorted((h["score"] for h in hits), reverse=True)
        assert unrelated not in {hit["id"] for hit in hits}
        return {hit["id"]: (hit["agent_id"], hit["branch"], hit["type"]) for hit in hits}

    assert found() == {
        mine["id"]: ("ada", team.ada, "fact"),
        his: ("bo", team.bo, "observation"),
        lead["id"]: (None, team.branch, "fact"),
    }
    assert list(found(agent_id="bo")) == [his]
    assert found(agent_id="nobody") == {}
    assert len(found(limit=2)) == 2


@pytest.mark.line("S1-059")
def test_what_was_merged_is_found_once_on_its_authors_branch(team: Team) -> None:
    core = team.core
    fact = core.ok("memory_write_fact", fact_text="Quokkas smile.", branch=team.ada)["id"]
    merge(core, team.ada, team.branch)
    late = core.ok("memory_task_join", task_id=team.task, agent_id="cy")["branch_name"]
    core.ok("memory_write_fact", fact_text="Quokkas sleep.", branch=late)
    hits = core.found("memory_search_task", task_id=team.task, query="quokkas")
    assert sorted((hit["fact_text"], hit["branch"]) for hit in hits) == [
        ("Quokkas sleep.", late),
        ("Quokkas smile.", team.ada),
    ]
    assert fact in {hit["id"] for hit in hits}


@pytest.mark.line("S1-059")
def test_a_tasks_search_sees_what_was_written_changed_and_retracted_last(
    team: Team, fork: Fork
) -> None:
    core = team.core

    def texts() -> list[str]:
        hits = core.found("memory_search_task", task_id=team.task, query="otters")
        return sorted(hit["fact_text"] for hit in hits)

    assert texts() == []
    one = core.ok("memory_write_fact", fact_text="Otters swim.", branch=team.ada)["id"]
    assert texts() == ["Otters swim."]
    core.ok("memory_update_fact", fact_id=one, fact_text="Otters dive.", branch=team.ada)
    assert texts() == ["Otters dive."]
    two = core.ok("memory_write_fact", fact_text="Otters nap.", branch=team.ada)["id"]
    core.ok("memory_write_fact", fact_text="Otters of no task.", branch=fork())
    assert texts() == ["Otters dive.", "Otters nap."]
    core.ok("memory_retract_fact", fact_id=two, branch=team.ada)
    core.ok("memory_supersede_fact", fact_id=one, fact_text="Otters dine.", branch=team.ada)
    assert texts() == ["Otters dine."]


# An agent's timeline


@pytest.mark.line("S1-060")
def test_an_agents_timeline_takes_and_answers_what_the_seed_says(core: Session, fork: Fork) -> None:
    assert core.takes("memory_agent_timeline") == {
        "agent_id": "string!",
        "limit": "integer|null 1..500 = 50",
        "space": "string|null = null",
    }
    agent = f"agent of {fork()}"
    team, lonely = team_of(core), fork()
    own = core.ok("memory_task_join", task_id=team.task, agent_id=agent)["branch_name"]
    first = core.ok("memory_write_fact", fact_text="First.", branch=own)["id"]
    core.ok("memory_write_fact", fact_text="Another's.", branch=own, agent_id="eve")
    second = team.observe(lonely, "Second.", agent_id=agent, session_id="s")
    early = core.ok("memory_write_fact", fact_text="Zeroth.", branch=own, happened_at="2001-01-01")[
        "id"
    ]
    merge(core, own, team.branch)
    core.ok("memory_write_fact", fact_text="By the way.", branch=team.branch, agent_id=agent)
    items = core.found("memory_agent_timeline", agent_id=agent)
    assert [(i["id"], i["type"], i["task_id"], i["branch"]) for i in items[:3]] == [
        (early, "fact", team.task, own),
        (first, "fact", team.task, own),
        (second, "observation", None, lonely),
    ]
    assert items[3]["branch"] == team.branch
    assert items[2]["session_id"] == "s"
    assert [i["content"] for i in items] == ["Zeroth.", "First.", "Second.", "By the way."]
    assert all(i["agent_id"] == agent for i in items)
    newest = core.found("memory_agent_timeline", agent_id=agent, limit=2)
    assert newest == items[2:]
    read = core.ok("memory_agent_timeline", agent_id=agent)["read"]
    assert read["branch"] == team.branch  # where the agent wrote last
    assert read == core.ok("memory_timeline", branch=team.branch)["read"]


@pytest.mark.line("S1-060")
def test_the_timeline_of_nobody_is_empty_and_says_so(core: Session) -> None:
    answer = core.call("memory_agent_timeline", {"agent_id": "nobody at all"})
    assert answer.structured["result"] == []
    assert "nobody at all" in answer.notes[0]


@pytest.mark.line("S1-059", "S1-060")
def test_what_retired_and_deleted_branches_had_is_still_told(team: Team) -> None:
    core = team.core
    for agent, branch in (("ada", team.ada), ("bo", team.bo)):
        core.ok("memory_write_fact", fact_text=f"Axolotls, says {agent}.", branch=branch)
    merge(core, team.ada, team.branch)
    with opened(core.folder) as store:
        delete(store.repo, find(store.repo, team.ada), "main", now())
        retire(store.repo, find(store.repo, team.bo), now())
    hits = core.found("memory_search_task", task_id=team.task, query="axolotls")
    told = [
        item
        for agent in ("ada", "bo")
        for item in core.found("memory_agent_timeline", agent_id=agent)
        if item["task_id"] == team.task
    ]
    where = {"Axolotls, says ada.": team.branch, "Axolotls, says bo.": team.bo}
    assert {hit["fact_text"]: hit["branch"] for hit in hits} == where
    assert {item["content"]: item["branch"] for item in told} == where


# Comparing tasks


@pytest.mark.line("S1-061")
def test_a_type_without_tasks_is_empty_and_names_those_there_are(core: Session) -> None:
    assert core.takes("memory_replay_task_type") == {
        "task_type": "string!",
        "limit": "integer|null 1..100 = 20",
        "space": "string|null = null",
    }
    team_of(core, task_type="known_type")
    answer = core.ok("memory_replay_task_type", task_type="no_such_type")
    assert (answer["task_count"], answer["tasks"], answer["patterns"]) == (0, [], [])
    assert "known_type" in answer["read"]["notes"][0]


def worked(core: Session, task_type: str) -> tuple[Team, dict[str, str]]:
    """A task of which both objectives are done, the second first; ids of what was noted."""
    team = team_of(core, task_type=task_type)
    ids = {
        "run": team.observe(team.ada, "Ran the tests.", "tool_use", tool_name="Bash"),
        "error": team.observe(
            team.ada, "The build failed with a missing libssl.", "error", tool_name="Bash"
        ),
        "others": team.observe(team.bo, "Read the manual.", "tool_use", tool_name="Read"),
        "then": team.observe(team.ada, "Installed libssl-dev.", "tool_use", tool_name="Bash"),
        "fact": core.ok(
            "memory_write_fact", fact_text="The build needs libssl-dev.", branch=team.bo
        )["id"],
    }
    for objective, status in ((1, "in_progress"), (1, "completed"), (0, "completed")):
        core.ok(
            "memory_task_update",
            task_id=team.task,
            objective_id=objective,
            status=status,
            agent_id="ada",
        )
    return team, ids


@pytest.mark.line("S1-061")
def test_tasks_of_a_type_are_compared_with_what_each_pattern_rests_on(core: Session) -> None:
    (one, first), (two, second) = worked(core, "replayed"), worked(core, "replayed")
    third = team_of(core, task_type="replayed")
    answer = core.ok("memory_replay_task_type", task_type="replayed")
    assert answer["task_count"] == 3
    assert [task["task_id"] for task in answer["tasks"]] == [third.task, two.task, one.task]
    task = answer["tasks"][2]
    assert (task["status"], task["branch"], task["agents"]) == (
        "completed",
        one.branch,
        ["ada", "bo"],
    )
    assert task["completed_order"] == [1, 0]
    assert 0 < task["duration_s"] < 60
    assert [o["description"] for o in task["objectives"]] == ["Reproduce the bug", "Fix the bug"]
    assert all(o["duration_s"] >= 0 for o in task["objectives"])
    assert task["tools"] == {"Bash": 3, "Read": 1}
    (error,) = task["errors"]
    assert error["id"] == first["error"]
    assert error["followed_by"]["id"] == first["then"], "what the same agent noted next"
    assert task["counts"] == {"facts": 1, "observations": 4, "messages": 0}
    assert (answer["tasks"][0]["duration_s"], answer["tasks"][0]["completed_at"]) == (None, None)

    patterns = {(p["pattern"], p["text"]): p for p in answer["patterns"]}
    assert all(p["support"] == 2 == len(p["tasks"]) for p in patterns.values())
    assert all((p["of"], set(p["tasks"])) == (3, {one.task, two.task}) for p in patterns.values())
    assert ("objective_order", "Fix the bug \u2192 Reproduce the bug") in patterns
    assert patterns["tool", "Bash"]["value"] == 6
    assert patterns["tool", "Read"]["ids"] == [second["others"], first["others"]]
    (fact,) = [p for p in answer["patterns"] if p["pattern"] == "fact"]
    assert set(fact["ids"]) == {first["fact"], second["fact"]}
    (fault,) = [p for p in answer["patterns"] if p["pattern"] == "error"]
    assert fault["text"] == "The build failed with a missing libssl."
    assert set(fault["ids"]) == {first["error"], second["error"]}
    assert {step["id"] for step in fault["followed_by"]} == {first["then"], second["then"]}
    (spent,) = [p for p in answer["patterns"] if p["pattern"] == "duration"]
    known = [t["duration_s"] for t in answer["tasks"] if t["duration_s"] is not None]
    assert spent["value"] == pytest.approx(sum(known) / 2)
    newest = core.ok("memory_replay_task_type", task_type="replayed", limit=2)
    assert [task["task_id"] for task in newest["tasks"]] == [third.task, two.task]
    assert any("2 of 3" in note for note in newest["read"]["notes"])
