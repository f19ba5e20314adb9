"""Tools that read without a query: rows, lists, the log, and the tree of branches."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Read, Request, Response, Space, Time
from day1.call.operation import Effect, Operation
from day1.errors import Advice, InvalidRequest, NotFound
from day1.model.rows.change import Commit, Query
from day1.model.rows.kind import BY_NAME, MEMORIES, MESSAGE, kind_of
from day1.model.values.instant import show
from day1.model.values.space import EVERY
from day1.ports.reading import Reading
from day1.services.access.calls import active_or_none, branch_of, in_space
from day1.services.branches.resolving import shown_at
from day1.services.branches.tree import BranchState, NamedMerge, branch_graph
from day1.services.history.pages import message_page, newest_page
from day1.services.rows.spaces import empty_space
from day1.services.rows.whole_texts import parts_around
from day1.toolsets.shared.answers import PartOfText, PartShown, note_shown, state_of
from day1.toolsets.shared.shown import shown

At = Annotated[Label | None, Field(description="ISO time, snapshot or commit")]
Type = Literal["fact", "observation", "relation", "conversation", "message"]


def _read(reading: Reading, branch: str) -> Read:
    return Read(branch=branch, commit=reading.tip, pending=reading.pending.count)


class Get(Request):
    """The arguments of `memory_get`.

    Attributes:
        id: The memory, by its id.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
        space: Only if it is in this space, as in memory_search. In its own space, or `shared` if it
            has none, a secret memory is shown with its words; else they read `[secret]`.
    """

    id: Label
    branch: OnBranch = None
    at: At = None
    space: Space | None = None


class Got(Response):
    """A row."""

    row: dict[str, Any]
    part: PartOfText = None
    """If the row is a part of a longer text: its place, and the parts beside it."""
    read: Read


def memory_get(ctx: Context, request: Get) -> Got:
    """One memory by id, as it is or was."""
    branch, row_kind = branch_of(ctx, request.branch), kind_of(request.id)
    ref, space_filter = shown_at(ctx.repo, branch, request.at), in_space(ctx, request.space)
    is_space_named = request.space not in {None, EVERY}  # naming a secret's space shows its words
    with ctx.repo.store.reading(replace(ref, shown_at=None) if is_space_named else ref) as reading:
        row_query = Query(equal={"id": request.id, **space_filter}, alive_at=ref.shown_at)
        row = None
        if row_kind in MEMORIES and space_filter.keys() <= row_kind.column.keys():
            row = next(iter(reading.find(row_kind, row_query)), None)
        if row_kind is None or row is None:
            raise NotFound(
                f"{request.id!r} is not on branch {branch.name!r}, or not in this call's space, "
                "or was not there at that time.",
                Advice("{memory_history} tells what became of it."),
                id=request.id,
                branch=branch.name,
            )
        parts_query = Query(
            equal=dict(space_filter), alive_at=ref.shown_at, public=not is_space_named
        )
        part_place = parts_around(reading, row_kind, row, parts_query)
        answer = Got(
            row=shown(row_kind, row, whole=is_space_named),
            part=None if part_place is None else PartShown(**asdict(part_place)),
            read=_read(reading, branch.name),
        )
    note_shown(ctx, [request.id], branch.id)
    return answer


class ListRows(Request):
    """The arguments of `memory_list`.

    Attributes:
        type: The type of the memories.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
        offset: How many memories to leave out first: with `limit` the next page.
        limit: How many memories to answer at most.
        active_only: Whether superseded, archived and invalidated facts are left out, and those
            that are not true now.
        conversation_id: Only messages of this conversation, in their sequence; only with
            type=message.
        space: Only memories of this space, as in memory_search; messages have none of their own.
    """

    type: Type
    branch: OnBranch = None
    at: At = None
    offset: Annotated[int, Field(ge=0, le=100_000)] | None = 0
    limit: Annotated[int, Field(ge=1, le=200)] | None = 50
    active_only: Annotated[bool | None, Field(description="facts that search finds")] = False
    conversation_id: Annotated[
        Label | None, Field(description="its messages, in their sequence")
    ] = None
    space: Space | None = None


class Rows(Response):
    """A page of rows."""

    rows: list[dict[str, Any]]
    total: int
    read: Read


def memory_list(ctx: Context, request: ListRows) -> Rows:
    """Memories of one type, newest first, page by page."""
    branch, row_kind = branch_of(ctx, request.branch), BY_NAME[request.type]
    conversation_id, offset, limit = (
        request.conversation_id,
        request.offset or 0,
        request.limit or 50,
    )
    if conversation_id is not None and row_kind is not MESSAGE:
        raise InvalidRequest("`conversation_id` can be given with type=message only.")
    space_filter = in_space(ctx, request.space) if "space" in row_kind.column else {}
    read_ref = shown_at(ctx.repo, branch, request.at)
    with ctx.repo.store.reading(read_ref) as reading:
        if conversation_id is not None:
            row_page = message_page(ctx.repo, reading, conversation_id, offset, limit)
        else:
            active_at = read_ref.shown_at if request.active_only else None
            row_page = newest_page(
                reading, row_kind, (offset, limit), space_filter, active_at=active_at
            )
        rows = [shown(row_kind, row) for row in row_page.rows]
        read_state = _read(reading, branch.name)
        read_state.notes.extend(empty_space(reading, space_filter, rows))
        return Rows(rows=rows, total=row_page.total, read=read_state)


class LogRequest(Request):
    """The arguments of `memory_log`.

    Attributes:
        limit: How many commits to answer at most.
        before: A commit: only those older than it, which is the next page. Default: from the
            newest.
    """

    branch: OnBranch = None
    limit: Annotated[int, Field(ge=1, le=200)] | None = 20
    before: Annotated[Label | None, Field(description="commit: go on with those older than it")] = (
        None
    )


class CommitShown(Response):
    """A commit of the branch's own past; a merge counts as one."""

    commit: str
    parents: list[str]
    op: str
    line: str
    agents: list[str]
    at: str
    counts: dict[str, int]
    """Rows by table, if the commit notes them."""
    merge_id: str | None
    source: str | None
    """The branch merged or picked from, by its name at that time."""


class Log(Response):
    """Commits, newest first."""

    result: list[CommitShown]
    read: Read


def memory_log(ctx: Context, request: LogRequest) -> Log:
    """Commits of a branch, newest first: what was done, by whom."""
    branch_name = branch_of(ctx, request.branch).name
    start_ref, skip_count = (branch_name, 0) if request.before is None else (request.before, 1)
    commits = list(
        islice(ctx.repo.history.log(start_ref), skip_count, skip_count + (request.limit or 20))
    )
    return Log(
        # The engine made a commit of its own before day1's first one.
        result=[_commit(commit) for commit in commits if commit.parents or commit.op != "foreign"],
        read=state_of(ctx, branch_name),
    )


def _commit(commit: Commit) -> CommitShown:
    metadata = commit.meta
    agents: Any = metadata.get("agents") or ()
    count_by_table, merge_id = (
        metadata.get("counts"),
        metadata.get("id") if "source_id" in metadata else None,
    )
    source_name = metadata.get("source")
    return CommitShown(
        commit=commit.id,
        parents=list(commit.parents),
        op=commit.op,
        line=commit.line,
        agents=list(agents),
        at=show(commit.ts),
        counts={table: int(str(row_count)) for table, row_count in count_by_table.items()}
        if isinstance(count_by_table, Mapping)
        else {},
        merge_id=None if merge_id is None else str(merge_id),
        source=None if source_name is None else str(source_name),
    )


class GraphRequest(Request):
    """The arguments of `memory_graph`.

    Attributes:
        limit: How many branches to answer at most, those last written to, and how many merges.
    """

    limit: Annotated[int, Field(ge=1, le=200)] | None = 50


class BranchNode(Response):
    """A branch: its fork and its last commit."""

    branch: str
    status: str
    closed: bool
    protection: list[str]
    tiers: list[str]
    description: str | None
    parent: str | None
    fork_commit: str | None
    forked_at: Time
    commit: str
    moved_at: Time


class MergeEdge(Response):
    """A merge; the name of a deleted or hidden branch is empty."""

    merge_id: str
    strategy: str
    source: str
    source_commit: str
    target: str
    commit: str
    at: Time
    merged_count: int
    rejected_count: int


class BranchGraph(Response):
    """Branches, oldest first, and merges, oldest first."""

    branches: list[BranchNode]
    merges: list[MergeEdge]
    left_out: int
    read: Read


def memory_graph(ctx: Context, request: GraphRequest) -> BranchGraph:
    """How branches forked and merged, with the times: for a picture."""
    graph = branch_graph(ctx.repo, request.limit or 50)
    return BranchGraph(
        branches=[_node(branch_state, moved_at) for branch_state, moved_at in graph.branches],
        merges=[_edge(merge) for merge in graph.merges],
        left_out=graph.left_out,
        read=state_of(ctx, active_or_none(ctx)),
    )


def _node(state: BranchState, moved: int) -> BranchNode:
    branch = state.branch
    return BranchNode.from_record(
        branch,
        branch=branch.name,
        status=state.status,
        tiers=branch.rules,
        parent=state.parent,
        forked_at=branch.created_at,
        commit=state.tip,
        moved_at=moved,
    )


def _edge(merge: NamedMerge) -> MergeEdge:
    merge_record = merge.record
    return MergeEdge.from_record(
        merge_record,
        merge_id=merge_record.id,
        source=merge.source,
        target=merge.target,
        commit=str(merge_record.commit),
        at=merge_record.created_at,
    )


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("memory_get", memory_get, Effect.READ),
    Operation("memory_list", memory_list, Effect.READ),
    Operation("memory_log", memory_log, Effect.READ),
    Operation("memory_graph", memory_graph, Effect.READ),
)
