"""Branches as people and agents know them: a name, notes, a place in the tree."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from day1.errors import InvalidRequest, Json
from day1.model.rows.change import CommitId, Pending

MAIN = "main"
MAX_NAME = 100
_LONGEST_PART = 40
Status = Literal["active", "merged", "archived"]

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_HASH_LIKE = re.compile(r"[0-9a-f]{40}|[0-9a-v]{32}")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch's row in the ledger."""

    id: str
    name: str
    parent_id: str | None
    fork_commit: CommitId | None
    created_at: int
    description: str | None = None
    purpose: str | None = None
    owner: str | None = None
    ttl_days: int | None = None
    tags: tuple[str, ...] = ()
    archived: bool = False
    closed: bool = False
    """It takes no writes and no merges: it was squashed, or is kept as a template or bundle."""
    merged_tip: CommitId | None = None
    """The tip at which everything of the branch was merged."""
    retired_tip: CommitId | None = None
    """Where the branch stood when its ref was given up; None while it has a ref."""
    task_id: str | None = None
    """The task that its rows are for, where a writer names none."""
    agent_id: str | None = None
    """Whose branch of a task it is: who writes here, where a writer gives no name."""
    protection: tuple[str, ...] = ()
    """What a merge into it must fulfil (`review`, `gate`, `other`); it takes nothing else then."""

    def status(self, tip: CommitId, pending: Pending) -> Status:
        """What the branch is now: a write after its merge makes it active again."""
        if self.archived:
            return "archived"
        if self.merged_tip == tip and not pending.count:
            return "merged"
        return "active"

    def noted(self, **notes: object) -> "Branch":
        """The branch with the given notes set and the others kept."""
        return replace(self, **{k: v for k, v in notes.items() if v is not None})  # type: ignore[arg-type]  # the caller names fields

    def metadata(self) -> dict[str, Json]:
        """The notes as the tools show them."""
        return {
            "purpose": self.purpose,
            "owner": self.owner,
            "ttl_days": self.ttl_days,
            "tags": list(self.tags),
            **({"task_id": self.task_id} if self.task_id else {}),
            **({"agent_id": self.agent_id} if self.agent_id else {}),
            **({"protection": list(self.protection)} if self.protection else {}),
        }


def check_name(name: str) -> str:
    """Hold a branch name against the one rule for all engines.

    Raises:
        InvalidRequest: the name breaks the rule; the message states it.
    """
    parts = name.split("/")
    good = (
        len(name) <= MAX_NAME
        and all(_PART.fullmatch(part) for part in parts)
        and ".." not in name
        and not any(part.endswith((".lock", ".")) for part in parts)
        and not _HASH_LIKE.fullmatch(name)
        and name.upper() not in {"HEAD", "WORKING", "STAGED"}
    )
    if not good:
        raise InvalidRequest(
            f"A branch name is 1 to {MAX_NAME} ASCII letters, digits and . _ - in parts divided "
            "by /; a part begins with a letter, digit or _ and does not end in . or .lock.",
            branch=name[:MAX_NAME],
        )
    return name


def branch_part(name: str) -> str:
    """A name as one part of a branch name: `Fix login!` is `fix-login`.

    Letters that a branch name cannot have become hyphens; a name of none of its letters is `x`.
    """
    plain = re.sub(r"[^a-z0-9._]+", "-", name.lower()).lstrip("-._")
    plain = re.sub(r"\.{2,}", ".", plain)[:_LONGEST_PART]
    while (shorter := plain.removesuffix(".lock").rstrip("-._")) != plain:
        plain = shorter
    return plain or "x"


def numbered(name: str, taken: Iterable[str]) -> str:
    """The name, or the name with the first number from 2 on that is not taken."""
    folded = {other.lower() for other in taken}
    if name.lower() not in folded:
        return name
    stem = name[: MAX_NAME - 6]
    return next(
        candidate
        for candidate in (f"{stem}-{number}" for number in range(2, len(folded) + 3))
        if candidate.lower() not in folded
    )
