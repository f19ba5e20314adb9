"""The state that an answer was read from."""

from day1.call.context import Context
from day1.call.fields import Read
from day1.model.rows.change import Ref
from day1.ports.reading import Reading


def read_of(reading: Reading, branch: str, *notes: str) -> Read:
    """The state that an open reading stands for."""
    return Read(branch=branch, commit=reading.tip, pending=reading.pending.count, notes=list(notes))


def state_of(ctx: Context, branch: str | None) -> Read:
    """The branch and commit that an answer is about, as the branch is now.

    Both are empty if the answer belongs to no single branch, or to one that the caller may not
    see.
    """
    if branch is None or not ctx.caller.access.sees(branch):
        return Read(branch=None, commit="")
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        return read_of(reading, branch)
