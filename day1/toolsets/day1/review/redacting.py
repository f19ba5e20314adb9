"""The tool that redacts: it makes a memory unreadable on every branch, for good."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Response, Text, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import ConfirmationNeeded
from day1.model.rows.kind import CONVERSATION
from day1.model.values.instant import show
from day1.services.redaction.redacting import look, redact


class Redact(WriteRequest):
    """What nobody is to read any more.

    Attributes:
        id: The memory to redact, by its id; texts equal to what it ever said are redacted too.
        reason: Why it is redacted; it is kept and shown, so it must not quote the text.
        confirm: The id again, so that it is not done by mistake.
        branch: The branch whose commit is answered; the redaction holds on all branches. Default:
            your active branch.
    """

    id: Label
    reason: Annotated[Text | None, Field(description="kept and shown; must not quote the text")] = (
        None
    )
    confirm: Annotated[Label | None, Field(description="the id again")] = None
    branch: OnBranch = None


class Redacted(Response):
    """What is masked. `rows` and `branches` count what was there when it was."""

    id: str
    masked: bool
    already: bool
    """It was masked before; nothing is new."""
    texts: int
    rows: int
    branches: int
    purged: bool
    redacted_at: str
    also: list[str]
    """Memories with words that were made of it: they are hidden with it."""
    written: Written


def redact_memory(ctx: Context, request: Redact) -> Redacted:
    """Make a memory and equal texts read [redacted] everywhere, past included. Cannot be undone."""
    branch = ctx.find(request.branch).name
    target = look(ctx.repo, request.id)
    if request.confirm != request.id:
        raise ConfirmationNeeded(
            "A redaction cannot be undone: this memory, all it ever said and every equal text read "
            "[redacted] on all branches and in their past. To do it, repeat with "
            f"confirm={request.id!r}.",
            confirm=request.id,
        )
    agent = ctx.origin(request).agent_id
    done = redact(ctx.repo, target, request.reason, agent, ctx.clock())
    purged = done.purged_at is not None and not target.hashes
    notes = ["Masked on every read, and no file of the store has the words any more."]
    if not purged:
        notes = [
            "Masked on every read; the bytes are still in the store's files: purging with `day1 gc "
            "--purge-redacted` rewrites them (a store on a server: `day1 copy --purge-redacted`)."
        ]
    if target.kind is CONVERSATION:
        notes.append("Its messages are memories of their own: redact each by its id.")
    commit = ctx.repo.history.branches()[branch]
    return Redacted(
        id=request.id,
        masked=True,
        already=target.known is not None,
        texts=len(done.hashes),
        rows=done.masked_rows,
        branches=done.branches,
        purged=purged,
        redacted_at=show(done.created_at),
        also=sorted(target.made),
        written=Written(branch=branch, commit=commit, notes=notes),
    )


OPERATIONS = (
    Operation(
        "memory_redact",
        Redact,
        Redacted,
        redact_memory,
        Effect.DESTROY,
        idempotent=True,
        scope="admin",
        asks=True,
    ),
)
