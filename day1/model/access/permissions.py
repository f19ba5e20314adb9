"""Who may do what: tokens, their scopes, and the branches they are limited to."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

from day1.errors import Forbidden

Scope = Literal["read", "write", "merge", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""Each includes those before it."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller may do; without a token, what the owner of the files may: everything."""

    token_id: str | None = None
    scope: Scope = "admin"
    branches: tuple[str, ...] = ()
    agent_id: str | None = None
    """The agent that it is bound to."""

    def require(self, scope: Scope, what: str) -> None:
        """Let a deed pass if the scope includes what it needs.

        Raises:
            Forbidden: it does not.
        """
        if SCOPES.index(self.scope) < SCOPES.index(scope):
            raise Forbidden(
                f"{what} needs the scope {scope!r}; this token has {self.scope!r}.", needs=scope
            )

    def writes_as(self, given: str | None) -> str | None:
        """The agent of a write: the one that the access is bound to, else the one given.

        Raises:
            Forbidden: it is bound to another than the one given.
        """
        if self.agent_id is not None and given not in {None, self.agent_id}:
            raise Forbidden(f"This token writes as {self.agent_id!r} only.", agent_id=self.agent_id)
        return self.agent_id or given

    @property
    def home(self) -> str | None:
        """The one branch that it is limited to; None if there may be several."""
        only = self.branches[0] if len(self.branches) == 1 else "*"
        return None if set(only) & set("*?[") else only

    def sees(self, branch: str) -> bool:
        """Whether a branch of this name is within the limits; case counts in neither."""
        name = branch.lower()
        return not self.branches or any(fnmatchcase(name, p.lower()) for p in self.branches)

    def check(self, branch: str) -> None:
        """Let a branch name pass if it is within the limits, whether there is such a branch or not.

        Raises:
            Forbidden: it is not.
        """
        if not self.sees(branch):
            raise Forbidden(
                f"This token is limited to branches named {', '.join(self.branches)}: "
                "pass `branch`, or use another token.",
                branches=list(self.branches),
            )


EVERYTHING: Final = Access()
NOTHING: Final = Access(scope="read", branches=("",))
"""What may be done by whoever was not asked: no branch is called so."""
