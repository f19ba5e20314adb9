"""Creating, listing and revoking tokens, and authenticating callers by them."""

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import (
    Conflict,
    Day1Error,
    Forbidden,
    NotFound,
    Refused,
    StoreBusy,
    StoreUnavailable,
    TokenRequired,
    TooManyRequests,
    Unauthorized,
)
from day1.model.access.permissions import EVERYTHING, Access, Scope
from day1.model.access.tokens import SignIn, Token, access_of, digest, new_secret
from day1.services.branches.lookup import first_commit
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_DAY = 86_400_000_000
SIGNED_IN_S = 12 * 3_600
"""Seconds for which a browser stays signed in."""
_MARK: Final = "access/tokens"
"""A tag on the first commit of a store that requires tokens. It is stored with the rows, not in
the ledger: when the ledger and its tokens are lost, the store does not become open to everybody."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Arguments of `create_token`."""

    name: str
    scope: Scope
    branches: Sequence[str] = ()
    agent_id: str | None = None
    days: int | None = None
    """Days until the token expires; None: it never expires."""


def create_token(repo: Repository, request: Wanted, now: int) -> tuple[Token, str]:
    """Create a token; return it and its secret, which is not stored.

    Raises:
        Conflict: a live token has the name.
    """
    require_tokens(repo)  # first: if the process dies in between, the store is not open
    secret = new_secret()
    token = Token(
        id=repo.new_id("token", now),
        name=request.name,
        sha256=digest(secret),
        scope=request.scope,
        branches=tuple(dict.fromkeys(request.branches)),
        agent_id=request.agent_id,
        created_at=now,
        expires_at=None if request.days is None else now + request.days * _DAY,
    )
    with repo.ledger.transaction():
        if any(
            stored_token.name == request.name and stored_token.live(now)
            for stored_token in repo.ledger.records(Token)
        ):
            raise Conflict(
                f"A token {request.name!r} exists: choose another name, or revoke it.",
                token=request.name,
            )
        repo.ledger.put(token)
    return token, secret


def require_tokens(repo: Repository) -> None:
    """Mark the store so that callers over HTTP always need tokens from now on."""
    repo.history.tag(_MARK, first_commit(repo))


def note_tokens(repo: Repository) -> None:
    """Mark a store as requiring tokens if an earlier day1 created tokens without marking it.

    A store that cannot be written now is marked when it is opened the next time.
    """
    if not tokens(repo):
        return
    try:
        require_tokens(repo)
    except Day1Error as exc:
        log.warning("cannot mark the store as requiring tokens: %s", exc.code)


def tokens(repo: Repository) -> list[Token]:
    """Return all tokens, revoked ones too, oldest first."""
    return repo.ledger.records(Token)


def revoke_token(repo: Repository, name: str, now: int) -> Token:
    """Revoke a token by name or id at once; its record stays.

    Raises:
        NotFound: no live token has the name or id.
    """
    with repo.ledger.transaction():
        for token in repo.ledger.records(Token):
            if name in {token.name, token.id} and token.revoked_at is None:
                revoked_token = replace(token, revoked_at=now)
                repo.ledger.put(revoked_token)
                return revoked_token
    raise NotFound(f"There is no live token {name!r}: `day1 token list` shows them.", token=name)


def without_place(error: Day1Error) -> Day1Error:
    """Remove the store's location from an error that a caller without a token is shown."""
    if isinstance(error, Forbidden | TooManyRequests | Unauthorized):  # about the caller
        return error
    message = "The store has a problem: `day1 doctor` on the server's machine names it."
    if isinstance(error, StoreBusy | StoreUnavailable):  # trying again may help
        message += " Try again."
    if isinstance(error, Refused | NotFound):  # the database turned day1 away, not the caller
        return StoreUnavailable(message)
    return type(error)(message)


class Authenticator:
    """Authenticates callers: admits everybody until a token is made, then holders of live tokens.

    Each request looks its token up by its hash. So a token that any process revoked is refused
    at once, and the cost does not grow with the number of tokens.
    """

    def __init__(self, repo: Repository, *, closed: bool) -> None:
        """Authenticate callers of a store; if `closed`, they always need a token."""
        self._repo, self._closed = repo, closed
        self._made = False
        self._asked: tuple[Hashable, bool] = (None, False)
        """The ledger's stamp when `open` was last computed, and the value that it had then."""

    def _any(self) -> bool:
        """Whether a token was ever made; records of tokens are never removed."""
        self._made = self._made or bool(tokens(self._repo))
        return self._made

    @property
    def open(self) -> bool:
        """Whether callers need no token: no token was ever made, not even a revoked one.

        It is found out again when the ledger changed. The store's own mark is set when a token is
        made, so it matters only if the ledger was replaced since.
        """
        if self._closed or self._made:
            return False
        ledger_stamp = self._repo.ledger.stamp()
        last_stamp, is_open = self._asked
        if ledger_stamp is None or ledger_stamp != last_stamp:
            is_open = not (self._any() or _MARK in self._repo.history.tags())
            self._asked = ledger_stamp, is_open
        return is_open

    @property
    def shut(self) -> bool:
        """Whether nobody can be authenticated: a token is needed, and no token was made yet."""
        return self._closed and not self._any()

    def admit(self, secret: str, now: int) -> Access:
        """Return what the caller with this token may do.

        Raises:
            Unauthorized: no live token has this secret.
        """
        matching_tokens = self._repo.ledger.records(Token, sha256=digest(secret))
        return self._access(matching_tokens[0] if matching_tokens else None, now)

    def admit_browser(self, cookie: str | None, now: int) -> Access:
        """Return what a browser may do, by the cookie from its sign-in.

        Raises:
            Unauthorized: the browser is not signed in, or its sign-in has expired.
        """
        if self.open:
            return EVERYTHING
        sign_in = None if cookie is None else self._repo.ledger.record(SignIn, digest(cookie))
        is_signed_in = sign_in is not None and now < sign_in.expires_at
        token = (
            self._repo.ledger.record(Token, sign_in.token_id) if sign_in and is_signed_in else None
        )
        return self._access(token, now)

    def _access(self, token: Token | None, now: int) -> Access:
        if token is None and not self._any():
            raise TokenRequired(
                "This store requires tokens, and has none any more: its ledger was lost or "
                "replaced. Put the ledger back from a backup; or make a token on the server's "
                "machine, with `day1 token create NAME --scope admin`."
            )
        if token is None or not token.live(now):
            raise Unauthorized(
                "This server needs a live token: `Authorization: Bearer ...`, made by "
                "`day1 token create`."
            )
        return access_of(token)

    def sign_in(self, secret: str, now: int) -> str:
        """Sign a browser in for `SIGNED_IN_S`; return the value of its cookie.

        Raises:
            Unauthorized: no live token has this secret.
        """
        access, cookie = self.admit(secret, now), new_secret()
        sign_in_record = SignIn(
            digest(cookie), str(access.token_id), now, now + SIGNED_IN_S * 1_000_000
        )
        ledger = self._repo.ledger
        with ledger.transaction():
            expired_ids = [
                earlier_sign_in.id
                for earlier_sign_in in ledger.records(SignIn)
                if earlier_sign_in.expires_at <= now
            ]
            ledger.remove(SignIn, *expired_ids)
            ledger.put(sign_in_record)
        return cookie

    def sign_out(self, cookie: str) -> None:
        """Sign a browser out: its cookie is void from now on."""
        sign_in_id = digest(cookie)
        if self._repo.ledger.record(SignIn, sign_in_id) is not None:
            self._repo.ledger.remove(SignIn, sign_in_id)
