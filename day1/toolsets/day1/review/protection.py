"""Protected branches: what a merge into one must fulfil."""

from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Read, Repeatable, Response
from day1.call.operation import Effect, Operation
from day1.services.access.calls import agent_of, branch_of
from day1.services.merges.protection import Protector, protect
from day1.toolsets.shared.answers import state_of


class BranchProtect(Repeatable):
    """The arguments of `memory_branch_protect`.

    Attributes:
        branch_name: The branch to protect.
        requires: What a merge into it must fulfil: `review`, it is made from a review whose
            conflicts are all decided; `gate`, it brings verified facts only; `other`, another
            token merges than the authors'; `tiers`, it has the approvals that the rules of `tiers`
            ask for. An empty list lifts the protection.
        tiers: The rules: a tier (`none`, `one`, `two`), then conditions, such as
            `two category=policy agent=bot-* confidence<0.5`. The strictest rule about a change
            counts; a change without a rule needs one approval. Default: as they are.
    """

    branch_name: Label
    requires: list[Literal["review", "gate", "other", "tiers"]]
    tiers: Annotated[Labels | None, Field(description="rules, such as `none kind=observation`")] = (
        None
    )


class Protected(Response):
    """What merges must fulfil now; if empty, it takes writes."""

    branch_name: str
    requires: list[str]
    tiers: list[str]
    """The rules in force."""
    read: Read


def branch_protect(ctx: Context, request: BranchProtect) -> Protected:
    """Let a branch take merges only: reviewed, verified, approved by others; [] lifts it."""
    branch = branch_of(ctx, request.branch_name)
    caller = ctx.caller
    protector = Protector(agent_of(ctx.caller), caller.access.token_id, caller.source)
    protected_branch = protect(ctx.repo, branch, request.requires, request.tiers, protector)
    return Protected(
        branch_name=protected_branch.name,
        requires=list(protected_branch.protection),
        tiers=list(protected_branch.rules),
        read=state_of(ctx, protected_branch.name),
    )


OPERATIONS = (
    Operation(
        "memory_branch_protect",
        branch_protect,
        Effect.WRITE,
        idempotent=True,
        scope="admin",
        asks=True,
    ),
)
