"""Look around: a state by its name, rows of a kind by pages, and how branches forked and merged."""

from dataclasses import dataclass

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import MAIN
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Cell, Kind, Row
from day1.model.values.instant import parse
from day1.ports.reading import Reading
from day1.services.branches.resolving import state
from day1.services.branches.tree import BranchState, states
from day1.services.conversations.conversing import order_of
from day1.services.repository.repository import Repository


def ref_at(repo: Repository, branch: str, at: str | None) -> Ref:
    """A branch as it is, as it was at an ISO time, or a snapshot or commit by its name.

    Raises:
        NotFound: `at` is no time, and no snapshot or commit has the name.
    """
    if at is None:
        return Ref(branch=branch)
    try:
        return Ref(branch=branch, until=parse(at, end=True))
    except InvalidRequest:
        return Ref(commit=state(repo, at).commit)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a kind, and how many there are in all."""

    rows: list[Row]
    total: int


def newest(reading: Reading, kind: Kind, offset: int, limit: int, *, active: bool) -> Page:
    """Rows of a kind, the newest first; with `active`, only facts that search would find."""
    equal: dict[str, Cell] = {"status": "active"} if active and kind is FACT else {}
    without = {"verification": ["invalidated"]} if equal else {}
    query = Query(equal=equal, without=without, descending=True, limit=offset + limit)
    total = reading.count(kind, equal)
    if without:
        total -= reading.count(kind, {**equal, "verification": "invalidated"})
    return Page(reading.find(kind, query)[offset:], total)


def said(repo: Repository, reading: Reading, conversation: str, offset: int, limit: int) -> Page:
    """Messages of a conversation in their sequence.

    Raises:
        NotFound: the conversation is not in this state.
    """
    if not reading.get(CONVERSATION, [conversation]):
        raise NotFound(f"{conversation!r} is no conversation of this state.", id=conversation)
    order = order_of(repo, reading, conversation)
    rows = reading.get(MESSAGE, order[offset : offset + limit])
    return Page([rows[i] for i in order if i in rows], len(order))


@dataclass(frozen=True, slots=True)
class Joined:
    """A merge with the names of its branches; of one that is gone it is empty."""

    record: MergeRecord
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Branches, oldest first, when each was last written to, and the merges between them."""

    branches: list[tuple[BranchState, int]]
    merges: list[Joined]
    left_out: int
    """Branches that were written to longer ago."""


def picture(repo: Repository, limit: int) -> Picture:
    """`main` and the branches that were last written to, with their newest merges."""
    every = [(s, next(repo.history.log(s.tip)).ts) for s in states(repo)]
    lasting = sorted(every, key=lambda pair: (pair[0].branch.name == MAIN, pair[1]))[-limit:]
    shown = {s.branch.id: s.branch.name for s, _ in lasting}
    merges = [
        Joined(record, shown.get(record.source_id, ""), shown[record.target_id])
        for record in repo.ledger.records(MergeRecord)
        if record.commit is not None and record.target_id in shown
    ]
    return Picture(
        [pair for pair in every if pair[0].branch.id in shown],
        merges[-limit:],
        len(every) - len(shown),
    )
