"""Tools for the hooks and commands of clients, not for models: the prime and hints."""

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
from day1.toolsets.shared.answers import read_of


class MemoryPrime(Request):
    """The arguments of `memory_prime`.

    Attributes:
        space: The space whose facts it has beside the shared ones. Default: the connection's,
            else none.
    """

    branch: OnBranch = None
    space: Space | None = None


class Primed(Response):
    """A prime, and the state that it was read from."""

    text: str
    read: Read


def memory_prime(ctx: Context, request: MemoryPrime) -> Primed:
    """What a session begins with: its branch, the open work there, and the most useful facts."""
    branch = branch_of(ctx, request.branch)
    space = _space(ctx, request.space)
    prime = prime_of(ctx.repo, ctx.prime, branch, space, ctx.limits.prime_chars)
    read_state = Read(branch=prime.branch, commit=prime.at, pending=prime.pending)
    return Primed(text=prime.text, read=read_state)


class RecallHint(Request):
    """The arguments of `memory_recall_hint`.

    Attributes:
        prompt: What a person has just asked of an agent; its first 1,000 characters count.
        space: As in memory_prime.
        event: The hook that asks, such as UserPromptSubmit, if its client reads the output of
            hooks as JSON: `text` is then that JSON.
        session_id: The session's id at its client: facts of its prime and earlier hints are left
            out. Default: the connection's, else nothing is left out.
    """

    prompt: LongText
    branch: OnBranch = None
    space: Space | None = None
    event: Label | None = None
    session_id: LongText | None = None


class Hinted(Response):
    """The facts near a prompt; `text` is empty if there are none."""

    text: str
    ids: list[str]
    read: Read


def recall_hint(ctx: Context, request: RecallHint) -> Hinted:
    """The facts near a prompt, at most 3 in 600 characters; empty if no fact is near."""
    branch, space = branch_of(ctx, request.branch), _space(ctx, request.space)
    if not request.prompt.strip():
        with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
            return Hinted(text="", ids=[], read=read_of(reading, branch.name))
    hint = hint_of(ctx.search, branch, space, request.prompt, _seen(ctx, request))
    read_state = Read(branch=branch.name, commit=hint.commit, pending=hint.pending, mode=hint.mode)
    hint_text = hint.text
    if hint_text and request.event is not None:
        hook_output = {"hookEventName": request.event, "additionalContext": hint_text}
        hint_text = json.dumps({"hookSpecificOutput": hook_output}, ensure_ascii=False)
    return Hinted(text=hint_text, ids=list(hint.ids), read=read_state)


def _space(ctx: Context, space: str | None) -> str | None:
    """Return the space whose facts are shown beside the shared ones, or None."""
    space_name = space or ctx.caller.space
    return None if space_name in {None, SHARED, EVERY} else space_name


def _seen(ctx: Context, request: RecallHint) -> Seen:
    """Return the facts that the session of the request was shown already."""
    session_id = request.session_id or ctx.caller.session_id
    if not session_id:
        return Seen()
    token_and_session = ctx.caller.access.token_id, session_id
    return ctx.prime.seen.of(token_and_session, ctx.prime.primes.told(session_id))


OPERATIONS = (
    Operation("memory_prime", memory_prime, Effect.READ, plain=True),
    Operation("memory_recall_hint", recall_hint, Effect.READ, plain=True),
)
