"""Branches: a name, notes, and a place in the tree."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from day1.errors import Json
from day1.model.rows.change import CommitId, Pending
from day1.model.values.instant import show
from day1.model.values.record_kind import RecordKind
from day1.model.values.tiers import shown_rule

MAIN = "main"
MAX_TTL_DAYS = 36_500
"""Maximum of a branch's `ttl_days`."""
Status = Literal["active", "merged", "archived"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch's row in the ledger."""

    KIND: ClassVar = RecordKind("branches", branch_names=("name",))

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
    """Whether the branch refuses writes and merges: it was squashed, or is a template or bundle."""
    merged_tip: CommitId | None = None
    """The tip at which all of the branch was merged."""
    retired_tip: CommitId | None = None
    """The tip of the branch when its ref was deleted; None while it has a ref."""
    task_id: str | None = None
    """The task of the branch's rows, unless a writer names another."""
    agent_id: str | None = None
    """The agent whose task branch this is, and the author of writes that name no agent."""
    protection: tuple[str, ...] = ()
    """Requirements of a merge into this branch (`review`, `gate`, `other`, `tiers`). A branch with
    any takes no other writes."""
    tiers: tuple[str, ...] = ()
    """The rules of the requirement `tiers`, one a line, as the ledger stores them."""
    began_at: int | None = None
    """The past instant (microseconds UTC) whose state of its parent it began with; None if it began
    with the present state."""

    def status(self, tip: CommitId, pending: Pending) -> Status:
        """Return the branch's status: a write after its merge makes it active again."""
        if self.archived:
            return "archived"
        if self.merged_tip == tip and not pending.count:
            return "merged"
        return "active"

    def with_notes(self, **notes: object) -> "Branch":
        """Return the branch with these notes set; a note that is None stays as it is."""
        return replace(self, **{name: note for name, note in notes.items() if note is not None})  # type: ignore[arg-type]  # the caller names fields

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of `tiers` as people read them."""
        return tuple(map(shown_rule, self.tiers))

    def metadata(self) -> dict[str, Json]:
        """Return the branch's notes in the form that tools show."""
        return {
            "purpose": self.purpose,
            "owner": self.owner,
            "ttl_days": self.ttl_days,
            "tags": list(self.tags),
            **({"task_id": self.task_id} if self.task_id else {}),
            **({"agent_id": self.agent_id} if self.agent_id else {}),
            **({"protection": list(self.protection)} if self.protection else {}),
            **({"tiers": list(self.rules)} if self.tiers else {}),
            **({"began_at": show(self.began_at)} if self.began_at is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class DeletedBranch:
    """The ledger's record of a branch that was deleted."""

    KIND: ClassVar = RecordKind("deleted_branches", ("request",), branch_names=("name",))

    id: str
    """That of the branch."""
    name: str
    tip: CommitId
    """The last commit; it stays, by a tag or since another branch has it."""
    created_at: int
    """The time of the deletion."""
    request: str | None = None
    """The id of the request that deleted the branch."""
    record: Mapping[str, Json] | None = None
    """The fields of its `Branch`, which is marked as retired; unknown if an earlier version deleted
    it."""
