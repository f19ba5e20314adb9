"""Protected branches: what a merge into one must fulfil."""

from typing import Literal

from day1.call.context import Context
from day1.call.fields import Label, Read, Repeatable, Response
from day1.call.operation import Effect, Operation
from day1.services.merges.protection import protect
from day1.toolsets.shared.state import state_of


class BranchProtect(Repeatable):
    """A branch and what merges into it must fulfil; it takes no other writes then.

    Attributes:
        branch_name: The branch to protect.
        requires: What a merge into it must fulfil: `review`, it is made from a review whose
            conflicts are all decided; `gate`, it brings verified facts only; `other`, another
            token merges than the authors'. An empty list lifts the protection.
    """

    branch_name: Label
    requires: list[Literal["review", "gate", "other"]]


class Protected(Response):
    """What a branch requires now; empty: it takes writes."""

    branch_name: str
    requires: list[str]
    read: Read


def branch_protect(ctx: Context, request: BranchProtect) -> Protected:
    """Let a branch take merges only: reviewed, verified, not by the author; [] lifts it."""
    branch = protect(ctx.repo, ctx.find(request.branch_name), request.requires)
    return Protected(
        branch_name=branch.name, requires=list(branch.protection), read=state_of(ctx, branch.name)
    )


OPERATIONS = (
    Operation(
        "memory_branch_protect",
        BranchProtect,
        Protected,
        branch_protect,
        Effect.WRITE,
        idempotent=True,
        scope="admin",
        asks=True,
    ),
)
