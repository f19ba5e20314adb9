"""Tools for snapshots, and for looking at a past state."""

from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    OnBranch,
    Read,
    Repeatable,
    Request,
    Response,
    Space,
    Text,
    When,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import Step
from day1.model.records.snapshot import Snapshot
from day1.model.values.instant import parse, show
from day1.services.access.calls import branch_of, made_already, repeatable, spaces_of
from day1.services.branches.snapshots import snapshot, snapshots
from day1.services.repository.idempotency import BY_REQUEST
from day1.services.search.request import SearchRequest
from day1.toolsets.day1.core.search import Hits, found, hits, in_brief
from day1.toolsets.shared.answers import Full, texts_of
from day1.toolsets.shared.fields import Limit

FULL: Final = Step("memory_time_travel", {"full": True})


class TakeSnapshot(Repeatable):
    """The arguments of `memory_snapshot` (S1-043).

    Attributes:
        label: A name to find it by. Where several have the same, it means the newest.
    """

    label: Label | None = None
    branch: OnBranch = None


class SnapshotTaken(Response):
    """A new snapshot (S1-043)."""

    snapshot_id: str
    created_at: str
    label: str | None
    written: Written


def take_snapshot(ctx: Context, request: TakeSnapshot) -> SnapshotTaken:
    """Mark a branch's present state so that it can be restored."""
    branch = branch_of(ctx, request.branch)
    is_repeated = made_already(ctx, request, Snapshot, "snap")
    new_snapshot = snapshot(repeatable(ctx, request), branch, request.label, ctx.clock())
    return SnapshotTaken(
        snapshot_id=new_snapshot.id,
        created_at=show(new_snapshot.created_at),
        label=new_snapshot.label,
        written=Written(
            branch=branch.name,
            commit=new_snapshot.commit,
            notes=[BY_REQUEST] if is_repeated else [],
        ),
    )


class SnapshotList(Request):
    """The arguments of `memory_snapshot_list` (S1-044).

    Attributes:
        branch: Only snapshots of this branch; default: of all.
    """

    branch: Annotated[Label | None, Field(description="default: all")] = None


class SnapshotItem(Response):
    """A snapshot in a list (S1-044)."""

    id: str
    label: str
    created_at: str
    branch: str
    commit: str


class Snapshots(Response):
    """Snapshots, oldest first (S1-044)."""

    result: list[SnapshotItem]
    read: Read


def snapshot_list(ctx: Context, request: SnapshotList) -> Snapshots:
    """Snapshots, oldest first."""
    filter_branch = None if request.branch is None else branch_of(ctx, request.branch)
    branch_name_by_id = {branch.id: branch.name for branch in ctx.repo.ledger.branches()}
    snapshot_items = [
        SnapshotItem(
            id=listed_snapshot.id,
            label=listed_snapshot.label or "",
            created_at=show(listed_snapshot.created_at),
            branch=branch_name_by_id.get(listed_snapshot.branch_id, ""),
            commit=listed_snapshot.commit,
        )
        for listed_snapshot in snapshots(ctx.repo, filter_branch)
    ]
    return Snapshots(result=snapshot_items, read=Read(branch=request.branch, commit=""))


class TimeTravel(Request):
    """The arguments of `memory_time_travel` (S1-045, S1-046).

    Attributes:
        timestamp: The moment (ISO 8601): what was known then is searched, whatever was written or
            merged later.
        query: What to look for, as a question or as words.
        limit: How many memories to answer at most.
        space: As in memory_search.
        full: As in memory_search.
    """

    timestamp: Annotated[When, Field(description="ISO")]
    query: Text
    branch: OnBranch = None
    limit: Limit | None = 10
    space: Space | None = None
    full: Full = False


def time_travel(ctx: Context, request: TimeTravel) -> Hits:
    """Search memory as it was known at a moment."""
    spaces = spaces_of(ctx, request.space)
    search_request = SearchRequest(query=request.query, limit=request.limit or 10, spaces=spaces)
    branch_name, search_answer = found(
        ctx, request.branch, parse(request.timestamp, end=True), search_request
    )
    return hits(
        branch_name,
        search_answer,
        texts_of(
            ctx,
            request.query,
            [hit.text for hit in search_answer.hits],
            full=request.full,
            again=FULL,
        ),
    )


OPERATIONS = (
    Operation("memory_snapshot", take_snapshot, Effect.WRITE),
    Operation("memory_snapshot_list", snapshot_list, Effect.READ),
    Operation("memory_time_travel", time_travel, Effect.READ, brief=in_brief),
)
