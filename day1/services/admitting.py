"""Tokens: made, listed, revoked, and asked for at the door of every wire that has one."""

import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from day1.errors import Conflict, NotFound, Unauthorized
from day1.model.access import EVERYTHING, Access, Scope, Token, access_of, digest, new_secret
from day1.services.deeds import Repository

_DAY = 86_400_000_000


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
    """Make a token; its secret is answered here and nowhere else.

    Raises:
        Conflict: a live token has the name.
    """
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
    with repo.ledger.together():
        if any(t.name == wanted.name and t.live(now) for t in repo.ledger.records(Token)):
            raise Conflict(
                f"A token {wanted.name!r} exists: choose another name, or revoke it.",
                token=wanted.name,
            )
        repo.ledger.put(token)
    return token, secret


def tokens(repo: Repository) -> list[Token]:
    """Every token that was ever made, oldest first."""
    return repo.ledger.records(Token)


def revoke_token(repo: Repository, name: str, now: int) -> Token:
    """Take a token back at once; its record stays.

    Raises:
        NotFound: no live token has the name or id.
    """
    with repo.ledger.together():
        for token in repo.ledger.records(Token):
            if name in {token.name, token.id} and token.revoked_at is None:
                revoked = replace(token, revoked_at=now)
                repo.ledger.put(revoked)
                return revoked
    raise NotFound(f"There is no live token {name!r}: `day1 token list` shows them.", token=name)


class Door:
    """Who may come in: everybody where no token was ever made, else who bears a live one."""

    def __init__(self, repo: Repository, *, closed: bool) -> None:
        """Guard a memory; `closed` asks for a token even where none was ever made."""
        self._repo, self._closed = repo, closed
        self._guard = threading.Lock()
        self._seen: tuple[Hashable, dict[str, Token]] = (None, {})

    def _tokens(self) -> dict[str, Token]:
        """Every token by its hash; read again when the ledger was written to."""
        stamp = self._repo.ledger.stamp()
        with self._guard:
            if stamp is None or self._seen[0] != stamp:
                self._seen = stamp, {token.sha256: token for token in tokens(self._repo)}
            return self._seen[1]

    @property
    def open(self) -> bool:
        """Whether nobody needs a token. A revoked one closes the door as well as a live one."""
        return not self._closed and not self._tokens()

    def admit(self, secret: str | None, now: int) -> Access:
        """What the bearer of a secret may do.

        Raises:
            Unauthorized: no token was given where one is needed, or none that is live.
        """
        known = self._tokens()
        if secret is None and not self._closed and not known:
            return EVERYTHING
        token = None if secret is None else known.get(digest(secret))
        if token is None or not token.live(now):
            what = "needs" if secret is None else "does not know this token, or no longer: it needs"
            raise Unauthorized(
                f"This server {what} a token: `Authorization: Bearer ...`, made by "
                "`day1 token create`."
            )
        return access_of(token)
