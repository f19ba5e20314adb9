"""What a team wrote: the rows of a task, a session or an agent on all the branches they are on."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, MESSAGE, OBSERVATION, Cell, Kind, Row
from day1.ports.index import IndexBehind, IndexLost
from day1.services.repository.repository import Repository
from day1.services.search.following import catch_up
from day1.services.search.searching import Found, Hit, SearchPorts, SearchRequest, search
from day1.services.search.timeline import Moment, timeline
from day1.services.teams.sessions import Place, places, ref_of
from day1.services.teams.tasks import task_branches, task_state

_COUNTED = (FACT, OBSERVATION, MESSAGE)
"""The kinds that have an index by task."""


def task_places(repo: Repository, task_id: str) -> list[Place]:
    """The branches of a task, its own first, and others on which rows for it were written.

    Raises:
        NotFound: there is no such task.
    """
    branches = task_branches(repo, task_state(repo, task_id))
    own = [Place(branch, ref_of(branch)) for branch in branches.values()]
    others = places(repo, task_id=task_id)
    return own + [place for place in others if place.branch.id not in branches]


@dataclass(frozen=True, slots=True)
class Newest:
    """Rows that were learned last, the oldest first."""

    rows: list[Row]
    branch_of: Mapping[str, str]
    """Row -> name of a branch that has it."""
    cut: bool
    """Whether there are more."""


def newest_rows(
    repo: Repository,
    found: Sequence[Place],
    kind: Kind,
    columns: Sequence[str],
    wanted: Query,
) -> Newest:
    """Some columns (`id` and `created_at` too) of the newest rows, each once wherever it is."""
    names = ("id", "created_at", *columns)
    limit = wanted.limit
    query = replace(wanted, descending=True, limit=None if limit is None else limit + 1)
    rows: dict[str, Row] = {}
    branch_of: dict[str, str] = {}
    for place in found:
        with repo.store.reading(place.ref) as reading:
            for cells in reading.scan(kind, names, query):
                row: Row = dict(zip(names, cells, strict=True))
                rows.setdefault(str(row["id"]), row)
                branch_of.setdefault(str(row["id"]), place.branch.name)
    ordered = sorted(rows.values(), key=lambda row: (row["created_at"] or 0, row["id"]))
    most = len(ordered) if limit is None else limit
    return Newest(ordered[-most:], branch_of, len(ordered) > most)


def count_rows(
    repo: Repository, found: Sequence[Place], equal: Mapping[str, Cell]
) -> dict[str, int]:
    """How many facts, observations and messages there are, each counted once wherever it is."""
    ids: dict[str, set[Cell]] = {kind.table: set() for kind in _COUNTED}
    for place in found:
        with repo.store.reading(place.ref) as reading:
            for kind in _COUNTED:
                rows = reading.scan(kind, ("id",), Query(equal=equal))
                ids[kind.table].update(row_id for (row_id,) in rows)
    return {table: len(rows) for table, rows in ids.items()}


@dataclass(frozen=True, slots=True)
class TeamHit:
    """A found row and where it was found."""

    hit: Hit
    place: Place


@dataclass(frozen=True, slots=True)
class TeamFound:
    """What a search over a task's branches found, best first."""

    hits: list[TeamHit]
    asked: list[tuple[Place, Found]]
    """What each branch answered, the task's own first."""


def search_task(
    repo: Repository, ports: SearchPorts, task_id: str, request: SearchRequest
) -> TeamFound:
    """Search what a task brought, on all of its branches; `request.equal` may name an author.

    A row that several branches have is given once: as it is on its author's own branch, else on
    the task's.

    Raises:
        NotFound: there is no such task.
    """
    request = replace(request, equal={**request.equal, "task_id": task_id})
    found = task_places(repo, task_id)
    for place in found:  # all before any is asked: how rare a word is depends on all texts
        _follow(ports, place)
    asked = [(place, search(ports, place.ref, place.branch.id, request)) for place in found]
    best: dict[str, TeamHit] = {}
    for place, answer in asked:
        for hit in answer.hits:
            row_id, mine = str(hit.row["id"]), _wrote(place, hit.row)
            if row_id not in best or (mine and not _wrote(best[row_id].place, hit.row)):
                best[row_id] = TeamHit(hit, place)
    hits = sorted(best.values(), key=_best_first)
    return TeamFound(hits[: request.limit], asked)


def _follow(ports: SearchPorts, place: Place) -> None:
    branch_id = place.branch.id if place.ref.branch is not None else None
    with suppress(IndexBehind, IndexLost), ports.store.reading(place.ref) as reading:
        catch_up(reading, ports.history, ports.index, branch_id, ports.words_wait_s)


def _wrote(place: Place, row: Row) -> bool:
    """Whether a branch is that of the row's author."""
    return row["agent_id"] is not None and place.branch.agent_id == row["agent_id"]


def _best_first(found: TeamHit) -> tuple[float, int, str]:
    """As in any search: the best, then the newest."""
    return -found.hit.score, -int(found.hit.row["created_at"] or 0), str(found.hit.row["id"])


@dataclass(frozen=True, slots=True)
class Deed:
    """What an agent wrote, and where."""

    moment: Moment
    branch: str


def agent_timeline(
    repo: Repository, found: Sequence[Place], agent_id: str, limit: int
) -> list[Deed]:
    """The newest `limit` facts and observations of an agent over branches, the oldest first.

    A row that several branches have is given once: on the agent's own branch, else on the first.
    """
    deeds: dict[str, Deed] = {}
    own_first = sorted(found, key=lambda place: place.branch.agent_id != agent_id)
    for place in own_first:
        with repo.store.reading(place.ref) as reading:
            for moment in timeline(reading, agent_id=agent_id, limit=limit):
                deeds.setdefault(str(moment.row["id"]), Deed(moment, place.branch.name))
    ordered = sorted(deeds.items(), key=lambda item: (item[1].moment.at, item[0]))
    return [deed for _, deed in ordered[-limit:]]
