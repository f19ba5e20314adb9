"""Create, list and revoke tokens, and authenticate callers by them."""

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import (
    Conflict,
    Day1Error,
    Forbidden,
    NotFound,
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
"""How long a browser stays signed in."""
_MARK: Final = "access/tokens"
"""The tag of the first commit of a store that requires tokens. It is kept with the rows, so that a
ledger that is lost takes the tokens with it and opens nothing to anybody."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A token that is to be made."""

    name: str
    scope: Scope
    branches: Sequence[str] = ()
    agent_id: str | None = None
    days: int | None = None
    """It expires after so many; None: never."""


def create_token(repo: Repository, wanted: Wanted, now: int) -> tuple[Token, str]:
    """Make a token; returns its secret, which is stored nowhere.

    Raises:
        Conflict: a live token has the name.
    """
    require_tokens(repo)  # first: should the process die in between, nothing is open
    secret = new_secret()
    token = Token(
        id=repo.new_id("token", now),
        name=wanted.name,
        sha256=digest(secret),
        scope=wanted.scope,
        branches=tuple(dict.fromkeys(wanted.branches)),
        agent_id=wanted.agent_id,
        created_at=now,
        expires_at=None if wanted.days is None else now + wanted.days * _DAY,
    )
    with repo.ledger.transaction():
        if any(t.name == wanted.name and t.live(now) for t in repo.ledger.records(Token)):
            raise Conflict(
                f"A token {wanted.name!r} exists: choose another name, or revoke it.",
                token=wanted.name,
            )
        repo.ledger.put(token)
    return token, secret


def require_tokens(repo: Repository) -> None:
    """Note in the store that callers over HTTP need tokens, from now on and for good."""
    repo.history.tag(_MARK, first_commit(repo))


def note_tokens(repo: Repository) -> None:
    """Note that a store requires tokens which an earlier day1 made tokens for.

    A store that cannot be written now is noted when it is opened the next time.
    """
    if not tokens(repo):
        return
    try:
        require_tokens(repo)
    except Day1Error as exc:
        log.warning("it could not be noted that the store requires tokens: %s", exc.code)


def tokens(repo: Repository) -> list[Token]:
    """Every token, revoked ones too, oldest first."""
    return repo.ledger.records(Token)


def revoke_token(repo: Repository, name: str, now: int) -> Token:
    """Revoke a token at once; its record stays.

    Raises:
        NotFound: no live token has the name or id.
    """
    with repo.ledger.transaction():
        for token in repo.ledger.records(Token):
            if name in {token.name, token.id} and token.revoked_at is None:
                revoked = replace(token, revoked_at=now)
                repo.ledger.put(revoked)
                return revoked
    raise NotFound(f"There is no live token {name!r}: `day1 token list` shows them.", token=name)


def without_place(error: Day1Error) -> Day1Error:
    """An error for callers without a token: it does not tell where the store is."""
    if isinstance(error, Forbidden | TooManyRequests | Unauthorized):  # about the caller
        return error
    says = "The store has a problem: `day1 doctor` on the server's machine names it."
    if isinstance(error, StoreBusy | StoreUnavailable):  # these may pass
        says += " Try again."
    return type(error)(says)


class Authenticator:
    """Authenticates callers: everybody until the first token is made, then by a live token.

    Each request looks its token up by its hash. So a token that any process revoked is refused from
    then on, and the cost does not grow with the number of tokens.
    """

    def __init__(self, repo: Repository, *, closed: bool) -> None:
        """Authenticate callers of a memory; with `closed` they need a token in any case."""
        self._repo, self._closed = repo, closed
        self._made = False
        self._asked: tuple[Hashable, bool] = (None, False)

    def _any(self) -> bool:
        """Whether a token was ever made. Records of tokens are never removed."""
        self._made = self._made or bool(tokens(self._repo))
        return self._made

    def _required(self) -> bool:
        """Whether the store says that tokens are required; asked again where the ledger moved.

        A mark is made with a token: so it is news only where the ledger is another one.
        """
        stamp = self._repo.ledger.stamp()
        asked, required = self._asked
        if stamp is None or stamp != asked:
            required = _MARK in self._repo.history.tags()
            self._asked = stamp, required
        return required

    @property
    def open(self) -> bool:
        """Whether nobody needs a token. One that was ever made ends this, even if it is revoked."""
        return not (self._closed or self._any() or self._required())

    @property
    def shut(self) -> bool:
        """Whether nobody can be authenticated: a token is needed, and none was made."""
        return self._closed and not self._any()

    def admit(self, secret: str, now: int) -> Access:
        """What the caller with this token may do.

        Raises:
            Unauthorized: no live token has this secret.
        """
        found = self._repo.ledger.records(Token, sha256=digest(secret))
        return self._access(found[0] if found else None, now)

    def admit_browser(self, cookie: str | None, now: int) -> Access:
        """What a browser may do, by the cookie that it got when it signed in.

        Raises:
            Unauthorized: it did not, or too long ago.
        """
        if self.open:
            return EVERYTHING
        found = None if cookie is None else self._repo.ledger.record(SignIn, digest(cookie))
        live = found is not None and now < found.expires_at
        token = self._repo.ledger.record(Token, found.token_id) if found and live else None
        return self._access(token, now)

    def _access(self, token: Token | None, now: int) -> Access:
        if token is None and not self._any():
            raise TokenRequired(
                "This store requires tokens, and has none any more: its ledger was lost, or is "
                "another one. Put the ledger back from a backup; or make a token on the server's "
                "machine, with `day1 token create NAME --scope admin`."
            )
        if token is None or not token.live(now):
            raise Unauthorized(
                "This server needs a live token: `Authorization: Bearer ...`, made by "
                "`day1 token create`."
            )
        return access_of(token)

    def sign_in(self, secret: str, now: int) -> str:
        """Sign a browser in for `SIGNED_IN_S`; returns the value of its cookie.

        Raises:
            Unauthorized: no live token has this secret.
        """
        access, cookie = self.admit(secret, now), new_secret()
        signed = SignIn(digest(cookie), str(access.token_id), now, now + SIGNED_IN_S * 1_000_000)
        ledger = self._repo.ledger
        with ledger.transaction():
            ended = [one.id for one in ledger.records(SignIn) if one.expires_at <= now]
            ledger.remove(SignIn, *ended)
            ledger.put(signed)
        return cookie

    def sign_out(self, cookie: str) -> None:
        """Sign a browser out: its cookie is void from now on."""
        signed = digest(cookie)
        if self._repo.ledger.record(SignIn, signed) is not None:
            self._repo.ledger.remove(SignIn, signed)
