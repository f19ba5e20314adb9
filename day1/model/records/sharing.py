"""Records of templates, handoffs and bundles. Each names a commit, which is kept for it."""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind

FILLED: Final = ""
"""For a commit: the one with which the branch of the record is filled."""

TEMPLATES: Final = "template"
"""Where the branches of templates are: `template/{name}/v1`."""
BUNDLES: Final = "bundle"
"""Where the branches of bundles are that came as files: `bundle/{name}/{end of the id}`."""
KEPT: Final = (f"{TEMPLATES}/", f"{BUNDLES}/")

ShelfStatus = Literal["active", "deprecated"]


@dataclass(frozen=True, slots=True)
class Template:
    """One version of a template: a closed branch to fork from."""

    KIND: ClassVar = RecordKind("templates", ("name",), branch_ids=("branch_id",))

    id: str
    name: str
    version: int
    branch_id: str
    commit: CommitId
    description: str | None
    task_types: tuple[str, ...]
    tags: tuple[str, ...]
    fact_count: int
    conversation_count: int
    status: ShelfStatus
    created_by: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Handoff:
    """What one branch hands over to another, as it was when it was handed over."""

    KIND: ClassVar = RecordKind("handoffs", branch_ids=("source_id", "target_id"))

    id: str
    handoff_type: str
    source_id: str
    target_id: str
    commit: CommitId
    facts: tuple[str, ...]
    """Ids, to be read at `commit`."""
    conversations: tuple[str, ...]
    context_summary: str
    left_out: int
    """Facts that were not verified, and so stayed behind."""
    created_by: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """Knowledge to be carried elsewhere: a choice of the rows of one commit."""

    KIND: ClassVar = RecordKind("bundles", branch_names=("source_branch",), commits=("commit",))

    id: str
    name: str
    description: str | None
    tags: tuple[str, ...]
    source_branch: str
    """Name of the branch that it was made from, which may be in another store."""
    source_commit: CommitId
    """Its commit there."""
    commit: CommitId
    """Where its rows are in this store."""
    verified_only: bool
    sha256: str
    fact_count: int
    relation_count: int
    conversation_count: int
    message_count: int
    status: ShelfStatus
    created_by: str | None
    created_at: int
