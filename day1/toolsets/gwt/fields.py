"""Types of arguments and answers that the tools of gwt share."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue

from day1.call.fields import Label, Read, Response, Time, Written
from day1.model.values.instant import show
from day1.model.workspace.item import MEMORY_TYPES
from day1.model.workspace.mind import BUFFER, SLOTS, Goal, Mind
from day1.toolsets.gwt.errors import unsupported
from day1.toolsets.shared.fields import absent


def _listing(*values: str) -> Any:
    """Let the schema of a text list the values that it takes; the operation refuses others."""
    return Field(json_schema_extra={"enum": list(values)})


QUERIES: Final = (
    "count",
    "filter",
    "top_k",
    "average",
    "sum",
    "distinct",
    "min",
    "max",
    "compare",
)
"""The operations on a collection, as `model.collection.answers` has them."""
PLANNERS: Final = ("auto", "generic", "semantic", "structured", "graph", "hybrid")
SCOPES: Final = ("runtime", "workspace", "persistent")
MODES: Final = ("merge", "replace")
TARGETS: Final = ("workspace", "buffer", "goals", "stats", "broadcast_bus")

MemoryTypeName = Annotated[str, _listing(*MEMORY_TYPES)]
"""A memory type; another text gets an error that lists those there are."""
QueryName = Annotated[str, _listing(*QUERIES)]
"""An operation on a collection."""
PlannerName = Annotated[str, _listing(*PLANNERS)]
TargetName = Annotated[str, _listing(*TARGETS)]
ScopeName = Annotated[str, _listing(*SCOPES)]
ModeName = Annotated[str, _listing(*MODES)]
Most = Annotated[int, Field(ge=1, le=200)]
"""Maximum number of items to answer."""


def checked_planner(planner: str) -> str:
    """Return the name of a planner as it is.

    Raises:
        InvalidRequest: there is no such planner; `supported_planners` lists those there are.
    """
    if planner not in PLANNERS:
        raise unsupported("planner", planner, "supported_planners", PLANNERS)
    return planner


def checked_type(memory_type: str, argument: str = "memory_type") -> str:
    """Return a memory type as it is.

    Raises:
        InvalidRequest: there is no such type; `supported_memory_types` lists those there are.
    """
    if memory_type not in MEMORY_TYPES:
        raise unsupported(argument, memory_type, "supported_memory_types", MEMORY_TYPES)
    return memory_type


class GoalShown(Response):
    """A goal."""

    goal_id: str
    description: str
    keywords: list[str]
    priority: float
    status: Label
    agent: str | None
    created_at: Time


class Part(Response):
    """A memory that enters or leaves the workspace."""

    id: str
    score: float | None
    preview: str


class Explained(Response):
    """The score of a candidate: `score` is the sum of each weight times its part."""

    id: str
    score: float
    parts: dict[str, float]
    weights: dict[str, float]
    round: int
    reason: str
    via: str | None = absent()
    joins: str | None = absent()
    contradicts: list[str] | None = absent()


class Competed(Response):
    """The memories that would enter or leave the workspace now, and why (S0-005)."""

    winners: list[Part]
    would_evict: list[Part]
    all_scores: dict[str, float]
    reason: str
    reason_breakdown: dict[str, str]
    explained: list[Explained]
    read: Read


class Attended(Response):
    """A memory in the workspace."""

    id: str
    memory_type: str
    content: str
    score: float
    agent: str | None
    also: list[dict[str, str | None]]
    branch: str
    merged: bool | None
    known: bool
    contradicts: list[str]
    explained: Explained


class Summary(Response):
    """The ids and counts of a broadcast: which memories entered, stayed, left and are shown."""

    cycle: int
    slots: int
    admitted: list[str]
    kept: list[str]
    evicted: list[str]
    shown: list[str]
    not_shown: int
    without_vector: int
    tokens: int
    """An upper bound of the tokens of the text."""
    bus: dict[str, JsonValue]
    """The counts of what the subscribers proposed."""


class BroadcastText(Response):
    """The text of a broadcast, and what it consists of (S0-004)."""

    text: str
    status: Label
    items: list[Attended]
    goal: GoalShown | None
    summary: Summary
    read: Read


class PlaceShown(Response):
    """A place of the workspace or the buffer; `gone` if its memory may not be shown now."""

    id: str
    state: Label
    since: Time
    score: float | None = None
    memory_type: str | None = None
    content: str | None = None
    agent: str | None = None
    branch: str | None = None


class Stats(Response):
    """Numbers of a workspace."""

    cycles: int
    goals: int
    workspace: int
    slots: int
    buffer: int
    buffer_places: int
    evicted: int
    uses: int
    told: dict[str, int]
    """By agent of a task, the number of memories that it was told."""


class MemoryExported(Response):
    """The memories as lines of JSON, without vectors: an import makes these anew (S0-027)."""

    status: Label
    format: str
    item_count: int
    filters: dict[str, str | None]
    jsonl: str
    read: Read


class NamespaceShown(Response):
    """Whose memory it is: a space, or all that the caller sees of a branch."""

    scope: Literal["space", "branch"]
    name: str
    branch: str
    data_dir: str
    """Where the store is; a label for a caller who does not administer it."""


class MemoryBackedUp(Response):
    """The memories as lines of JSON, and where they are from (S0-026)."""

    status: Label
    format: str
    namespace: NamespaceShown
    file_sizes: dict[str, int]
    """Bytes of the store and its index on this machine."""
    item_count: int
    jsonl: str
    read: Read


class LineRefused(Response):
    """A line that was not imported, and why."""

    line: int
    error: str


class LineSkipped(Response):
    """A line that memory has already, and its row."""

    line: int
    reason: Label
    id: str


class MemoryImported(Response):
    """The imported lines, and those that were refused or skipped (S0-028)."""

    status: Label
    imported_count: int
    imported_ids: list[str]
    error_count: int
    errors: list[LineRefused]
    """The first 1,000."""
    admit: bool
    dedupe: bool
    skipped_duplicate_count: int
    skipped_duplicates: list[LineSkipped]
    """The first 1,000."""
    written: Written


class BackupShown(Response):
    """The lines of memories that a call removes, or would remove."""

    format: str
    item_count: int
    jsonl: str


class MemoryRestored(MemoryImported):
    """The lines imported from a file, and the memories that they replaced (S0-031)."""

    mode: Label
    deleted_count: int | None = absent()
    kept_count: int | None = absent()
    """Memories of the branch that others own."""
    snapshot_id: str | None = absent()
    backup: BackupShown | None = absent()


class MemoryCompacted(Response):
    """Which working memories become one fact (S0-032)."""

    status: Label
    max_items: int
    keep_count: int
    compact_count: int
    candidate_ids: list[str]
    deleted_count: int = 0
    summary_id: str | None = None
    backup: BackupShown
    read: Read | None = absent()
    written: Written | None = absent()


class MemoryReset(Response):
    """The result of a reset (S0-035, S0-036, S0-037); fields of other scopes are missing."""

    status: Label
    scope: Label
    persistent_memory_deleted: bool
    cleared_runtime_items: int | None = absent()
    evicted_ids: list[str] | None = absent()
    deleted_count: int | None = absent()
    kept_count: int | None = absent()
    """Memories of the branch that others own."""
    snapshot_id: str | None = absent()
    backup: BackupShown | None = absent()
    read: Read | None = absent()
    written: Written | None = absent()


class EmbeddingShown(Response):
    """The model that makes vectors; without one, searches are by words."""

    provider: str
    model: str | None
    dim: int | None


class MemoryProfile(Response):
    """The caller's memory and workspace in numbers (S0-018)."""

    status: Label
    namespace: NamespaceShown
    data_dir: str
    embedding: EmbeddingShown
    persisted_item_count: int
    runtime_index_count: int
    """Memories whose text a search finds by its words."""
    structured_record_count: int
    structured_fields: list[str]
    """The most frequent 50."""
    counts_by_type: dict[str, int]
    counts_by_source: dict[str, int]
    file_sizes: dict[str, int]
    restored_runtime_items: int
    """Memories in the workspace and buffer that the caller's desk brought back."""
    cycle_stats: Stats
    retention_policy: dict[str, int | str]
    read: Read


class ReadinessShown(Response):
    """Whether each part that the tools need works: every check was run for this answer (S0-019)."""

    status: Label
    checks: dict[str, bool]
    problems: dict[str, str]
    """By check that failed, a code."""
    namespace: NamespaceShown
    embedding: EmbeddingShown
    counts: dict[str, int]
    broadcast_bus: dict[str, Any]
    file_sizes: dict[str, int]
    restored_runtime_items: int
    read: Read


def stats_shown(mind: Mind) -> Stats:
    """Count a workspace's goals, memories, cycles and uses for an answer."""
    return Stats(
        cycles=mind.cycles,
        goals=len(mind.goals),
        workspace=len(mind.workspace),
        slots=SLOTS,
        buffer=len(mind.buffer),
        buffer_places=BUFFER,
        evicted=len(mind.evicted),
        uses=len(mind.uses),
        told={agent: len(ids) for agent, ids in mind.told.items()},
    )


def goal_shown(goal: Goal, *, is_active: bool) -> GoalShown:
    """Convert a goal to its form in answers."""
    return GoalShown(
        goal_id=goal.id,
        description=goal.description,
        keywords=list(goal.keywords),
        priority=goal.priority,
        status="active" if is_active else "past",
        agent=goal.agent,
        created_at=show(goal.created_at),
    )
