"""The record of who changed what merges into a branch must fulfil."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class ProtectionChange:
    """What a branch required before and after."""

    KIND: ClassVar = RecordKind("protections", ("branch_id",), branch_ids=("branch_id",))

    id: str
    branch_id: str
    agent_id: str | None
    """Who changed it, as far as day1 can tell."""
    token_id: str | None
    source: str | None
    """By what: `user` is the command line or the pages."""
    required: tuple[str, ...]
    """The requirements before."""
    tiers_before: tuple[str, ...]
    requires: tuple[str, ...]
    """The requirements after."""
    tiers: tuple[str, ...]
    created_at: int
