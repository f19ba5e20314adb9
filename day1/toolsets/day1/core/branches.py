"""Tools for branches: create, list, switch, show the tree, and note what a branch is for."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    Labels,
    Read,
    Repeatable,
    Request,
    Response,
    Text,
    When,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import Refused
from day1.model.access.tokens import Token
from day1.model.branches.branch import MAIN, MAX_TTL_DAYS, Branch, Status
from day1.model.branches.protection_change import ProtectionChange
from day1.model.values.instant import parse, show
from day1.model.values.tiers import shown_rule
from day1.services.access.calls import active_or_none, branch_of, made_already, repeatable
from day1.services.branches.forking import create
from day1.services.branches.forking_past import PastFork, create_past
from day1.services.branches.notes import mark
from day1.services.branches.tree import Node, states, topology
from day1.services.merges.protection import changes_of
from day1.services.repository.idempotency import BY_REQUEST
from day1.toolsets.shared.answers import state_of

_CHANGES: Final = 20
"""Maximum number of changes of a branch's protection that the tree shows: the newest."""


class BranchCreate(Repeatable):
    """The arguments of `memory_branch_create` (S1-028).

    Attributes:
        branch_name: The new branch's name: at most 100 ASCII letters, digits and . _ - in parts
            divided by /, such as task/login.
        parent_branch: The branch to fork, as it is now; pending rows come along.
        at: Fork it as it was at this time (ISO 8601; a bare date means its last instant).
        description: What the branch is for; lists of branches show it.
    """

    branch_name: Label
    parent_branch: Label | None = MAIN
    at: Annotated[When | None, Field(description="ISO; as it was then")] = None
    description: Text | None = None


class BranchCreated(Response):
    """A new branch, and where it was forked (S1-029)."""

    branch_name: str
    created_at: str
    parent: str
    written: Written


def branch_create(ctx: Context, request: BranchCreate) -> BranchCreated:
    """Fork an isolated branch (zero-copy); writes stay on it until merged."""
    repo = repeatable(ctx, request)
    is_repeated = made_already(ctx, request, Branch, "branch")
    parent_branch = branch_of(ctx, request.parent_branch or MAIN)
    if request.at is None:
        new_branch = create(
            repo, request.branch_name, parent_branch, ctx.clock(), request.description
        )
    else:
        fork_instant = parse(request.at, end=True)
        past_fork = PastFork(request.branch_name, parent_branch, fork_instant, request.description)
        new_branch = create_past(repo, past_fork, ctx.clock())
    return BranchCreated(
        branch_name=new_branch.name,
        created_at=show(new_branch.created_at),
        parent=parent_branch.name,
        written=Written(
            branch=new_branch.name,
            commit=str(new_branch.fork_commit),
            notes=[BY_REQUEST] if is_repeated else [],
        ),
    )


class BranchList(Request):
    """The arguments of `memory_branch_list` (S1-032).

    Attributes:
        status: Only branches of this status; default: all. `merged` is a branch that was not
            written to since all of it was merged.
    """

    status: Status | None = None


class BranchItem(Response):
    """A branch in a list; the `parent` of main is empty (S1-033)."""

    branch_name: str
    parent: str
    status: str
    description: str
    created_at: str
    commit: str
    closed: bool = False
    active: bool = False
    """Whether the caller's HEAD is on it."""


class Branches(Response):
    """The branches of a store, oldest first (S1-033)."""

    result: list[BranchItem]
    read: Read


def branch_list(ctx: Context, request: BranchList) -> Branches:
    """All branches, oldest first."""
    active_branch = active_or_none(ctx)
    branch_items = [
        BranchItem(
            branch_name=branch_state.branch.name,
            parent=branch_state.parent or "",
            status=branch_state.status,
            description=branch_state.branch.description or "",
            created_at=show(branch_state.branch.created_at),
            commit=branch_state.tip,
            closed=branch_state.branch.closed,
            active=branch_state.branch.name == active_branch,
        )
        for branch_state in states(ctx.repo)
        if request.status in {None, branch_state.status}
    ]
    return Branches(result=branch_items, read=state_of(ctx, active_branch))


class BranchSwitch(Repeatable):
    """The arguments of `memory_branch_switch` (S1-034).

    Attributes:
        branch_name: The branch that this client's later calls use if they name none.
    """

    branch_name: Label


class BranchSwitched(Response):
    """The branch that later calls are on (S1-034)."""

    active_branch: str
    read: Read


def branch_switch(ctx: Context, request: BranchSwitch) -> BranchSwitched:
    """Make a branch the default of your later calls."""
    head = ctx.caller.head
    if head is None:
        raise Refused(
            "This client sends neither an id nor a token, so it has no HEAD: pass `branch` in each "
            "call."
        )
    head.move(branch_of(ctx, request.branch_name).name)
    return BranchSwitched(
        active_branch=request.branch_name, read=state_of(ctx, request.branch_name)
    )


class Topology(Request):
    """The arguments of `memory_branch_topology` (S1-071).

    Attributes:
        root_branch: The branch whose tree is shown.
        max_depth: How many levels of children to show; 0 shows the root alone.
        include_archived: Whether archived branches are shown too. Otherwise their children hang on
            main.
    """

    root_branch: Label | None = MAIN
    max_depth: Annotated[int, Field(ge=0, le=100)] | None = 10
    include_archived: bool | None = False


class TreeNode(Response):
    """A branch in the tree, with its state and notes (S1-071)."""

    branch_name: str
    children: list[TreeNode]
    status: str
    metadata: dict[str, Any]


class Tree(TreeNode):
    """The root of the tree, with the branches below it (S1-071)."""

    read: Read


def branch_topology(ctx: Context, request: Topology) -> Tree:
    """The tree of branches below a root, with status and notes."""
    max_depth = 10 if request.max_depth is None else request.max_depth
    root_node = topology(
        ctx.repo,
        branch_of(ctx, request.root_branch or MAIN),
        max_depth=max_depth,
        include_archived=bool(request.include_archived),
    )
    shown_root, root_branch = _node(root_node), root_node.state.branch
    protection_changes = [
        _protection_change(ctx, change) for change in changes_of(ctx.repo, root_branch)[:_CHANGES]
    ]
    if protection_changes:
        shown_root.metadata["protected"] = protection_changes
    return Tree(**dict(shown_root), read=state_of(ctx, root_branch.name))


def _protection_change(ctx: Context, change: ProtectionChange) -> dict[str, Any]:
    """Show a change of a branch's protection: when, by whom, before and after."""
    may_see_tokens = "admin" in ctx.caller.access.scopes  # only admins may list tokens
    token = ctx.repo.ledger.record(Token, change.token_id or "") if may_see_tokens else None
    return {
        "at": show(change.created_at),
        "by": change.agent_id,
        "token": None if token is None else token.name,
        "source": change.source,
        "before": {
            "protection": list(change.required),
            "tiers": [*map(shown_rule, change.tiers_before)],
        },
        "after": {"protection": list(change.requires), "tiers": [*map(shown_rule, change.tiers)]},
    }


def _node(node: Node) -> TreeNode:
    return TreeNode(
        branch_name=node.state.branch.name,
        children=[_node(child) for child in node.children],
        status=node.state.status,
        metadata=node.state.branch.metadata(),
    )


class Enrich(Repeatable):
    """The arguments of `memory_branch_enrich` (S1-072).

    Attributes:
        branch_name: The branch to describe.
        purpose: What the branch is for; default: what it says already, as with the other notes.
        owner: The agent or team that answers for it.
        ttl_days: How many days after its beginning `day1 gc` may offer to retire it; nothing is
            retired by itself.
        tags: Labels; they replace those that it has.
    """

    branch_name: Label
    purpose: Text | None = None
    owner: Annotated[Label | None, Field(description="agent or team")] = None
    ttl_days: Annotated[int, Field(ge=1, le=MAX_TTL_DAYS)] | None = None
    tags: Labels | None = None


class Enriched(Response):
    """The notes on a branch (S1-072)."""

    branch_name: str
    metadata: dict[str, Any]
    read: Read


def branch_enrich(ctx: Context, request: Enrich) -> Enriched:
    """Note a branch's purpose, owner, lifetime, tags; what you leave out is kept."""
    branch = mark(
        ctx.repo,
        branch_of(ctx, request.branch_name),
        purpose=request.purpose,
        owner=request.owner,
        ttl_days=request.ttl_days,
        tags=None if request.tags is None else tuple(request.tags),
    )
    return Enriched(
        branch_name=branch.name, metadata=branch.metadata(), read=state_of(ctx, branch.name)
    )


CREATE = Operation("memory_branch_create", branch_create, Effect.WRITE)
LIST = Operation("memory_branch_list", branch_list, Effect.READ)
SWITCH = Operation("memory_branch_switch", branch_switch, Effect.WRITE, idempotent=True)
TOPOLOGY = Operation("memory_branch_topology", branch_topology, Effect.READ)
ENRICH = Operation("memory_branch_enrich", branch_enrich, Effect.WRITE, idempotent=True)
