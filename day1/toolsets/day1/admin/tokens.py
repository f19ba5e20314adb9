"""Tools for HTTP tokens: create, list, revoke."""

from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Repeatable, Request, Response
from day1.call.operation import Effect, Operation
from day1.errors import Forbidden
from day1.model.access.permissions import Scope
from day1.model.access.tokens import Token
from day1.model.values.instant import show
from day1.services.access.authentication import Wanted, create_token, revoke_token, tokens
from day1.services.jobs.schedules import of_wallets


class TokenShown(Response):
    """A token without its secret, which is not stored."""

    id: str
    name: str
    scope: Scope
    branches: list[str]
    agent_id: str | None
    created_at: str
    expires_at: str | None
    state: Literal["live", "expired", "revoked"]


class TokenCreate(Repeatable):
    """The arguments of `token_create`.

    Attributes:
        name: What the token is called; a live token's name is taken.
        scope: What it may do: `read`, `write` also writes, `merge` also merges, `admin` also
            protects, redacts and makes tokens.
        branches: The branches that it sees, as patterns such as task/*; default: all.
        agent_id: The agent that it writes as, whatever a call says; default: any.
        days: How many days it is live; default: until it is revoked.
    """

    name: Label
    scope: Scope | None = "write"
    branches: Annotated[Labels | None, Field(description="patterns: task/*; default: all")] = None
    agent_id: Annotated[Label | None, Field(description="it writes as this agent only")] = None
    days: Annotated[int, Field(ge=1, le=3_650)] | None = None


class TokenCreated(TokenShown):
    """The token with its secret, which is never answered again."""

    secret: str


def token_create(ctx: Context, request: TokenCreate) -> TokenCreated:
    """Create a token for HTTP; its secret is shown only now."""
    if ctx.caller.access.branches or ctx.caller.access.agent_id is not None:
        raise Forbidden(
            "A token that is limited to branches or bound to an agent makes no others: use one "
            "without limits."
        )
    new_token = Wanted(
        request.name,
        request.scope or "write",
        request.branches or (),
        request.agent_id,
        request.days,
    )
    token, secret = create_token(ctx.repo, new_token, ctx.clock())
    return TokenCreated(**_shown(token, ctx.clock()).model_dump(), secret=secret)


class TokenList(Request):
    """`token_list` takes no arguments."""


class TokensListed(Response):
    """All tokens, oldest first."""

    result: list[TokenShown]


def token_list(ctx: Context, _: TokenList) -> TokensListed:
    """List all tokens, also revoked ones, without their secrets."""
    now = ctx.clock()
    return TokensListed(result=[_shown(token, now) for token in tokens(ctx.repo)])


class TokenRevoke(Repeatable):
    """The arguments of `token_revoke`.

    Attributes:
        name: The token, by its name or id.
    """

    name: Annotated[Label, Field(description="name or id")]


class TokenRevoked(TokenShown):
    """The token as it is now."""

    live: int
    """Number of live tokens."""
    schedules: int
    """Number of schedules that it made; they go on, since each belongs to its agent."""


def token_revoke(ctx: Context, request: TokenRevoke) -> TokenRevoked:
    """Revoke a token: it opens nothing from now on; schedules that it made go on."""
    token = revoke_token(ctx.repo, request.name, ctx.clock())
    now = ctx.clock()
    live_count = sum(listed_token.live(now) for listed_token in tokens(ctx.repo))
    schedule_count = sum(schedule.token_id == token.id for schedule in of_wallets(ctx.repo))
    return TokenRevoked(
        **_shown(token, now).model_dump(), live=live_count, schedules=schedule_count
    )


def _shown(token: Token, now: int) -> TokenShown:
    unrevoked_state: Literal["live", "expired", "revoked"] = (
        "live" if token.live(now) else "expired"
    )
    return TokenShown.from_record(
        token,
        created_at=show(token.created_at),
        expires_at=None if token.expires_at is None else show(token.expires_at),
        state="revoked" if token.revoked_at is not None else unrevoked_state,
    )


OPERATIONS = (
    Operation("token_create", token_create, Effect.WRITE, scope="admin", asks=True),
    Operation("token_list", token_list, Effect.READ, scope="admin"),
    Operation("token_revoke", token_revoke, Effect.DESTROY, scope="admin", asks=True),
)
