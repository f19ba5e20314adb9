"""Replaying the tasks of a type: what they had in common, with the tasks and rows as evidence."""

from types import SimpleNamespace
from typing import Any

import pytest

from day1.model.records.task import Task
from day1.model.records.task_pattern import Pattern
from day1.model.rows.kind import FACT, OBSERVATION
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND
from day1.services.rows.recording import NewFact, NewObservation, fact_row, observation_row
from day1.services.tasks import replaying, tasks
from day1.services.tasks.replaying import Replayed, replay, seconds
from day1.services.tasks.tasks import NewObjective, ObjectiveUpdate
from tests.unit.services.conftest import Bench

PORTS: Any = SimpleNamespace(embedder=None)
"""Without a model texts are compared by their words."""
TYPE = "release"
AIMS = ("Write the change log", "Tag the release", "Publish the package")
STUCK = "The registry refused the upload of the package."


class Tasks:
    """A bench with tasks, and what their agents write for them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.rows = 0

    def open(self, name: str, aims: tuple[str, ...] = (), task_type: str | None = TYPE) -> str:
        self.bench.now += SECOND
        task = Task(name, name, None, task_type, (), "", None, self.bench.now)
        objectives = [NewObjective(aim) for aim in aims]
        tasks.create_task(self.bench.repo, task, self.bench.branch(), objectives)
        return name

    def finish(self, name: str, *indices: int, start: int = 1, step: int = 1) -> None:
        """Complete objectives in an order, each so many seconds after the one before."""
        for number, index in enumerate(indices):
            for status, at in (("in_progress", start), ("completed", start + (number + 1) * step)):
                update = ObjectiveUpdate(name, index, status)  # type: ignore[arg-type]  # one of its values
                tasks.update_objective(self.bench.repo, update, at * SECOND)

    def see(self, name: str, summary: str, kind: str = "note", **more: Any) -> str:
        self.rows += 1
        self.bench.now += 1
        origin = Origin(more.pop("agent", "ada"), task_id=name)
        row_id = f"obs_{self.rows:026}"
        with self.bench.store.adding(f"task/{name}") as work:
            new = NewObservation(kind, summary, **more)
            work.add(OBSERVATION, [observation_row(row_id, new, origin, work.now)])
        return row_id

    def state(self, name: str, text: str, **more: Any) -> str:
        self.rows += 1
        self.bench.now += 1
        row_id = f"fact_{self.rows:026}"
        with self.bench.store.adding(f"task/{name}") as work:
            new = NewFact(text, **more)
            work.add(FACT, [fact_row(row_id, new, Origin("ada", task_id=name), work.now)])
        return row_id

    def replay(self, limit: int = 10, **space: Any) -> Replayed:
        return replay(self.bench.repo, PORTS, TYPE, limit, space)

    def patterns(self, name: str) -> list[Pattern]:
        return [pattern for pattern in self.replay().patterns if pattern.name == name]


@pytest.fixture
def team(bench: Bench) -> Tasks:
    return Tasks(bench)


# The tasks


def test_an_unknown_type_is_answered_with_the_types_there_are(team: Tasks) -> None:
    assert team.replay().notes == ["No task has this type; types there are: none."]
    team.open("a", task_type="other")
    team.open("b", task_type=None)
    done = team.replay()
    assert (done.notes, done.count) == (["No task has this type; types there are: other."], 0)


@pytest.mark.parametrize(("limit", "expected"), [(1, "c"), (2, "cb"), (3, "cba"), (9, "cba")])
def test_the_newest_tasks_of_the_type_are_replayed(team: Tasks, limit: int, expected: str) -> None:
    for name in "abc":
        team.open(name)
    team.open("x", task_type="other")
    done = team.replay(limit)
    assert "".join(task.state.task.id for task in done.tasks) == expected
    assert (done.count, done.tasks[0].branch) == (3, f"task/{expected[0]}")


def test_a_task_is_replayed_with_its_rows_and_tools(team: Tasks) -> None:
    team.open("a")
    team.open("b")
    team.see("a", "one", tool_name="git")
    team.see("a", "two", tool_name="git")
    team.see("a", "three", tool_name="mypy")
    team.see("a", "secret", sensitivity="secret", tool_name="ssh")
    team.see("b", "of another task", tool_name="curl")
    team.state("a", "a fact")
    task = team.replay().tasks[1]
    assert task.tools == {"git": 2, "mypy": 1}
    assert [row["summary"] for row in task.observations] == ["one", "two", "three"]
    assert [row["fact_text"] for row in task.facts] == ["a fact"]
    assert (task.counts["facts"], task.truncated) == (1, False)


def test_rows_of_another_space_do_not_count(team: Tasks) -> None:
    team.open("a")
    team.see("a", "mine", space="project:mill")
    team.see("a", "theirs", space="project:metal")
    team.state("a", "theirs", space="project:metal")
    (task,) = team.replay(space="project:mill").tasks
    assert [row["summary"] for row in task.observations] == ["mine"]
    assert (task.facts, task.counts["observations"], task.counts["facts"]) == ([], 1, 0)


@pytest.mark.parametrize("what", ["see", "state"])
def test_of_a_large_task_the_newest_rows_are_read(
    team: Tasks, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(replaying, "MOST", 2)
    team.open("a")
    team.open("b")
    for number in range(3):
        getattr(team, what)("a", f"row {number}")
    for number in range(2):
        getattr(team, what)("b", f"row {number}")
    done = team.replay()
    task = done.tasks[1]
    texts = [row.get("summary") or row.get("fact_text") for row in task.observations + task.facts]
    assert (texts, [one.truncated for one in done.tasks]) == (["row 1", "row 2"], [False, True])
    assert done.notes[0] == "Of these tasks only the newest 2 rows were read: a."


# Errors, and what followed them


def test_an_error_is_followed_by_what_its_agent_noted_next(team: Tasks) -> None:
    team.open("a")
    first = team.see("a", "It failed.", "error")
    team.see("a", "by somebody else", agent="bo")
    then = team.see("a", "It was retried.")
    last = team.see("a", "It failed again.", "error")
    (task,) = team.replay().tasks
    steps = [(e.id, e.followed_by.id if e.followed_by else None) for e in task.errors]
    assert steps == [(first, then), (last, None)]
    assert task.errors[0].summary == "It failed."
    assert (task.errors[0].observation_type, task.errors[0].agent_id) == ("error", "ada")


@pytest.mark.parametrize(
    ("kinds", "names", "expected"),
    [
        (("error", "error"), "ab", ["a", "b"]),
        (("error", "error"), "aa", None),
        (("error", "note"), "ab", None),
    ],
    ids=["two tasks", "one task", "one error"],
)
def test_an_error_of_several_tasks_is_a_pattern(
    team: Tasks, kinds: tuple[str, str], names: str, expected: list[str] | None
) -> None:
    team.open("a")
    team.open("b")
    ids = []
    for name, kind in zip(names, kinds, strict=True):
        ids.append(team.see(name, STUCK, kind))
        team.see(name, f"{name} logged in first.")
    patterns = team.patterns("error")
    if expected is None:
        assert patterns == []
        return
    (pattern,) = patterns
    assert sorted(pattern.tasks) == expected
    assert (pattern.text, sorted(pattern.ids), pattern.value) == (STUCK, ids, 2)
    assert sorted(step.summary for step in pattern.followed_by) == [
        "a logged in first.",
        "b logged in first.",
    ]


def test_a_fact_of_several_tasks_is_a_pattern(team: Tasks) -> None:
    team.open("a")
    team.open("b")
    for name in "ab":
        team.state(name, "The registry wants a token of the team.")
    team.state("a", "Nine workers run at night.")
    team.state("b", "The mill closes on Sundays.")
    (pattern,) = team.patterns("fact")
    assert (sorted(pattern.tasks), pattern.value) == (["a", "b"], 2)
    assert pattern.text == "The registry wants a token of the team."


def test_only_the_newest_errors_are_compared(team: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "COMPARED", 2)
    team.open("a")
    team.open("b")
    team.see("a", STUCK, "error")
    team.see("b", "Another error of the build.", "error")
    team.see("b", "The disk of the runner is full.", "error")
    done = team.replay()
    assert [p for p in done.patterns if p.name == "error"] == []
    assert "Only the newest 2 of 3 observations were compared." in done.notes


# Tools


@pytest.mark.parametrize(
    ("users", "others", "expected"),
    [("ab", "", 2), ("abc", "de", 3), ("ab", "cd", None), ("ab", "c", 2), ("a", "", None)],
    ids=["all", "most", "half", "two of three", "one"],
)
def test_a_tool_that_most_tasks_used_is_a_pattern(
    team: Tasks, users: str, others: str, expected: int | None
) -> None:
    for name in users + others:
        team.open(name)
    for name in users:
        team.see(name, f"{name} ran", tool_name="git")
    team.see(users[0], "again", tool_name="git")
    patterns = team.patterns("tool")
    if expected is None:
        assert patterns == []
    else:
        (pattern,) = patterns
        assert (pattern.text, len(pattern.tasks)) == ("git", expected)
        assert (pattern.value, len(pattern.ids)) == (expected + 1, expected + 1)


def test_the_patterns_of_most_tasks_come_first_and_twenty_at_most(team: Tasks) -> None:
    for name in "abc":
        team.open(name)
        for number in range(25):
            if name != "c" or number >= 20:
                team.see(name, f"{name} {number}", tool_name=f"tool{number:02}")
    patterns = team.patterns("tool")
    assert [p.text for p in patterns[:5]] == [f"tool{number}" for number in range(20, 25)]
    assert [len(p.tasks) for p in patterns] == [3] * 5 + [2] * 15


# Objectives


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 1, 2), (0, 1, 2), [" → ".join(AIMS)]),
        ((1, 0, 2), (1, 0, 2), [f"{AIMS[1]} → {AIMS[0]} → {AIMS[2]}"]),
        ((0, 1, 2), (2, 0, 1), [f"{AIMS[0]} → {AIMS[1]}"]),
        ((0, 1), (1, 0), []),
        ((0, 1), (), []),
    ],
    ids=["equal", "both turned", "in part", "other order", "one unfinished"],
)
def test_an_order_in_which_several_tasks_did_their_steps_is_a_pattern(
    team: Tasks, one: tuple[int, ...], other: tuple[int, ...], expected: list[str]
) -> None:
    for name, order in (("a", one), ("b", other)):
        team.open(name, AIMS)
        team.finish(name, *order)
    patterns = team.patterns("objective_order")
    assert [pattern.text for pattern in patterns] == expected
    assert all(sorted(pattern.tasks) == ["a", "b"] for pattern in patterns)


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        ((10, 20), "median 15.0 s"),
        ((10, 20, 90), "median 20.0 s"),
        ((10,), None),
        ((10, None), None),
        ((10, None, 30), "median 20.0 s"),
    ],
    ids=str,
)
def test_how_long_tasks_take_is_told_of_those_that_are_completed(
    team: Tasks, spent: tuple[int | None, ...], expected: str | None
) -> None:
    for number, duration in enumerate(spent):
        name = team.open(f"t{number}", AIMS[:2])
        if duration is None:
            team.finish(name, 0)
        else:
            team.finish(name, 0, 1, start=5, step=duration // 2)
    patterns = team.patterns("duration")
    assert [pattern.text for pattern in patterns] == ([] if expected is None else [expected])
    assert all(len(p.tasks) == len([s for s in spent if s is not None]) for p in patterns)


def test_a_task_takes_from_its_first_start_to_its_last_completion(team: Tasks) -> None:
    team.open("a", AIMS[:2])
    team.finish("a", 1, start=3, step=4)
    assert team.replay().tasks[0].duration_s is None
    team.finish("a", 0, start=2, step=9)
    (task,) = team.replay().tasks
    assert (task.duration_s, task.completed_at) == (9.0, 11 * SECOND)
    assert [objective.position for objective in task.finished] == [1, 0]
    assert (seconds(None, 1), seconds(1, None), seconds(0, SECOND)) == (None, None, 1.0)
