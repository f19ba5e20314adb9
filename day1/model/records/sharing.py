"""Records of templates, handoffs and bundles. Each names a commit, which is kept for it."""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind

FILLED: Final = ""
"""A placeholder for the id of the commit that fills the branch of the record."""

TEMPLATES: Final = "template"
"""The prefix of templates' branches: `template/{name}/v1`."""
BUNDLES: Final = "bundle"
"""The prefix of branches for imported bundles: `bundle/{name}/{end of the id}`."""
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
    """The memories that one branch hands over to another, as they were at that time."""

    KIND: ClassVar = RecordKind("handoffs", branch_ids=("source_id", "target_id"))

    id: str
    handoff_type: str
    source_id: str
    target_id: str
    commit: CommitId
    facts: tuple[str, ...]
    """The ids of the facts, which are read at `commit`."""
    conversations: tuple[str, ...]
    context_summary: str
    left_out: int
    """The number of facts that were left out because nobody verified them."""
    created_by: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """A selection of one commit's rows, to be carried to other branches and stores."""

    KIND: ClassVar = RecordKind("bundles", branch_names=("source_branch",), commits=("commit",))

    id: str
    name: str
    description: str | None
    tags: tuple[str, ...]
    source_branch: str
    """The name of the bundle's source branch, which may be in another store."""
    source_commit: CommitId
    """The commit of the source branch."""
    commit: CommitId
    """The commit that has the bundle's rows in this store."""
    verified_only: bool
    sha256: str
    fact_count: int
    relation_count: int
    conversation_count: int
    message_count: int
    status: ShelfStatus
    created_by: str | None
    created_at: int
    space: str | None = None
    """Only the rows of this space and those below it are in the bundle; None: all rows."""
    after: int | None = None
    """Only facts, relations and messages from this instant on. Units: microseconds UTC."""
    before: int | None = None
    """Only facts, relations and messages up to this instant."""
