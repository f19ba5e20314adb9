"""The observations of a session, an agent or a task, and where facts made of them belong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from day1.errors import Refused
from day1.model.branches.branch import Branch
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Cell, Row
from day1.services.repository.repository import Repository
from day1.services.tasks.consolidating import source_edit_id
from day1.services.tasks.sessions import WrittenBranch, written_branches
from day1.services.tasks.task_rows import NewestRows, newest_rows, readings, task_branches_written
from day1.services.tasks.tasks import task_state

MOST: Final = 2_000
"""Maximum number of observations that one consolidation reads."""
_COLUMNS: Final = ("summary", "observation_type", "happened_at", "space", "expires_at")
"""The columns of an observation that a consolidation reads, besides its id and time."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The newest observations of a session, an agent or a task on all its branches."""

    equal: Mapping[str, Cell]
    """Column values of the observations: task or session, optionally agent and space."""
    branches: Sequence[WrittenBranch]
    newest: NewestRows


def observed(repo: Repository, equal: Mapping[str, Cell]) -> Observed:
    """Read the newest observations with these column values (`task_id` or `session_id` required).

    Raises:
        NotFound: there is no such task.
    """
    if "task_id" in equal:
        branches_written = task_branches_written(repo, task_state(repo, str(equal["task_id"])))
    else:
        branches_written = written_branches(repo, session_id=str(equal["session_id"]))
    query = Query(equal=equal, limit=MOST)
    return Observed(
        equal, branches_written, newest_rows(repo, branches_written, OBSERVATION, _COLUMNS, query)
    )


def branch_for_facts(repo: Repository, observations: Observed) -> str:
    """Return the name of the branch to which facts made of these observations are added.

    It is the agent's branch of the task or the task's own, and else the branch that has the newest
    fact or observation with the same columns.

    Raises:
        Refused: the task's branch is gone.
    """
    task_id, agent_id = observations.equal.get("task_id"), observations.equal.get("agent_id")
    for written_branch in observations.branches:
        if task_id and (written_branch.branch.task_id, written_branch.branch.agent_id) == (
            task_id,
            agent_id,
        ):
            return written_branch.branch.name
    if task_id and agent_id is None:
        raise Refused("The task's branch is gone: name the `branch` that the facts are for.")
    query = Query(equal=observations.equal, limit=1)
    newest_of_kinds = [NewestRows(kind, (), query) for kind in (FACT, OBSERVATION)]
    for branch, reading in readings(repo, observations.branches):
        for newest_of_kind in newest_of_kinds:
            newest_of_kind.read(branch, reading)
    newest_row = max(
        (row["created_at"] or 0, row["id"], rows_of_kind)
        for rows_of_kind in newest_of_kinds
        for row in rows_of_kind.rows
    )
    return newest_row[2].branch_by_row[str(newest_row[1])]


def waiting_first(
    repo: Repository, branch: Branch, observations: Observed
) -> tuple[list[Row], int]:
    """Return up to `MOST` observations to consolidate on a branch, and the number left for later.

    An observation comes first if neither it nor another one of the same text was made a fact of
    the branch yet; newer ones come before older ones. So several consolidations get
    through all observations.
    """
    if not observations.newest.truncated:
        return observations.newest.rows, 0
    query = Query(equal=observations.equal)
    rows = newest_rows(repo, observations.branches, OBSERVATION, ("content_hash",), query).rows
    hash_by_edit = {source_edit_id(row): row["content_hash"] for row in rows}
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        consolidated_hashes = {
            hash_by_edit[edit_id] for edit_id in reading.get(EDIT, list(hash_by_edit))
        }
    waiting_ids = [str(row["id"]) for row in rows if row["content_hash"] not in consolidated_hashes]
    consolidated_ids = [
        str(row["id"]) for row in rows if row["content_hash"] in consolidated_hashes
    ]
    chosen_query = Query(
        equal=observations.equal, among={"id": [*consolidated_ids, *waiting_ids][-MOST:]}
    )
    waiting_rows = newest_rows(
        repo, observations.branches, OBSERVATION, _COLUMNS, chosen_query
    ).rows
    return waiting_rows, max(0, len(waiting_ids) - MOST)
