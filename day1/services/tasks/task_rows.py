"""The rows of a task, a session or an agent on all branches that have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from day1.model.rows.change import Query, ReadState, place_in_time
from day1.model.rows.kind import FACT, MESSAGE, OBSERVATION, Cell, Kind, Row
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import within
from day1.services.rows.timeline import Moment, timeline
from day1.services.tasks.sessions import WrittenBranch, ref_of, written_branches
from day1.services.tasks.tasks import task_branches, task_state

_COUNTED = (FACT, OBSERVATION, MESSAGE)
"""The kinds of rows that have an index by task."""


def task_branches_written(repo: Repository, task_id: str) -> list[WrittenBranch]:
    """Return the branches of a task, then all other branches with rows written for the task.

    Raises:
        NotFound: there is no such task.
    """
    branches = task_branches(repo, task_state(repo, task_id))
    branches_of_task = [WrittenBranch(branch, ref_of(branch)) for branch in branches.values()]
    other_branches = written_branches(repo, task_id=task_id)
    return branches_of_task + [place for place in other_branches if place.branch.id not in branches]


@dataclass(frozen=True, slots=True)
class NewestRows:
    """The newest rows, in the order in which they were written."""

    rows: list[Row]
    branch_of: Mapping[str, str]
    """Id of a row -> name of a branch that has the row."""
    truncated: bool
    """Whether there are more rows than these."""


def newest_rows(
    repo: Repository,
    branches: Sequence[WrittenBranch],
    kind: Kind,
    columns: Sequence[str],
    filters: Query,
) -> NewestRows:
    """Read columns (`id` and `created_at` always) of the newest rows of branches, each row once.

    Secret and expired rows are left out.
    """
    column_names = ("id", "created_at", *columns)
    limit = filters.limit
    read_limit = None if limit is None else limit + 1
    query = replace(filters, public=True, descending=True, limit=read_limit)
    row_by_id: dict[str, Row] = {}
    branch_by_row: dict[str, str] = {}
    for written_branch in branches:
        with repo.store.reading(repo.shown(written_branch.ref)) as reading:
            for cells in reading.scan(kind, column_names, query):
                row: Row = dict(zip(column_names, cells, strict=True))
                row_by_id.setdefault(str(row["id"]), row)
                branch_by_row.setdefault(str(row["id"]), written_branch.branch.name)
    rows_by_time = sorted(row_by_id.values(), key=lambda row: (row["created_at"] or 0, row["id"]))
    shown_count = len(rows_by_time) if limit is None else limit
    return NewestRows(rows_by_time[-shown_count:], branch_by_row, len(rows_by_time) > shown_count)


def count_rows(
    repo: Repository,
    branches: Sequence[WrittenBranch],
    equal: Mapping[str, Cell],
    space: Mapping[str, Cell],
) -> dict[str, int]:
    """Count facts, observations and messages by table; a row on several branches counts once.

    `space` is as in `services.rows.spaces.within`.
    """
    ids_by_table: dict[str, set[Cell]] = {kind.table: set() for kind in _COUNTED}
    for written_branch in branches:
        with repo.store.reading(repo.shown(written_branch.ref)) as reading:
            for kind in _COUNTED:
                rows = reading.scan(kind, ("id",), within(reading, kind, Query(equal=equal), space))
                ids_by_table[kind.table].update(row_id for (row_id,) in rows)
    return {table: len(rows) for table, rows in ids_by_table.items()}


@dataclass(frozen=True, slots=True)
class AgentMoment:
    """One entry of an agent's timeline, and the branch that has it."""

    moment: Moment
    branch: str


@dataclass(frozen=True, slots=True)
class AgentTimeline:
    """The entries of an agent's timeline, the oldest first, and the states they were read from."""

    entries: list[AgentMoment]
    read: Mapping[str, ReadState]
    """The state of each open branch, by its name."""


def agent_timeline(
    repo: Repository, branches: Sequence[WrittenBranch], agent: Mapping[str, Cell], limit: int
) -> AgentTimeline:
    """Return the newest `limit` facts and observations of an agent, the oldest first.

    `agent` holds column values: the agent's id, and a space if only one is asked for.
    A row on several branches is returned once: from the agent's own branch, else from the first.
    """
    moment_by_id: dict[str, AgentMoment] = {}
    read: dict[str, ReadState] = {}
    moments_query = Query(equal=agent, limit=limit)
    own_first = sorted(branches, key=lambda place: place.branch.agent_id != agent["agent_id"])
    for written_branch in own_first:
        branch = written_branch.branch
        with repo.store.reading(repo.shown(written_branch.ref)) as reading:
            if written_branch.ref.branch is not None:
                read[branch.name] = ReadState(reading.tip, reading.pending)
            for moment in timeline(reading, moments_query):
                moment_by_id.setdefault(str(moment.row["id"]), AgentMoment(moment, branch.name))
    ordered_moments = sorted(moment_by_id.values(), key=lambda item: place_in_time(item.moment.row))
    return AgentTimeline(ordered_moments[-limit:], read)
