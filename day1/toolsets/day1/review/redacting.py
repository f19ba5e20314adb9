"""The tool that redacts: it makes a memory unreadable on every branch, for good."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Response, Text, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import ConfirmationNeeded
from day1.model.rows.kind import CONVERSATION
from day1.model.values.instant import show
from day1.services.access.calls import branch_of, origin_of
from day1.services.branches.lookup import tip_of
from day1.services.redaction.redacting import look, other_parts, redact
from day1.toolsets.shared.fields import absent


class Redact(WriteRequest):
    """The arguments of `memory_redact`.

    Attributes:
        id: The memory to redact, by its id; texts equal to what it ever said are redacted too.
        reason: Why it is redacted; it is kept and shown, so it must not quote the text.
        confirm: The id again, so that it is not done by mistake.
        whole: Whether the other parts of the text are redacted too, where the memory is a part of a
            longer text.
        branch: The branch whose commit is answered; the redaction holds on all branches. Default:
            your active branch.
    """

    id: Label
    reason: Annotated[Text | None, Field(description="kept and shown; must not quote the text")] = (
        None
    )
    confirm: Annotated[Label | None, Field(description="the id again")] = None
    whole: Annotated[bool | None, Field(description="with the other parts of its text")] = False
    branch: OnBranch = None


class Redacted(Response):
    """What is masked. `rows` and `branches` are counts at the time of masking."""

    id: str
    masked: bool
    already: bool
    """Whether it was masked before."""
    texts: int
    rows: int
    branches: int
    purged: bool
    redacted_at: str
    also: list[str]
    """Memories whose words were made of it: they are hidden too."""
    parts: list[str] | None = absent()
    """The other parts of its text: with `whole` they are redacted too."""
    written: Written


def redact_memory(ctx: Context, request: Redact) -> Redacted:
    """Make a memory and equal texts read [redacted] everywhere, past included. Cannot be undone."""
    branch_name = branch_of(ctx, request.branch).name
    redaction_target = look(ctx.repo, request.id)
    if request.confirm != request.id:
        raise ConfirmationNeeded(
            "A redaction cannot be undone: this memory, all it ever said and every equal text read "
            "[redacted] on all branches and in their past. To do it, repeat with "
            f"confirm={request.id!r}.",
            confirm=request.id,
        )
    branch_tip = tip_of(ctx.repo, branch_name)  # a redaction moves no branch
    agent_id = origin_of(ctx, request).agent_id
    part_targets = other_parts(ctx.repo, redaction_target)
    targets = [redaction_target, *part_targets] if request.whole else [redaction_target]
    redactions = [
        redact(ctx.repo, target, request.reason, agent_id, ctx.clock()) for target in targets
    ]
    is_purged = all(redaction.purged_at is not None for redaction in redactions) and not any(
        target.hashes for target in targets
    )
    notes = ["Masked on every read, and no file of the store has the words any more."]
    if not is_purged:
        notes = [
            "Masked on every read; the bytes are still in the store's files: purging with `day1 gc "
            "--purge-redacted` rewrites them (a store on a server: `day1 copy --purge-redacted`)."
        ]
    if part_targets and not request.whole:
        notes.append("It is a part of a longer text: `whole` redacts the other parts too.")
    if redaction_target.kind is CONVERSATION:
        notes.append("Its messages are memories of their own: redact each by its id.")
    return Redacted(
        id=request.id,
        masked=True,
        already=all(target.known is not None for target in targets),
        texts=sum(len(redaction.hashes) for redaction in redactions),
        rows=sum(redaction.masked_rows for redaction in redactions),
        branches=max(redaction.branches for redaction in redactions),
        purged=is_purged,
        redacted_at=show(redactions[0].created_at),
        also=sorted({row_id for target in targets for row_id in target.made}),
        parts=[target.row_id for target in part_targets] or None,
        written=Written(branch=branch_name, commit=branch_tip, notes=notes),
    )


OPERATIONS = (
    Operation(
        "memory_redact", redact_memory, Effect.DESTROY, idempotent=True, scope="admin", asks=True
    ),
)
