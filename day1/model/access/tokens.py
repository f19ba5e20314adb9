"""Tokens and sign-ins as the ledger keeps them: of a secret only its hash."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import ClassVar, Final

from day1.model.access.permissions import Access, Scope
from day1.model.values.record_kind import RecordKind

_PREFIX: Final = "day1_"
_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Token:
    """An access token as the ledger keeps it: of the secret only its hash."""

    KIND: ClassVar = RecordKind("tokens")

    id: str
    name: str
    sha256: str
    scope: Scope
    branches: tuple[str, ...]
    """Glob patterns of branch names (`task/*` also matches `task/x/alice`); empty means all."""
    agent_id: str | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def live(self, now: int) -> bool:
        """Whether the token is still valid: neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class SignIn:
    """A browser that signed in with a token; it is known by the hash of its cookie."""

    KIND: ClassVar = RecordKind("sign_ins")

    id: str
    token_id: str
    created_at: int
    expires_at: int


def access_of(token: Token) -> Access:
    """The access that a token gives to its bearer."""
    return Access(token.id, token.scope, token.branches, token.agent_id)


def new_secret() -> str:
    """A secret for a new token, shown once: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest(secret: str) -> str:
    """The hash by which a token is found. A secret of 256 random bits needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
