"""Teams: tasks with a branch for each agent, who wrote where, handoffs and templates."""

import pytest

from day1.errors import InvalidRequest, NotFound, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.records.task import Task
from day1.model.rows.origin import Origin
from day1.services.branches import deleting
from day1.services.rows.editing import Correction, update
from day1.services.sharing import handoffs, templates
from day1.services.tasks import sessions, tasks
from day1.services.tasks.task_rows import RowCount, readings, task_branches_written
from day1.services.tasks.tasks import JoinRequest, NewObjective, ObjectiveUpdate
from tests.unit.services.conftest import ADA, Bench

TASK = "task_1"


def open_task(bench: Bench, name: str = "mend") -> str:
    task = Task(TASK, name, None, None, (), "", None, bench.now)
    aims = [NewObjective("first"), NewObjective("second")]
    return tasks.create_task(bench.repo, task, bench.branch(), aims).name


def join(bench: Bench, agent: str, **more: object) -> str:
    request = JoinRequest(TASK, agent, **more)  # type: ignore[arg-type]  # fields by name
    return tasks.join(bench.repo, request, bench.now).name


def test_every_agent_of_a_task_has_a_branch_of_its_own_and_keeps_it(bench: Bench) -> None:
    assert open_task(bench) == "task/mend"
    names = [join(bench, agent) for agent in ("ada", "bo", "ada")]
    assert names == ["task/mend/ada", "task/mend/bo", "task/mend/ada"]


def test_joining_again_keeps_what_is_not_given(bench: Bench) -> None:
    open_task(bench)
    join(bench, "ada", role="writer", assigned=[1])
    join(bench, "ada")
    (member,) = tasks.task_state(bench.repo, TASK).agents
    assert (member.role, member.assigned) == ("writer", (1,))
    with pytest.raises(InvalidRequest, match="no objective 7"):
        join(bench, "ada", assigned=[7])


def test_an_agent_whose_branch_was_deleted_gets_a_new_one(bench: Bench) -> None:
    open_task(bench)
    name = join(bench, "ada")
    before = bench.branch(name).id
    deleting.delete(bench.repo, bench.branch(name), MAIN, bench.now)
    assert bench.branch(join(bench, "ada")).id != before


def test_an_objective_keeps_when_it_began_and_loses_when_it_was_done(bench: Bench) -> None:
    open_task(bench)

    def to(status: str, at: int) -> tuple[int | None, int | None]:
        update = ObjectiveUpdate(TASK, 0, status)  # type: ignore[arg-type]  # one of its values
        after = tasks.update_objective(bench.repo, update, at).after
        return after.started_at, after.completed_at

    assert to("in_progress", 2_000) == (2_000, None)
    assert to("completed", 3_000) == (2_000, 3_000)
    assert to("in_progress", 4_000) == (2_000, None)
    assert to("pending", 5_000) == (None, None)
    with pytest.raises(NotFound):
        tasks.update_objective(bench.repo, ObjectiveUpdate("task_none", 0, "pending"), 1)


def test_a_request_that_opened_another_task_is_refused(bench: Bench) -> None:
    assert open_task(bench) == open_task(bench)
    with pytest.raises(RequestReused):
        open_task(bench, "break")


def test_a_writer_is_noted_once_for_each_branch_and_found_there(bench: Bench) -> None:
    side = bench.fork("side")
    origin = Origin("ada", "session_1")
    for _ in range(2):
        sessions.register_writer(bench.repo, bench.branch(), origin, bench.now)
        sessions.register_writer(bench.repo, side, origin, bench.now)
    found = sessions.written_branches(bench.repo, session_id="session_1")
    assert [one.branch.name for one in found] == ["side", MAIN]
    assert sessions.written_branches(bench.repo, agent_id="eve") == []


def test_a_row_on_several_branches_of_a_task_counts_once(bench: Bench) -> None:
    top = open_task(bench)
    of_task = Origin("ada", task_id=TASK)
    bench.add("fact_a", "a", top, of_task)
    join(bench, "ada")
    bench.add("fact_b", "b", "task/mend/ada", of_task)
    found = task_branches_written(bench.repo, tasks.task_state(bench.repo, TASK))
    assert [one.branch.name for one in found] == ["task/mend", "task/mend/ada"]
    count = RowCount({"task_id": TASK}, {})
    for _, reading in readings(bench.repo, found):
        count.read(reading)
    assert count.by_table["facts"] == 2


def test_a_handoff_copies_what_the_source_found_and_only_what_was_verified(bench: Bench) -> None:
    bench.add("fact_old", "old")
    bench.fork("a")
    bench.fork("b")
    bench.add("fact_v", "sure", "a")
    bench.add("fact_u", "maybe", "a")
    bench.add("fact_x", "was so", "a")
    for fact in ("fact_v", "fact_x"):
        verdict = Correction(fact, {"verification": "verified"})
        update(bench.repo, bench.branch("a"), verdict, ADA)
    archived = Correction("fact_x", {"status": "archived"})
    update(bench.repo, bench.branch("a"), archived, ADA)
    request = handoffs.HandoffRequest(bench.branch("a"), bench.branch("b"), "task_transfer")
    done = handoffs.hand_over(bench.repo, request, bench.now)
    assert bench.facts("b") == {"fact_old", "fact_v"}
    assert (done.handoff.facts, done.handoff.left_out) == (("fact_v",), 1)
    packet = handoffs.open_packet(bench.repo, done.handoff.id)
    assert [fact.text for fact in packet.facts] == ["sure"]
    itself = handoffs.HandoffRequest(bench.branch("a"), bench.branch("a"), "task_transfer")
    with pytest.raises(InvalidRequest):
        handoffs.hand_over(bench.repo, itself, bench.now)


def test_a_template_is_closed_and_its_next_version_has_the_next_number(bench: Bench) -> None:
    bench.add("fact_a", "a")
    described = templates.NewTemplate("start")
    made = [
        templates.create_template(bench.repo, bench.branch(), described, bench.now)
        for _ in range(2)
    ]
    assert [one.version for one in made] == [1, 2]
    kept = next(b for b in bench.repo.ledger.branches() if b.id == made[0].branch_id)
    assert kept.closed
    assert bench.facts(kept.name) == {"fact_a"}
    assert templates.newest(bench.repo, "start").version == 2
    with pytest.raises(NotFound):
        templates.newest(bench.repo, "none")
