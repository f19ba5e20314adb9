"""Tokens and sign-ins in the ledger, which keeps only the hash of each secret."""

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
    """The ledger's record of an access token, with the hash of its secret."""

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
    """A browser that signed in with a token, identified by the hash of its cookie."""

    KIND: ClassVar = RecordKind("sign_ins")

    id: str
    token_id: str
    created_at: int
    expires_at: int


def access_of(token: Token) -> Access:
    """Return the access that a token gives to its bearer."""
    return Access(token.id, token.scope, token.branches, token.agent_id)


def new_secret() -> str:
    """Make the secret of a new token, which is shown once: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest(secret: str) -> str:
    """Hash a secret to look up its token; 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
