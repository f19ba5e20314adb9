"""The record of a change of a branch's protection."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class ProtectionChange:
    """A change of a branch's protection: the requirements before and after."""

    KIND: ClassVar = RecordKind("protections", ("branch_id",), branch_ids=("branch_id",))

    id: str
    branch_id: str
    agent_id: str | None
    """The agent who changed the protection, as far as day1 can tell."""
    token_id: str | None
    source: str | None
    """The way by which the change was made: `user` is the command line or the pages."""
    required: tuple[str, ...]
    """The requirements before the change."""
    tiers_before: tuple[str, ...]
    requires: tuple[str, ...]
    """The requirements after the change."""
    tiers: tuple[str, ...]
    created_at: int
