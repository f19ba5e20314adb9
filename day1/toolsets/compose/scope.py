"""The owner of the rows that a call of Compose reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from day1.call.context import Context
from day1.model.prime.framing import without_frames
from day1.model.redaction.retention import end_of_span
from day1.model.rows.validation import secret_notes
from day1.model.values.space import SHARED
from day1.model.values.wallet_space import Owner
from day1.services.access.calls import Writing, writing
from day1.toolsets.compose.fields import Whose, missing


@dataclass(frozen=True, slots=True)
class _Signature:
    """The author of a write: the agent is the wallet."""

    agent_id: str | None
    session_id: str | None = None
    task_id: None = None
    request_id: None = None


def owner_of(ctx: Context, request: Whose) -> Owner:
    """Find the owner of the rows that a call is about.

    Raises:
        Forbidden: the token is bound to another agent than the wallet.
        InvalidRequest: a user or device is named without a wallet.
    """
    wallet = ctx.caller.access.writes_as(request.agentWallet)
    device = request.haiId if request.scope == "local" else None
    if wallet is None and (request.userAddress is not None or device is not None):
        raise missing(
            "agentWallet", "is needed with `userAddress` and with `scope: local`: name the agent"
        )
    return Owner(wallet, request.userAddress, device)


def wallet_of(ctx: Context, name: str | None) -> Owner:
    """Find the wallet of a call that is about no user: the named one, else that of the token.

    Raises:
        Forbidden: the token is bound to another agent.
    """
    return Owner(ctx.caller.access.writes_as(name))


def write_of(ctx: Context, owner: Owner, session_id: str | None = None) -> Writing:
    """Resolve what a write of an owner needs: its branch, author, store and space.

    Raises:
        UnknownBranch: there is no such branch.
        BranchClosed, BranchProtected: rows cannot be written to the branch.
    """
    space = SHARED if owner.space is None else owner.space
    return writing(ctx, _Signature(owner.wallet, session_id), None, space)


def expiry_of(ctx: Context, retention: str | None) -> int | None:
    """Compute the expiry time of a retention such as `7d`; None if it is no span of time.

    Raises:
        InvalidRequest: the span is zero, or too long.
    """
    try:
        return end_of_span(retention, ctx.clock())
    except ValueError as error:
        raise missing("retention", str(error)) from error


def own_words(ctx: Context, field: str, text: str) -> tuple[str, list[str]]:
    """Cut quoted memory prompts out of a text; return the rest, with notes on secrets in it.

    Raises:
        InvalidRequest: nothing else is in the text.
        Refused: it looks like a secret, and the settings refuse secrets.
    """
    own_text = without_frames(text).strip()
    if not own_text:
        raise missing(field, "has only quotations from memory: add words of your own")
    return own_text, secret_notes(ctx.limits.secrets, own_text)
