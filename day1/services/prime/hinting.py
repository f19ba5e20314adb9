"""A hint at what memory has near a prompt, which nobody asked for: little, or nothing.

Who is told something that is not asked for pays for it and may be led astray. So a fact is told
only if its score, which means the same from query to query, is above a threshold: it was taken from
the written memories and 200 prompts that have nothing to do with them (`tests/relevance`).
"""

from dataclasses import dataclass, replace
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.prime.wording import hint_text
from day1.model.rows.change import CommitId, Ref
from day1.model.rows.kind import when
from day1.model.search.ranking import Mode
from day1.services.search.request import Hit, SearchAnswer, SearchPorts, SearchRequest
from day1.services.search.searching import search

ROWS: Final = 3
CHARACTERS: Final = 600
THRESHOLDS: Final[dict[Mode, float]] = {"hybrid": 0.39, "vector": 0.39, "keyword": 0.45}
"""Silent for 95 of 100 unrelated prompts, on average of the written branches."""
_ASKED: Final = 1_000
"""Characters of a prompt that are looked at: what comes later is mostly pasted."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What is told, and the state that it was read from."""

    text: str
    """Empty where nothing is near."""
    ids: tuple[str, ...]
    commit: CommitId
    pending: int
    mode: Mode


def hint_of(ports: SearchPorts, branch: Branch, space: str | None, prompt: str) -> Hint:
    """The facts near a prompt, of those that all share and of one space; each is noted as shown.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    asked = SearchRequest(query=prompt[:_ASKED], limit=ROWS)
    answers = [_found(ports, branch, replace(asked, equal={"space": None}))]
    if space is not None:
        answers.append(_found(ports, branch, replace(asked, equal={"space": space})))
    last = answers[-1]
    near = sorted(
        (hit for one in answers for hit in one.hits if hit.score >= THRESHOLDS[one.mode_used]),
        key=lambda hit: -hit.score,
    )[:ROWS]
    ids = tuple(str(hit.row["id"]) for hit in near)
    ports.uses.shown(ids, ports.clock())
    rows = [(_text(hit), when(hit.row)) for hit in near]
    text = hint_text(branch.name, last.commit, rows, CHARACTERS)
    return Hint(text, ids, last.commit, last.pending.count, last.mode_used)


def _found(ports: SearchPorts, branch: Branch, asked: SearchRequest) -> SearchAnswer:
    return search(ports, Ref(branch=branch.name), branch.id, asked)


def _text(hit: Hit) -> str:
    return hit.passage or str(hit.row[hit.kind.text or ""])
