"""What an agent wrote on all branches, in the order of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from day1.model.rows.change import Query
from day1.model.rows.kind import Cell
from day1.services.repository.repository import Repository
from day1.services.search.timeline import Moment, timeline
from day1.services.teams.sessions import WrittenBranch


@dataclass(frozen=True, slots=True)
class AgentMoment:
    """What an agent wrote, and where."""

    moment: Moment
    branch: str


def agent_timeline(
    repo: Repository, found: Sequence[WrittenBranch], agent: Mapping[str, Cell], limit: int
) -> list[AgentMoment]:
    """The newest `limit` facts and observations of an agent over branches, the oldest first.

    `agent` is the columns that name the agent, and its space where only one is asked for.
    A row that several branches have is given once: on the agent's own branch, else on the first.
    """
    moments: dict[str, AgentMoment] = {}
    window = Query(equal=agent, limit=limit)
    own_first = sorted(found, key=lambda place: place.branch.agent_id != agent["agent_id"])
    for place in own_first:
        with repo.store.reading(repo.shown(place.ref)) as reading:
            for moment in timeline(reading, window):
                moments.setdefault(str(moment.row["id"]), AgentMoment(moment, place.branch.name))
    ordered = sorted(moments.items(), key=lambda item: (item[1].moment.at, item[0]))
    return [moment for _, moment in ordered[-limit:]]
