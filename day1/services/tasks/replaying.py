"""Replay: find what tasks of one type had in common, with the tasks and rows as evidence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from day1.model.branches.branch import Branch
from day1.model.records.task import Objective, Task, status_of
from day1.model.records.task_pattern import FEWEST, Pattern, PatternName, TaskStep, recurring_runs
from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, OBSERVATION, Cell, Kind, Row
from day1.model.search.grouping import at_odds, complete_links, plain, word_pairs, worded
from day1.model.values.instant import SECOND
from day1.services.repository.repository import Repository
from day1.services.search.grouping import group_rows
from day1.services.search.search_engine import SearchEngine
from day1.services.tasks.task_rows import NewestRows, RowCount, readings, task_branches_written
from day1.services.tasks.tasks import TaskState, task_state

MOST = 500
"""Maximum number of observations, and of facts, read of one task: the newest."""
COMPARED = 2_000
"""Maximum number of errors, and of facts, compared over all tasks: the newest."""
_MAX_SHOWN = 20
"""Maximum number of patterns with one name, and of ids and next steps in a pattern."""

_ERROR = "error"
_OBSERVATION_COLUMNS = ("task_id", "summary", "observation_type", "tool_name", "agent_id")


@dataclass(frozen=True, slots=True)
class Replay:
    """The history of one task: its steps, errors and rows."""

    state: TaskState
    branch: str | None
    """Name of the task's branch; None if the branch was deleted."""
    tools: Counter[str]
    errors: list[TaskStep]
    """Errors, oldest first, each with the next observation of the same agent."""
    counts: dict[str, int]
    """Number of rows by table."""
    observations: list[Row]
    facts: list[Row]
    truncated: bool
    """Whether there are more observations or facts than were read."""

    @property
    def finished(self) -> list[Objective]:
        """The completed objectives, in the order in which they were completed."""
        completed_objectives = [o for o in self.state.objectives if o.completed_at is not None]
        return sorted(completed_objectives, key=lambda o: (o.completed_at or 0, o.position))

    @property
    def completed_at(self) -> int | None:
        """When the last objective was completed; None while an objective is open."""
        if status_of(self.state.objectives) != "completed":
            return None
        return self.finished[-1].completed_at

    @property
    def duration_s(self) -> float | None:
        """Seconds from the first start to the last completion; None while the task is open."""
        start_times = [
            objective.started_at
            for objective in self.state.objectives
            if objective.started_at is not None
        ]
        return seconds(min(start_times, default=None), self.completed_at)


@dataclass(frozen=True, slots=True)
class Replayed:
    """Tasks of a type, the newest first, and the patterns that recur in them."""

    tasks: list[Replay]
    count: int
    """Number of all tasks of the type."""
    patterns: list[Pattern]
    notes: list[str]


def seconds(start: int | None, end: int | None) -> float | None:
    """Return the seconds between two instants; None if an instant is missing."""
    return None if start is None or end is None else (end - start) / SECOND


def replay(
    repo: Repository, engine: SearchEngine, task_type: str, limit: int, space: Mapping[str, Cell]
) -> Replayed:
    """Find what the newest `limit` tasks of a type had in common.

    Only rows of `space` count (`services.rows.spaces.within`). The cost grows with the rows of
    these tasks only.
    """
    task_records = repo.ledger.records(Task, task_type=task_type)
    if not task_records:
        task_types = sorted(
            {task.task_type for task in repo.ledger.records(Task) if task.task_type}
        )
        type_names = ", ".join(task_types) or "none"
        return Replayed([], 0, [], [f"No task has this type; types there are: {type_names}."])
    task_histories = [
        _replay(repo, task_state(repo, task.id), space) for task in task_records[: -limit - 1 : -1]
    ]
    notes = []
    truncated_task_ids = [task.state.task.id for task in task_histories if task.truncated]
    if truncated_task_ids:
        notes.append(
            f"Of these tasks only the newest {MOST} rows were read: "
            f"{', '.join(truncated_task_ids)}."
        )
    patterns = [*_orders(task_histories), *_tools(task_histories), *_durations(task_histories)]
    next_step_by_error = {
        error.id: error.followed_by
        for task in task_histories
        for error in task.errors
        if error.followed_by is not None
    }
    error_rows = [
        row
        for task in task_histories
        for row in task.observations
        if row["observation_type"] == _ERROR
    ]
    fact_rows = [row for task in task_histories for row in task.facts]
    for kind, rows in ((OBSERVATION, error_rows), (FACT, fact_rows)):
        recurring_patterns, pattern_notes = _recurring(engine, kind, rows, next_step_by_error)
        patterns += recurring_patterns
        notes += pattern_notes
    return Replayed(task_histories, len(task_records), patterns, notes)


def _replay(repo: Repository, state: TaskState, space: Mapping[str, Cell]) -> Replay:
    task_condition = {"task_id": state.task.id}
    newest_query = Query(equal={**task_condition, **space}, limit=MOST)
    newest_observations = NewestRows(OBSERVATION, _OBSERVATION_COLUMNS, newest_query)
    newest_facts = NewestRows(FACT, ("task_id", "fact_text"), newest_query)
    row_count = RowCount(task_condition, space)
    for branch, reading in readings(repo, task_branches_written(repo, state)):
        newest_observations.read(branch, reading)
        newest_facts.read(branch, reading)
        row_count.read(reading)
    task_branch = repo.ledger.record(Branch, state.task.branch_id)
    observation_rows = newest_observations.rows
    tool_names = [row["tool_name"] for row in observation_rows]
    return Replay(
        state,
        None if task_branch is None else task_branch.name,
        Counter(str(tool) for tool in tool_names if tool is not None),
        list(_errors(observation_rows)),
        row_count.by_table,
        observation_rows,
        newest_facts.rows,
        newest_observations.truncated or newest_facts.truncated,
    )


def _errors(rows: Sequence[Row]) -> Iterator[TaskStep]:
    """Return every error with the next observation of the same agent."""
    next_step_by_id: dict[str, TaskStep] = {}
    next_step_by_agent: dict[object, TaskStep] = {}
    for row in reversed(rows):
        next_step = next_step_by_agent.get(row["agent_id"])
        next_step_by_agent[row["agent_id"]] = step = _step(row)
        if next_step is not None:
            next_step_by_id[step.id] = next_step
    for row in rows:
        if row["observation_type"] == _ERROR:
            step = _step(row)
            yield replace(step, followed_by=next_step_by_id.get(step.id))


def _step(row: Row) -> TaskStep:
    agent_id = row["agent_id"]
    return TaskStep(
        str(row["id"]),
        str(row["observation_type"]),
        str(row["summary"]),
        None if agent_id is None else str(agent_id),
    )


def _orders(tasks: Sequence[Replay]) -> list[Pattern]:
    """Find objectives that were completed in the same order in several tasks."""
    description_by_plain_text = {
        plain(objective.description): objective.description
        for task in tasks
        for objective in task.state.objectives
    }
    similar_pairs = [
        (first_text, second_text, similarity)
        for first_text, second_text, similarity in word_pairs(description_by_plain_text)
        if not at_odds(
            description_by_plain_text[first_text], description_by_plain_text[second_text]
        )
    ]
    groups = complete_links(list(description_by_plain_text), similar_pairs)
    step_by_plain_text = {
        plain_text: description_by_plain_text[group[0]] for group in groups for plain_text in group
    }
    steps_by_task = {
        task.state.task.id: [
            step_by_plain_text[plain(objective.description)] for objective in task.finished
        ]
        for task in tasks
    }
    runs_with_tasks = recurring_runs(steps_by_task).items()
    return _most_frequent(
        Pattern("objective_order", " \u2192 ".join(steps), task_ids)
        for steps, task_ids in runs_with_tasks
    )


def _tools(tasks: Sequence[Replay]) -> list[Pattern]:
    """Find tools that most of the tasks used, each with its number of uses over all tasks."""
    patterns = []
    for tool in sorted({tool for task in tasks for tool in task.tools}):
        tasks_with_tool = [task for task in tasks if task.tools[tool]]
        if len(tasks_with_tool) < FEWEST or 2 * len(tasks_with_tool) <= len(tasks):
            continue
        observation_ids = [
            str(row["id"])
            for tool_user in tasks_with_tool
            for row in tool_user.observations
            if row["tool_name"] == tool
        ]
        task_ids = [task.state.task.id for task in tasks_with_tool]
        use_count = sum(task.tools[tool] for task in tasks_with_tool)
        patterns.append(Pattern("tool", tool, task_ids, observation_ids[:_MAX_SHOWN], use_count))
    return _most_frequent(patterns)


def _durations(tasks: Sequence[Replay]) -> list[Pattern]:
    """Return the median duration of the tasks, if enough of them are completed."""
    duration_by_task = {task.state.task.id: task.duration_s for task in tasks}
    known_duration_by_task = {
        task_id: duration for task_id, duration in duration_by_task.items() if duration is not None
    }
    if len(known_duration_by_task) < FEWEST:
        return []
    median_s = median(known_duration_by_task.values())
    return [
        Pattern(
            "duration", f"median {median_s:.1f} s", list(known_duration_by_task), value=median_s
        )
    ]


def _recurring(
    engine: SearchEngine, kind: Kind, rows: Sequence[Row], following: Mapping[str, TaskStep]
) -> tuple[list[Pattern], list[str]]:
    """Find errors or facts that recur in several tasks, with the steps that followed them."""
    if len({row["task_id"] for row in rows}) < FEWEST:
        return [], []
    newest_rows = sorted(rows, key=lambda row: (row["created_at"], row["id"]))[-COMPARED:]
    row_groups = group_rows(engine, kind, newest_rows)
    notes = list(row_groups.notes)
    if len(newest_rows) < len(rows):
        notes.append(f"Only the newest {COMPARED} of {len(rows)} {kind.table} were compared.")
    patterns = []
    for group in row_groups.groups:
        task_ids = list(dict.fromkeys(str(row["task_id"]) for row in group))
        if len(task_ids) >= FEWEST:
            row_ids = [str(row["id"]) for row in group]
            best_text = max((str(row[kind.text or ""]) for row in group), key=worded)
            next_steps = [following[row_id] for row_id in row_ids if row_id in following]
            pattern_name: PatternName = "fact" if kind is FACT else "error"
            patterns.append(
                Pattern(
                    pattern_name,
                    best_text,
                    task_ids,
                    row_ids[:_MAX_SHOWN],
                    len(row_ids),
                    next_steps[:_MAX_SHOWN],
                )
            )
    return _most_frequent(patterns), notes


def _most_frequent(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Return the `_MAX_SHOWN` patterns that occur in the most tasks."""
    return sorted(patterns, key=lambda p: -len(p.tasks))[:_MAX_SHOWN]
