"""Tools that clients' hooks and commands call, and no model: what a session begins with."""

import json

from day1.call.context import Context
from day1.call.fields import Label, LongText, OnBranch, Read, Request, Response, Space
from day1.call.operation import Effect, Operation
from day1.model.rows.change import Ref
from day1.model.values.space import EVERY, SHARED
from day1.services.access.calls import branch_of
from day1.services.prime.gathering import prime_of
from day1.services.prime.hinting import hint_of
from day1.services.prime.seen import Seen
from day1.toolsets.shared.state import read_of


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
    branch = branch_of(ctx, request.branch)
    space = _space(ctx, request.space)
    made = prime_of(ctx.repo, ctx.prime, branch, space, ctx.limits.prime_chars)
    read = Read(branch=made.branch, commit=made.at, pending=made.pending)
    return Primed(text=made.text, read=read)


class RecallHint(Request):
    """The arguments of `memory_recall_hint`.

    Attributes:
        prompt: What a person has just asked of an agent; its first 1,000 characters count.
        space: As in memory_prime.
        event: The hook that asks, such as UserPromptSubmit, where a client takes what its hooks
            say as JSON: `text` is then that JSON.
        session_id: The session, as its client calls it: what its prime and earlier hints told it is
            left out. Default: what the connection says, else nothing is left out.
    """

    prompt: LongText
    branch: OnBranch = None
    space: Space | None = None
    event: Label | None = None
    session_id: LongText | None = None


class Hinted(Response):
    """What memory has near a prompt; `text` is empty where nothing is."""

    text: str
    ids: list[str]
    read: Read


def recall_hint(ctx: Context, request: RecallHint) -> Hinted:
    """The facts near a prompt, at most 3 in 600 characters; says nothing where none is near."""
    branch, space = branch_of(ctx, request.branch), _space(ctx, request.space)
    if not request.prompt.strip():
        with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
            return Hinted(text="", ids=[], read=read_of(reading, branch.name))
    hint = hint_of(ctx.search, branch, space, request.prompt, _seen(ctx, request))
    read = Read(branch=branch.name, commit=hint.commit, pending=hint.pending, mode=hint.mode)
    text = hint.text
    if text and request.event is not None:
        said = {"hookEventName": request.event, "additionalContext": text}
        text = json.dumps({"hookSpecificOutput": said}, ensure_ascii=False)
    return Hinted(text=text, ids=list(hint.ids), read=read)


def _space(ctx: Context, given: str | None) -> str | None:
    """The one space whose facts are shown unasked beside those that all share, if any."""
    name = given or ctx.caller.space
    return None if name in {None, SHARED, EVERY} else name


def _seen(ctx: Context, request: RecallHint) -> Seen:
    """What the session that asks has seen already."""
    session = request.session_id or ctx.caller.session_id
    if not session:
        return Seen()
    key = ctx.caller.access.token_id, session
    return ctx.prime.seen.of(key, ctx.prime.primes.told(session))


OPERATIONS = (
    Operation("memory_prime", memory_prime, Effect.READ, plain=True),
    Operation("memory_recall_hint", recall_hint, Effect.READ, plain=True),
)
