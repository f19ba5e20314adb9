"""Tools that clients' hooks and commands call, and no model: what a session begins with."""

from day1.call.context import Context
from day1.call.fields import OnBranch, Read, Request, Response, Space
from day1.call.operation import Effect, Operation
from day1.model.values.space import EVERY, SHARED
from day1.services.prime.gathering import prime_of


class MemoryPrime(Request):
    """The arguments of `memory_prime`.

    Attributes:
        space: The space whose facts it has beside those that all share. Default: what the
            connection says, else none.
    """

    branch: OnBranch = None
    space: Space | None = None


class Primed(Response):
    """A prime, and the state that it was read from."""

    text: str
    read: Read


def memory_prime(ctx: Context, request: MemoryPrime) -> Primed:
    """What a session begins with: the branch, what waits there, and the facts that serve best."""
    branch = ctx.find(request.branch)
    space = _space(ctx, request.space)
    made = prime_of(ctx.repo, ctx.prime, branch, space, ctx.limits.prime_chars)
    read = Read(branch=made.branch, commit=made.at, pending=made.pending)
    return Primed(text=made.text, read=read)


def _space(ctx: Context, given: str | None) -> str | None:
    """The one space whose facts are shown unasked beside those that all share, if any."""
    name = given or ctx.caller.space
    return None if name in {None, SHARED, EVERY} else name


PRIME = Operation("memory_prime", MemoryPrime, Primed, memory_prime, Effect.READ)
OPERATIONS = (PRIME,)
