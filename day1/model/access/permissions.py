"""Permissions of callers: scopes of tokens, and the branches that a token is limited to."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

from day1.errors import Forbidden

Scope = Literal["read", "write", "merge", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""The scopes of tokens; each includes those before it."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of a caller; without a token those of the files' owner: everything."""

    token_id: str | None = None
    scope: Scope = "admin"
    branches: tuple[str, ...] = ()
    agent_id: str | None = None
    """The agent that the token is bound to."""

    scopes: tuple[Scope, ...] = field(init=False)
    """The scope of the token, and the scopes that it includes."""
    home: str | None = field(init=False)
    """The one branch that the access is limited to; None if there may be several."""

    def __post_init__(self) -> None:
        """Derive the fields that every call reads."""
        only_pattern = self.branches[0] if len(self.branches) == 1 else "*"
        object.__setattr__(self, "scopes", SCOPES[: SCOPES.index(self.scope) + 1])
        object.__setattr__(self, "home", None if set(only_pattern) & set("*?[") else only_pattern)

    def require(self, scope: Scope, what: str) -> None:
        """Check that the scope allows an action.

        Raises:
            Forbidden: the action needs a higher scope.
        """
        if scope not in self.scopes:
            raise Forbidden(
                f"{what} needs the scope {scope!r}; this token has {self.scope!r}.", needs=scope
            )

    def writes_as(self, agent: str | None) -> str | None:
        """Return the agent of a write: the one that the access is bound to, else the given one.

        Raises:
            Forbidden: the access is bound to an agent other than the given one.
        """
        if self.agent_id is not None and agent not in {None, self.agent_id}:
            raise Forbidden(
                f"This token writes as {self.agent_id!r} only: name no other agent.",
                agent_id=self.agent_id,
            )
        return self.agent_id or agent

    def sees(self, branch: str) -> bool:
        """Whether a branch of this name is within the limits; upper and lower case are equal."""
        folded_name = branch.lower()
        return not self.branches or any(
            fnmatchcase(folded_name, pattern.lower()) for pattern in self.branches
        )

    def check(self, branch: str) -> None:
        """Check that a branch name is within the limits, whether or not the branch exists.

        Raises:
            Forbidden: the name is outside the limits.
        """
        if not self.sees(branch):
            raise self.outside()

    def outside(self) -> Forbidden:
        """Build the error for a call about a branch outside the limits."""
        return Forbidden(
            f"This token is limited to branches named {', '.join(self.branches)}. Name a branch "
            "within the limits in each argument such as `branch`, `parent_branch` or "
            "`target_branch` (left out, it may mean `main`), or use another token.",
            branches=list(self.branches),
        )


EVERYTHING: Final = Access()
NOTHING: Final = Access(scope="read", branches=("",))
"""The access of a caller who was not identified: it may see no branch at all."""
