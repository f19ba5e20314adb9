"""Which observations become facts, and on which branch."""

import pytest

from day1.errors import Refused
from day1.model.branches.branch import MAIN
from day1.model.records.task import Task
from day1.model.rows.change import Ref
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Row
from day1.model.rows.origin import Origin
from day1.services.branches import deleting
from day1.services.rows.recording import NewFact, NewObservation, new_row, record
from day1.services.tasks import observations, sessions, tasks
from day1.services.tasks.consolidating import source_edit_id
from day1.services.tasks.observations import branch_for_facts, observed, waiting_first
from day1.services.tasks.tasks import JoinRequest
from tests.unit.services.conftest import Bench

TASK = "task_1"


def open_task(bench: Bench, *agents: str) -> None:
    task = Task(TASK, "mend", None, None, (), "", None, bench.now)
    tasks.create_task(bench.repo, task, bench.branch(), [])
    for agent in agents:
        tasks.join(bench.repo, JoinRequest(TASK, agent), bench.now)


def observe(bench: Bench, text: str, branch: str, origin: Origin) -> str:
    """Record an observation; gives its id."""
    bench.now += 1
    place = bench.branch(branch)
    sessions.register_writer(bench.repo, place, origin, bench.now)
    seen = NewObservation("discovery", text)
    return str(record(bench.repo, place, seen, origin).row["id"])


@pytest.mark.parametrize(
    ("agent_id", "branch"), [(None, "task/mend"), ("ada", "task/mend/ada"), ("bo", "task/mend/bo")]
)
def test_facts_of_a_task_belong_to_its_branch_and_those_of_an_agent_to_the_agents(
    bench: Bench, agent_id: str | None, branch: str
) -> None:
    open_task(bench, "ada", "bo")
    for agent in ("ada", "bo"):
        observe(bench, f"{agent} saw it", "task/mend", Origin(agent, None, TASK))
    equal = {"task_id": TASK} | ({} if agent_id is None else {"agent_id": agent_id})
    assert branch_for_facts(bench.repo, observed(bench.repo, equal)) == branch


def test_an_agent_without_a_branch_of_the_task_writes_facts_where_its_last_row_is(
    bench: Bench,
) -> None:
    open_task(bench)
    bench.fork("side")
    eve = Origin("eve", None, TASK)
    for branch in ("side", MAIN):
        observe(bench, f"seen on {branch}", branch, eve)
    equal = {"task_id": TASK, "agent_id": "eve"}
    assert branch_for_facts(bench.repo, observed(bench.repo, equal)) == MAIN


def test_a_session_writes_facts_where_its_newest_fact_or_observation_is(bench: Bench) -> None:
    bench.fork("side")
    origin = Origin("ada", "session_1")
    observe(bench, "seen", MAIN, origin)
    equal = {"session_id": "session_1"}
    assert branch_for_facts(bench.repo, observed(bench.repo, equal)) == MAIN
    bench.now += 1
    side = bench.branch("side")
    sessions.register_writer(bench.repo, side, origin, bench.now)
    record(bench.repo, side, NewFact("known"), origin)
    assert branch_for_facts(bench.repo, observed(bench.repo, equal)) == "side"


def test_facts_of_a_task_without_a_branch_are_refused(bench: Bench) -> None:
    open_task(bench)
    observe(bench, "seen", MAIN, Origin("ada", None, TASK))
    deleting.delete(bench.repo, bench.branch("task/mend"), MAIN, bench.now)
    with pytest.raises(Refused, match="name the `branch`"):
        branch_for_facts(bench.repo, observed(bench.repo, {"task_id": TASK}))


def test_observations_that_no_fact_was_made_of_come_first_and_newer_ones_before_older_ones(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observations, "MOST", 2)
    origin, equal = Origin("ada", "session_1"), {"session_id": "session_1"}

    def first() -> tuple[list[str], int]:
        rows, more = waiting_first(bench.repo, bench.branch(), observed(bench.repo, equal))
        return [str(row["summary"]) for row in rows], more

    for text in ("one", "two"):
        observe(bench, text, MAIN, origin)
    assert first() == (["one", "two"], 0)
    ids = {text: observe(bench, text, MAIN, origin) for text in ("three", "four", "five")}
    assert first() == (["four", "five"], 3)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        rows = reading.get(OBSERVATION, [ids["four"], ids["five"]])
    with bench.store.adding(MAIN) as work:
        about: Row = {"row_id": "fact_a", "row_kind": FACT.table}
        edits = [
            new_row(EDIT, source_edit_id(row), about, origin, work.now) for row in rows.values()
        ]
        work.add(EDIT, edits)
    assert first() == (["two", "three"], 1)
