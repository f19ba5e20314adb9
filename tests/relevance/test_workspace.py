"""The team test: a task's workspace against the calls that an agent has without it.

`python -m tests.relevance.team_tasks` measures again, also with one part of the score left out.
"""

from functools import cache

import pytest

from day1.settings import Settings
from tests.relevance.generated_tasks import AGENTS, FACTS, LINKS, NOTES, made_task
from tests.relevance.team_tasks import (
    BUDGETS,
    FEW_TASKS,
    TASKS,
    WAYS,
    all_measured,
    best_call,
    committed,
)

pytestmark = pytest.mark.xdist_group("team")

TIMES = 1.5
"""How many times the must-know facts of the best call a broadcast has at least."""
TOLD = 0.9
"""The share of what an agent lacked that it is told in two broadcasts, at least."""


each_size = pytest.mark.parametrize(
    "tasks", [FEW_TASKS, pytest.param(TASKS, marks=pytest.mark.weekly)]
)


@cache
def measured(way: str, tasks: int) -> dict[str, dict[str, float]]:
    if WAYS[way] and not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    return all_measured(model=WAYS[way], tasks=tasks, ablations=("whole",))


@each_size
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_team_is_told_what_all_must_know(way: str, budget: str, tasks: int, capsys) -> None:
    figures = measured(way, tasks)
    told = figures[f"workspace, {budget}"]
    best = best_call(figures, budget)
    with capsys.disabled():
        print(f"\n{way}, {budget}: {told}; best call {best}")
    assert told["must_know"] >= TIMES * best
    assert told["twice"] == 0
    assert told["contradictions"] == 1
    assert told["lacking"] >= TOLD


@each_size
@pytest.mark.parametrize("way", WAYS)
def test_the_committed_figures_are_these(way: str, tasks: int, capsys) -> None:
    kept = committed(way, tasks)
    measured_rows = measured(way, tasks)
    told = {name: row for name, row in measured_rows.items() if name.startswith("workspace")}
    assert len(told) == len(BUDGETS)
    for name, row in told.items():
        for figure, value in row.items():
            assert value == pytest.approx(kept[name][figure], abs=0.1), (name, figure)
    with capsys.disabled():
        for name, row in kept.items():
            if "without" in name:
                print(f"\n{way}: {name}: {row}", end="")


def test_a_generated_task_is_as_described() -> None:
    for number in range(40):
        task = made_task(number)
        assert task == made_task(number)
        assert [sum(note.agent == agent for note in task.notes) for agent in AGENTS] == [NOTES] * 5
        goal = {word.strip(".,").casefold() for word in task.goal.split()}
        for fact in range(FACTS):
            notes = [note for note in task.notes if note.must_know == fact]
            assert len({note.agent for note in notes}) == len({note.text for note in notes}) == 3
            words = {word.strip(".,:").casefold() for note in notes for word in note.text.split()}
            common = words & goal - {"the", "and", "at"}
            assert bool(common) == (fact < 5), (fact, common)
        by_id = {note.id: note for note in task.notes}
        assert len(task.links) == len(LINKS)
        for one, other in task.links:
            assert by_id[one].agent == by_id[other].agent
