"""The operation that tells a program which instant names the present state of a branch."""

from __future__ import annotations

from typing import Any

from day1.call.context import Context
from day1.call.fields import OnBranch, Read, Request, Response
from day1.call.operation import Effect, Operation
from day1.model.rows.change import Ref
from day1.model.values.instant import show
from day1.services.access.calls import branch_of
from day1.toolsets.shared.answers import read_of


class MomentRequest(Request):
    """The arguments of `branch_moment`."""

    branch: OnBranch = None


class Moment(Response):
    """The clock of the store, and the time of the newest write of a branch.

    Attributes:
        now: The time of the store's clock.
        newest: The time of the newest row or commit of the branch; every later write gets a later
            time. It is later than `now` if a wrong clock wrote to the branch.
    """

    now: str
    newest: str
    read: Read


def branch_moment(ctx: Context, request: MomentRequest) -> Moment:
    """Read the store's clock and the time of the newest write of a branch."""
    branch = branch_of(ctx, request.branch)
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        newest_write_time = max(
            reading.pending.newest or 0, ctx.repo.history.commit(reading.tip).ts
        )
        read_state = read_of(reading, branch.name)
    return Moment(now=show(ctx.clock()), newest=show(newest_write_time), read=read_state)


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("branch_moment", branch_moment, Effect.READ),
)
