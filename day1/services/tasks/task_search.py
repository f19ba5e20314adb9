"""Search on all branches of a task."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from day1.model.rows.kind import Row
from day1.model.search.passages import once_each, text_key
from day1.ports.index import IndexBehind, IndexLost
from day1.services.repository.repository import Repository
from day1.services.search.candidates import shown_rows
from day1.services.search.indexing import catch_up
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import ReadHits, search
from day1.services.tasks.sessions import WrittenBranch
from day1.services.tasks.task_rows import task_branches_written
from day1.services.tasks.tasks import task_state


@dataclass(frozen=True, slots=True)
class TeamHit:
    """A search hit and the branch that has it."""

    hit: Hit
    place: WrittenBranch


@dataclass(frozen=True, slots=True)
class TeamFound:
    """The hits of a search over a task's branches, best first."""

    hits: list[TeamHit]
    asked: list[tuple[WrittenBranch, SearchAnswer]]
    """Each branch and its answer, the task's own branch first."""


def search_task(
    repo: Repository, engine: SearchEngine, task_id: str, request: SearchRequest
) -> TeamFound:
    """Search the rows written for a task on all of its branches.

    `request.equal` may name an author. A row on several branches is returned once: from its
    author's branch, else from the task's.

    Raises:
        NotFound: there is no such task.
    """
    branches_written = task_branches_written(repo, task_state(repo, task_id))
    return search_branches(engine, branches_written, task_id, request)


def search_branches(
    engine: SearchEngine,
    branches_written: Sequence[WrittenBranch],
    task_id: str,
    request: SearchRequest,
    read_hits: Callable[[WrittenBranch], ReadHits] = lambda _: shown_rows,
) -> TeamFound:
    """Search the rows written for a task on branches, of which the first is the task's own.

    `request` and the result are as those of `search_task`; `read_hits` returns how the rows of a
    branch's hits are read.
    """
    request = replace(request, equal={**request.equal, "task_id": task_id})
    for (
        written_branch
    ) in branches_written:  # all before the search: word scores depend on all texts
        _index_new_texts(engine, written_branch)
    branch_answers = [
        (
            written_branch,
            search(
                engine,
                written_branch.ref,
                written_branch.branch.id,
                request,
                read_hits(written_branch),
            ),
        )
        for written_branch in branches_written
    ]
    best_hit_by_row: dict[str, TeamHit] = {}
    for written_branch, answer in branch_answers:
        for hit in answer.hits:
            row_id, is_by_author = str(hit.row["id"]), _wrote(written_branch, hit.row)
            if row_id not in best_hit_by_row or (
                is_by_author and not _wrote(best_hit_by_row[row_id].place, hit.row)
            ):
                best_hit_by_row[row_id] = TeamHit(hit, written_branch)
    hits = once_each(
        sorted(best_hit_by_row.values(), key=_best_first),
        lambda team_hit: text_key(team_hit.hit.row),
    )
    return TeamFound(hits[: request.limit], branch_answers)


def _index_new_texts(engine: SearchEngine, place: WrittenBranch) -> None:
    """Bring the index up to date with a branch of the task; ignore an index that cannot follow."""
    branch_id = place.branch.id if place.ref.branch is not None else None
    with suppress(IndexBehind, IndexLost), engine.store.reading(place.ref) as reading:
        catch_up(reading, engine.history, engine.index, branch_id, engine.words_wait_s)


def _wrote(place: WrittenBranch, row: Row) -> bool:
    """Whether the branch belongs to the row's author."""
    return row["agent_id"] is not None and place.branch.agent_id == row["agent_id"]


def _best_first(team_hit: TeamHit) -> tuple[float, int, str]:
    """Return the sort key of a hit: highest score first, then newest."""
    return (
        -team_hit.hit.score,
        -int(team_hit.hit.row["created_at"] or 0),
        str(team_hit.hit.row["id"]),
    )
