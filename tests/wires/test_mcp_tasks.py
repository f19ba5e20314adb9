"""Tasks over MCP: a branch for each and for every agent, objectives, and agents at once."""

from typing import Any

import pytest

from day1.model.rows.kind import FACT, OBSERVATION
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from tests.flows.opened_store import opened
from tests.wires.mcp_session import ISO, Session
from tests.wires.other_processes import at_once, peers, rows

NULLABLE = "string|null = null"
ROUNDS = 6


@pytest.fixture
def made(core: Session, branch: str) -> dict[str, Any]:
    """A task with two objectives, opened from an empty branch; `slug` is that of its branch."""
    answer = core.ok(
        "memory_task_create",
        name=f"Fix the Login! {branch}",
        task_type="bug_fix",
        objectives=[{"description": "Find it.", "priority": "high"}, {"description": "Mend it."}],
        parent_branch=branch,
    )
    return {**answer, "parent": branch}


def join(core: Session, task: dict[str, Any], agent: str, **more: Any) -> dict[str, Any]:
    return core.ok("memory_task_join", task_id=task["task_id"], agent_id=agent, **more)


def status(core: Session, task: dict[str, Any]) -> dict[str, Any]:
    return core.ok("memory_task_status", task_id=task["task_id"])


def update(core: Session, task: dict[str, Any], index: int, to: str, **more: Any) -> dict[str, Any]:
    return core.ok(
        "memory_task_update", task_id=task["task_id"], objective_id=index, status=to, **more
    )


@pytest.mark.line("S1-048")
def test_a_task_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_task_create") == {
        "name": "string!",
        "description": NULLABLE,
        "task_type": NULLABLE,
        "tags": "[string]|null = null",
        "objectives": "[{description: string!, priority: string|integer|null = null}]|null = null",
        "parent_branch": 'string|null = "main"',
    }


@pytest.mark.line("S1-048", "S1-049", "S1-055")
def test_a_task_gets_a_branch_and_objectives_numbered_from_0(core: Session, branch: str) -> None:
    fact = core.ok("memory_write_fact", fact_text="Ada drinks tea.", branch=branch)["id"]
    made = core.ok(
        "memory_task_create",
        name=f"  Fix the LOGIN: {branch} ",
        description="It fails.",
        task_type="bug_fix",
        tags=["auth", "web"],
        objectives=[{"description": "Find it.", "priority": 1}, {"description": "Mend it."}],
        parent_branch=branch,
    )
    assert set(made) == {"task_id", "branch_name", "objectives", "written"}
    assert made["task_id"].startswith("task_")
    slug = "fix-the-login-" + branch.replace("/", "-")
    assert made["branch_name"] == made["written"]["branch"] == f"task/{slug}"
    assert [(o["id"], o["description"], o["priority"]) for o in made["objectives"]] == [
        (0, "Find it.", "1"),
        (1, "Mend it.", None),
    ]
    assert {o["status"] for o in made["objectives"]} == {"pending"}
    assert [m["id"] for m in core.found("memory_timeline", branch=f"task/{slug}")] == [fact]
    (listed,) = [
        b for b in core.found("memory_branch_list") if b["branch_name"] == made["branch_name"]
    ]
    assert (listed["parent"], listed["description"]) == (branch, "It fails.")

    shown = status(core, made)
    assert shown["objectives"] == made["objectives"]
    task = shown["task"]
    assert ISO.fullmatch(task.pop("created_at"))
    assert task == {
        "task_id": made["task_id"],
        "name": f"  Fix the LOGIN: {branch} ",
        "description": "It fails.",
        "task_type": "bug_fix",
        "tags": ["auth", "web"],
        "status": "pending",
        "branch_name": f"task/{slug}",
        "branch_status": "active",
        "created_by": None,
    }


@pytest.mark.line("S1-049")
def test_a_second_task_of_a_name_gets_a_number(core: Session, made: dict[str, Any]) -> None:
    name = status(core, made)["task"]["name"]
    again = core.ok("memory_task_create", name=name.upper(), parent_branch=made["parent"])
    third = core.ok("memory_task_create", name=name, parent_branch=made["parent"])
    assert again["branch_name"] == made["branch_name"] + "-2"
    assert third["branch_name"] == made["branch_name"] + "-3"
    assert len({made["task_id"], again["task_id"], third["task_id"]}) == 3
    assert status(core, again)["objectives"] == []


@pytest.mark.line("S1-048")
def test_what_a_task_cannot_be_made_of_is_refused(core: Session, branch: str) -> None:
    core.refused("memory_task_create", "unknown_branch", name="x", parent_branch="nowhere")
    for wrong in ({}, {"description": ""}, {"description": "x", "id": 3}):
        core.refused(
            "memory_task_create",
            "invalid_request",
            name="x",
            objectives=[wrong],
            parent_branch=branch,
        )
    many = [{"description": "Again."}] * 201
    core.refused(
        "memory_task_create", "invalid_request", name="x", objectives=many, parent_branch=branch
    )


@pytest.mark.line("S1-050", "S1-051")
def test_an_agent_joins_on_its_own_branch(core: Session, made: dict[str, Any]) -> None:
    assert core.takes("memory_task_join") == {
        "task_id": "string!",
        "agent_id": "string!",
        "role": NULLABLE,
        "assigned_objectives": "[integer 0..]|null = null",
    }
    answer = join(core, made, "Ada B.", role="implementer", assigned_objectives=[1, 0, 1])
    assert set(answer) == {"branch_name", "objectives", "task_id", "task_branch", "written"}
    assert answer["branch_name"] == f"{made['branch_name']}/ada-b"
    assert answer["task_branch"] == made["branch_name"]
    assert [o["assigned_to"] for o in answer["objectives"]] == [["Ada B."]] * 2
    (agent,) = status(core, made)["agents"]
    assert ISO.fullmatch(agent.pop("joined_at"))
    assert agent == {
        "agent_id": "Ada B.",
        "role": "implementer",
        "branch_name": answer["branch_name"],
        "branch_status": "active",
        "assigned_objectives": [1, 0],
    }


@pytest.mark.line("S1-050", "S1-051")
def test_joining_again_answers_the_same_branch_and_sets_what_is_given(
    core: Session, made: dict[str, Any]
) -> None:
    first = join(core, made, "ada", role="tester", assigned_objectives=[0])
    before = core.everything([])
    again = join(core, made, "ada")
    assert again["branch_name"] == first["branch_name"]
    assert core.everything([]) == before, "nothing new was said"

    assert join(core, made, "ada", role="reviewer")["branch_name"] == first["branch_name"]
    (agent,) = status(core, made)["agents"]
    assert (agent["role"], agent["assigned_objectives"]) == ("reviewer", [0])
    taken = join(core, made, "ada", assigned_objectives=[1])
    assert [o["assigned_to"] for o in taken["objectives"]] == [[], ["ada"]]
    (agent,) = status(core, made)["agents"]
    assert (agent["role"], agent["assigned_objectives"]) == ("reviewer", [1])
    join(core, made, "ada", assigned_objectives=[])
    assert status(core, made)["agents"][0]["assigned_objectives"] == []


@pytest.mark.line("S1-051")
def test_agents_whose_names_read_alike_get_branches_of_their_own(
    core: Session, made: dict[str, Any]
) -> None:
    names = ["ada b", "Ada-B", "ada_b", "北京", "??"]
    joined = {name: join(core, made, name)["branch_name"] for name in names}
    assert len({name.lower() for name in joined.values()}) == len(names)
    assert joined["Ada-B"] == joined["ada b"] + "-2"
    assert all(name.startswith(made["branch_name"] + "/") for name in joined.values())
    assert {name: join(core, made, name)["branch_name"] for name in names} == joined
    assert [a["agent_id"] for a in status(core, made)["agents"]] == names


@pytest.mark.line("S1-050", "S1-052", "S1-053")
def test_an_unknown_task_or_objective_is_refused(core: Session, made: dict[str, Any]) -> None:
    for tool, given in (
        ("memory_task_join", {"agent_id": "ada"}),
        ("memory_task_status", {}),
        ("memory_task_update", {"objective_id": 0, "status": "completed"}),
    ):
        error = core.refused(tool, "not_found", task_id="task_nobody", **given)
        assert error["details"] == {"task_id": "task_nobody"}
    task = {"task_id": made["task_id"]}
    error = core.refused(
        "memory_task_join", "invalid_request", **task, agent_id="bo", assigned_objectives=[0, 2]
    )
    assert error["details"] == {"objectives": [2]}
    assert "0 to 1" in error["message"]
    for index, named in ((2, "objectives"), (-1, "problems"), (200, "problems")):
        error = core.refused(
            "memory_task_update",
            "invalid_request",
            **task,
            objective_id=index,
            status="completed",
        )
        assert set(error["details"]) == {named}
    join(core, made, "ada", assigned_objectives=[0])
    core.refused(
        "memory_task_join", "invalid_request", **task, agent_id="ada", assigned_objectives=[5]
    )


@pytest.mark.line("S1-053", "S1-054")
def test_an_update_takes_and_answers_what_the_seed_says(
    core: Session, made: dict[str, Any]
) -> None:
    assert core.takes("memory_task_update") == {
        "task_id": "string!",
        "objective_id": "integer 0..!",
        "status": "pending|in_progress|completed!",
        "agent_id": NULLABLE,
        "notes": NULLABLE,
    }
    assert core.takes("memory_task_status") == {"task_id": "string!"}
    done = update(core, made, 1, "in_progress", agent_id="ada", notes="Nearly.")
    updated = done.pop("updated_at")
    assert ISO.fullmatch(updated)
    assert done.pop("written")["branch"] == made["branch_name"]
    assert done == {
        "task_id": made["task_id"],
        "objective_id": 1,
        "status": "in_progress",
        "previous_status": "pending",
        "agent_id": "ada",
        "task_status": "in_progress",
    }
    first, second = status(core, made)["objectives"]
    assert (first["status"], first["agent_id"], first["notes"]) == ("pending", None, None)
    assert (second["status"], second["agent_id"], second["notes"]) == (
        "in_progress",
        "ada",
        "Nearly.",
    )
    assert second["started_at"] == second["updated_at"] == updated
    finished = update(core, made, 1, "completed")
    second = status(core, made)["objectives"][1]
    assert (second["agent_id"], second["notes"]) == ("ada", "Nearly."), "kept where nothing is said"
    assert (second["started_at"], second["completed_at"]) == (updated, finished["updated_at"])
    update(core, made, 1, "pending")
    second = status(core, made)["objectives"][1]
    assert (second["started_at"], second["completed_at"]) == (None, None)


@pytest.mark.line("S1-052", "S1-054")
def test_the_status_of_a_task_follows_its_objectives(core: Session, made: dict[str, Any]) -> None:
    steps = [
        (0, "in_progress", "in_progress"),
        (0, "completed", "in_progress"),
        (1, "completed", "completed"),
        (0, "pending", "in_progress"),
        (1, "pending", "pending"),
    ]
    previous = ["pending", "pending"]
    for index, to, whole in steps:
        done = update(core, made, index, to)
        assert (done["previous_status"], done["task_status"]) == (previous[index], whole)
        assert status(core, made)["task"]["status"] == whole
        previous[index] = to


@pytest.mark.line("S1-053")
def test_two_processes_that_update_one_objective_come_one_after_the_other(
    core: Session, made: dict[str, Any]
) -> None:
    with peers(core) as (one, other):
        for _ in range(ROUNDS):
            update(core, made, 0, "pending")
            answers = at_once(
                lambda: update(one, made, 0, "in_progress", agent_id="ada"),
                lambda: update(other, made, 0, "completed", agent_id="bo"),
            )
            first, last = sorted(answers, key=lambda a: str(a["updated_at"]))
            assert first["previous_status"] == "pending"
            assert last["previous_status"] == first["status"]
            now = status(core, made)["objectives"][0]
            assert (now["status"], now["agent_id"]) == (last["status"], last["agent_id"])


@pytest.mark.line("S1-049", "S1-051")
def test_processes_that_create_and_join_at_once_end_with_one_branch_each(
    core: Session, branch: str, made: dict[str, Any]
) -> None:
    with peers(core) as (one, other):
        for number in range(ROUNDS):
            agent = f"agent {number}"
            joined = at_once(*(lambda s=s: join(s, made, agent) for s in (one, other)))  # noqa: B023 - used up before the next turn
            assert {j["branch_name"] for j in joined} == {f"{made['branch_name']}/agent-{number}"}
            alike = at_once(
                lambda: join(one, made, f"like {number}"),  # noqa: B023 - called in this round
                lambda: join(other, made, f"Like-{number}"),  # noqa: B023 - called in this round
            )
            names = {j["branch_name"] for j in alike}
            own = f"{made['branch_name']}/like-{number}"
            assert names == {own, f"{own}-2"}
            name = f"twice {branch} {number}"
            tasks = at_once(
                *(
                    lambda s=s: s.ok("memory_task_create", name=name, parent_branch=branch)  # noqa: B023 - called in this round
                    for s in (one, other)
                )
            )
            slug = "task/" + name.replace(" ", "-").replace("/", "-")
            assert {t["branch_name"] for t in tasks} == {slug, f"{slug}-2"}
    assert len(status(core, made)["agents"]) == 3 * ROUNDS
    refs = core.everything([])["refs"]
    assert len([r for r in refs if r.startswith(made["branch_name"] + "/")]) == 3 * ROUNDS


@pytest.mark.line("S1-051")
def test_rows_on_a_tasks_branches_are_its_own_without_saying_so(
    core: Session, made: dict[str, Any]
) -> None:
    branch = join(core, made, "Ada")["branch_name"]
    here = {"branch": branch}
    fact = core.ok("memory_write_fact", fact_text="The token expires.", **here)["id"]
    named = core.ok("memory_write_fact", fact_text="By Bo.", agent_id="bo", task_id="t", **here)
    seen = core.ok("memory_write_observation", observation_type="error", summary="401", **here)
    shared = core.ok("memory_write_fact", fact_text="Of all.", branch=made["branch_name"])["id"]
    agents = {m["id"]: m["agent_id"] for m in core.found("memory_timeline", **here)}
    assert agents == {fact: "Ada", named["id"]: "bo", seen["id"]: "Ada"}
    facts = rows(core, branch, FACT)
    assert (facts[fact]["agent_id"], facts[fact]["task_id"]) == ("Ada", made["task_id"])
    assert facts[named["id"]]["task_id"] == "t"
    assert rows(core, branch, OBSERVATION)[seen["id"]]["task_id"] == made["task_id"]
    of_task = rows(core, made["branch_name"], FACT)[shared]
    assert (of_task["agent_id"], of_task["task_id"]) == (None, made["task_id"])


@pytest.mark.line("S1-051", "S1-052")
def test_a_task_that_is_done_is_merged_up(core: Session) -> None:
    task = core.ok("memory_task_create", name="To be merged up", objectives=[{"description": "x"}])
    own = join(core, task, "ada")["branch_name"]
    fact = core.ok("memory_write_fact", fact_text="Learned on a task.", branch=own)["id"]
    update(core, task, 0, "completed")
    up = core.ok(
        "memory_branch_merge", source_branch=own, target_branch=task["branch_name"], strategy="auto"
    )
    core.ok("memory_branch_merge", source_branch=task["branch_name"], strategy="auto")
    assert (up["merged_count"], up["rejected_count"]) == (1, 0)
    row = rows(core, "main", FACT)[fact]
    assert (row["agent_id"], row["task_id"]) == ("ada", task["task_id"])
    shown = status(core, task)
    assert (shown["task"]["status"], shown["task"]["branch_status"]) == ("completed", "merged")
    assert shown["agents"][0]["branch_status"] == "merged"


@pytest.mark.line("S1-051")
def test_a_member_whose_branch_was_retired_or_deleted_can_join_again(
    core: Session, made: dict[str, Any]
) -> None:
    own = join(core, made, "ada", role="tester")["branch_name"]
    fact = core.ok("memory_write_fact", fact_text="Kept.", branch=own)["id"]
    with opened(core.folder) as store:
        retire(store.repo, find(store.repo, own), 1)
    assert status(core, made)["agents"][0]["branch_status"] == "gone"
    core.refused("memory_timeline", "unknown_branch", branch=own)
    assert join(core, made, "ada")["branch_name"] == own
    assert [m["id"] for m in core.found("memory_timeline", branch=own)] == [fact]

    with opened(core.folder) as store:
        delete(store.repo, find(store.repo, own), "main", 1)
    assert join(core, made, "ada")["branch_name"] == own
    (agent,) = status(core, made)["agents"]
    assert (agent["branch_name"], agent["branch_status"]) == (own, "active")
    assert core.found("memory_timeline", branch=own) == [], "a new one, from the task's branch"


@pytest.mark.line("S1-050")
def test_a_task_whose_branch_is_gone_takes_no_more_agents(
    core: Session, made: dict[str, Any]
) -> None:
    with opened(core.folder) as store:
        retire(store.repo, find(store.repo, made["branch_name"]), 1)
    asked = {"task_id": made["task_id"], "agent_id": "ada"}
    (step,) = core.refused("memory_task_join", "not_found", **asked)["next"]
    assert step["arguments"] == {"branch_name": made["branch_name"]}
    shown = status(core, made)
    assert (shown["task"]["branch_status"], shown["read"]["branch"]) == ("gone", "main")
    assert update(core, made, 0, "completed")["written"]["branch"] == "main"
