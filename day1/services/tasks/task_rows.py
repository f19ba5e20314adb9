"""The rows of a task, a session or an agent on all branches that have them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from day1.model.branches.branch import Branch
from day1.model.rows.change import Query, ReadState, place_in_time
from day1.model.rows.kind import FACT, MESSAGE, OBSERVATION, Cell, Kind, Row
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import within
from day1.services.rows.timeline import Moment, timeline
from day1.services.tasks.sessions import WrittenBranch, ref_of, written_branches
from day1.services.tasks.tasks import TaskState, task_branches

_COUNTED = (FACT, OBSERVATION, MESSAGE)
"""The kinds of rows that have an index by task."""


def task_branches_written(repo: Repository, state: TaskState) -> list[WrittenBranch]:
    """Return the branches of a task, then all other branches with rows written for the task."""
    branch_by_id = task_branches(repo, state)
    branches_of_task = [WrittenBranch(branch, ref_of(branch)) for branch in branch_by_id.values()]
    branches_with_rows = written_branches(repo, task_id=state.task.id)
    return branches_of_task + [
        written_branch
        for written_branch in branches_with_rows
        if written_branch.branch.id not in branch_by_id
    ]


def readings(
    repo: Repository, branches: Sequence[WrittenBranch]
) -> Iterator[tuple[Branch, Reading]]:
    """Open one branch after the other for reading."""
    for written_branch in branches:
        with repo.store.reading(repo.shown(written_branch.ref)) as reading:
            yield written_branch.branch, reading


class NewestRows:
    """Columns (`id` and `created_at` always) of the newest rows of branches, each row once.

    Secret and expired rows are left out.
    """

    def __init__(self, kind: Kind, columns: Sequence[str], filters: Query) -> None:
        """Begin without rows; `filters.limit` is the maximum number of rows, None for all."""
        self._kind, self._columns = kind, ("id", "created_at", *columns)
        self._limit = filters.limit
        read_limit = None if self._limit is None else self._limit + 1
        self._query = replace(filters, public=True, descending=True, limit=read_limit)
        self._row_by_id: dict[str, Row] = {}
        self.branch_by_row: dict[str, str] = {}
        """Id of a row -> name of the first branch that has the row."""

    def read(self, branch: Branch, reading: Reading) -> None:
        """Add the rows of a branch."""
        for row_values in reading.scan(self._kind, self._columns, self._query):
            row: Row = dict(zip(self._columns, row_values, strict=True))
            self._row_by_id.setdefault(str(row["id"]), row)
            self.branch_by_row.setdefault(str(row["id"]), branch.name)

    @property
    def rows(self) -> list[Row]:
        """The newest rows, in the order in which they were written."""
        rows = self._row_by_id.values()
        rows_by_time = sorted(rows, key=lambda row: (row["created_at"] or 0, row["id"]))
        return rows_by_time if self._limit is None else rows_by_time[-self._limit :]

    @property
    def truncated(self) -> bool:
        """Whether there are more rows than these."""
        return self._limit is not None and len(self._row_by_id) > self._limit


def newest_rows(
    repo: Repository,
    branches: Sequence[WrittenBranch],
    kind: Kind,
    columns: Sequence[str],
    filters: Query,
) -> NewestRows:
    """Read the newest rows of a kind on branches, as `NewestRows` does."""
    collected_rows = NewestRows(kind, columns, filters)
    for branch, reading in readings(repo, branches):
        collected_rows.read(branch, reading)
    return collected_rows


class RowCount:
    """The numbers of facts, observations and messages; a row on several branches counts once."""

    def __init__(self, equal: Mapping[str, Cell], space: Mapping[str, Cell]) -> None:
        """Begin with none; `space` is as in `services.rows.spaces.within`."""
        self._query, self._space = Query(equal=equal), space
        self._ids_by_table: dict[str, set[Cell]] = {kind.table: set() for kind in _COUNTED}

    def read(self, reading: Reading) -> None:
        """Count the rows of a branch."""
        for kind in _COUNTED:
            query = within(reading, kind, self._query, self._space)
            rows = reading.scan(kind, ("id",), query)
            self._ids_by_table[kind.table].update(row_id for (row_id,) in rows)

    @property
    def by_table(self) -> dict[str, int]:
        """The number of rows, by table."""
        return {table: len(ids) for table, ids in self._ids_by_table.items()}


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
    state_by_branch: dict[str, ReadState] = {}
    moments_query = Query(equal=agent, limit=limit)
    branches_own_first = sorted(
        branches, key=lambda place: place.branch.agent_id != agent["agent_id"]
    )
    for written_branch in branches_own_first:
        branch = written_branch.branch
        with repo.store.reading(repo.shown(written_branch.ref)) as reading:
            if written_branch.ref.branch is not None:
                state_by_branch[branch.name] = reading.state
            for moment in timeline(reading, moments_query):
                moment_by_id.setdefault(str(moment.row["id"]), AgentMoment(moment, branch.name))
    ordered_moments = sorted(moment_by_id.values(), key=lambda item: place_in_time(item.moment.row))
    return AgentTimeline(ordered_moments[-limit:], state_by_branch)
