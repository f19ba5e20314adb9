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
        objectives = [o for o in self.state.objectives if o.completed_at is not None]
        return sorted(objectives, key=lambda o: (o.completed_at or 0, o.position))

    @property
    def completed_at(self) -> int | None:
        """When the last objective was completed; None while an objective is open."""
        if status_of(self.state.objectives) != "completed":
            return None
        return self.finished[-1].completed_at

    @property
    def duration_s(self) -> float | None:
        """Seconds from the first start to the last completion; None while the task is open."""
        starts = [o.started_at for o in self.state.objectives if o.started_at is not None]
        return seconds(min(starts, default=None), self.completed_at)


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
    records = repo.ledger.records(Task, task_type=task_type)
    if not records:
        task_types = sorted({t.task_type for t in repo.ledger.records(Task) if t.task_type})
        type_names = ", ".join(task_types) or "none"
        return Replayed([], 0, [], [f"No task has this type; types there are: {type_names}."])
    tasks = [_replay(repo, task_state(repo, task.id), space) for task in records[: -limit - 1 : -1]]
    notes = []
    truncated = [task.state.task.id for task in tasks if task.truncated]
    if truncated:
        notes.append(
            f"Of these tasks only the newest {MOST} rows were read: {', '.join(truncated)}."
        )
    patterns = [*_orders(tasks), *_tools(tasks), *_durations(tasks)]
    step_by_error = {
        e.id: e.followed_by for t in tasks for e in t.errors if e.followed_by is not None
    }
    errors = [row for t in tasks for row in t.observations if row["observation_type"] == _ERROR]
    facts = [row for task in tasks for row in task.facts]
    for kind, rows in ((OBSERVATION, errors), (FACT, facts)):
        recurring, pattern_notes = _recurring(engine, kind, rows, step_by_error)
        patterns += recurring
        notes += pattern_notes
    return Replayed(tasks, len(records), patterns, notes)


def _replay(repo: Repository, state: TaskState, space: Mapping[str, Cell]) -> Replay:
    equal = {"task_id": state.task.id}
    query = Query(equal={**equal, **space}, limit=MOST)
    observations = NewestRows(OBSERVATION, _OBSERVATION_COLUMNS, query)
    facts = NewestRows(FACT, ("task_id", "fact_text"), query)
    count = RowCount(equal, space)
    for branch, reading in readings(repo, task_branches_written(repo, state)):
        observations.read(branch, reading)
        facts.read(branch, reading)
        count.read(reading)
    task_branch = repo.ledger.record(Branch, state.task.branch_id)
    observation_rows = observations.rows
    tools = [row["tool_name"] for row in observation_rows]
    return Replay(
        state,
        None if task_branch is None else task_branch.name,
        Counter(str(tool) for tool in tools if tool is not None),
        list(_errors(observation_rows)),
        count.by_table,
        observation_rows,
        facts.rows,
        observations.truncated or facts.truncated,
    )


def _errors(rows: Sequence[Row]) -> Iterator[TaskStep]:
    """Return every error with the next observation of the same agent."""
    step_by_error: dict[str, TaskStep] = {}
    latest_by_agent: dict[object, TaskStep] = {}
    for row in reversed(rows):
        next_step = latest_by_agent.get(row["agent_id"])
        latest_by_agent[row["agent_id"]] = step = _step(row)
        if next_step is not None:
            step_by_error[step.id] = next_step
    for row in rows:
        if row["observation_type"] == _ERROR:
            step = _step(row)
            yield replace(step, followed_by=step_by_error.get(step.id))


def _step(row: Row) -> TaskStep:
    agent = row["agent_id"]
    return TaskStep(
        str(row["id"]),
        str(row["observation_type"]),
        str(row["summary"]),
        None if agent is None else str(agent),
    )


def _orders(tasks: Sequence[Replay]) -> list[Pattern]:
    """Find objectives that were completed in the same order in several tasks."""
    text_by_words = {plain(o.description): o.description for t in tasks for o in t.state.objectives}
    similar_texts = [
        (a, b, similarity)
        for a, b, similarity in word_pairs(text_by_words)
        if not at_odds(text_by_words[a], text_by_words[b])
    ]
    groups = complete_links(list(text_by_words), similar_texts)
    step_by_words = {key: text_by_words[group[0]] for group in groups for key in group}
    steps_by_task = {
        task.state.task.id: [step_by_words[plain(o.description)] for o in task.finished]
        for task in tasks
    }
    runs = recurring_runs(steps_by_task).items()
    return _most_frequent(
        Pattern("objective_order", " \u2192 ".join(steps), names) for steps, names in runs
    )


def _tools(tasks: Sequence[Replay]) -> list[Pattern]:
    """Find tools that most of the tasks used, each with its number of uses over all tasks."""
    patterns = []
    for tool in sorted({tool for task in tasks for tool in task.tools}):
        users = [task for task in tasks if task.tools[tool]]
        if len(users) < FEWEST or 2 * len(users) <= len(tasks):
            continue
        ids = [str(row["id"]) for t in users for row in t.observations if row["tool_name"] == tool]
        task_ids = [task.state.task.id for task in users]
        use_count = sum(task.tools[tool] for task in users)
        patterns.append(Pattern("tool", tool, task_ids, ids[:_MAX_SHOWN], use_count))
    return _most_frequent(patterns)


def _durations(tasks: Sequence[Replay]) -> list[Pattern]:
    """Return the median duration of the tasks, if enough of them are completed."""
    duration_by_task = {t.state.task.id: t.duration_s for t in tasks}
    known_by_task = {name: value for name, value in duration_by_task.items() if value is not None}
    if len(known_by_task) < FEWEST:
        return []
    median_s = median(known_by_task.values())
    return [Pattern("duration", f"median {median_s:.1f} s", list(known_by_task), value=median_s)]


def _recurring(
    engine: SearchEngine, kind: Kind, rows: Sequence[Row], following: Mapping[str, TaskStep]
) -> tuple[list[Pattern], list[str]]:
    """Find errors or facts that recur in several tasks, with the steps that followed them."""
    if len({row["task_id"] for row in rows}) < FEWEST:
        return [], []
    newest_rows = sorted(rows, key=lambda row: (row["created_at"], row["id"]))[-COMPARED:]
    grouped = group_rows(engine, kind, newest_rows)
    notes = list(grouped.notes)
    if len(newest_rows) < len(rows):
        notes.append(f"Only the newest {COMPARED} of {len(rows)} {kind.table} were compared.")
    patterns = []
    for group in grouped.groups:
        task_ids = list(dict.fromkeys(str(row["task_id"]) for row in group))
        if len(task_ids) >= FEWEST:
            ids = [str(row["id"]) for row in group]
            text = max((str(row[kind.text or ""]) for row in group), key=worded)
            next_steps = [following[row_id] for row_id in ids if row_id in following]
            name: PatternName = "fact" if kind is FACT else "error"
            patterns.append(
                Pattern(name, text, task_ids, ids[:_MAX_SHOWN], len(ids), next_steps[:_MAX_SHOWN])
            )
    return _most_frequent(patterns), notes


def _most_frequent(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Return the `_MAX_SHOWN` patterns that occur in the most tasks."""
    return sorted(patterns, key=lambda p: -len(p.tasks))[:_MAX_SHOWN]
