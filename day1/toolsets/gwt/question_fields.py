"""Types of the answers about questions, collections, the trace and the bus."""

from pydantic import JsonValue

from day1.call.fields import Label, Read, Response
from day1.toolsets.gwt.fields import BroadcastText, PlaceShown
from day1.toolsets.shared.fields import absent


class EvidencePlan(Response):
    """How evidence was looked for, and what was found (S0-014)."""

    strategy: str
    answer: str
    queries: list[str]
    evidence: list[str]
    metadata: dict[str, JsonValue]


class QuestionAttended(Response):
    """How a question was attended to (S0-009)."""

    question: str
    planner: str
    supported_planners: list[str]
    context_count: int
    passes_requested: int
    passes_completed: int
    admit: bool
    evidence_plan: EvidencePlan
    tool_call_count: int
    admitted_ids: list[str]
    broadcast: BroadcastText | None
    workspace: list[PlaceShown]
    trace: dict[str, JsonValue]
    read: Read


class QuestionResolved(Response):
    """The evidence for a question, and its exact answer if there is one (S0-010)."""

    question: str
    planner: str
    context_count: int
    evidence_plan: EvidencePlan
    read: Read


class MatchedRecord(Response):
    """A record, with its values as they are written."""

    id: str
    item_id: str
    fields: dict[str, str]


class CollectionAnswer(Response):
    """An exact answer, and the records that it follows from (S0-011)."""

    operation: str
    answer: str
    matched_count: int
    matched_records: list[MatchedRecord]
    supporting_evidence: list[str]
    metadata: dict[str, JsonValue]
    read: Read


class TraceExplained(Response):
    """How the last question was attended to; without one, only `status` and `message` (S0-016)."""

    status: Label
    message: str | None = absent()
    question: str | None = absent()
    planner: str | None = absent()
    strategy: str | None = absent()
    answer: str | None = absent()
    pass_count: int | None = absent()
    tool_call_count: int | None = absent()
    phases: list[dict[str, JsonValue]] | None = absent()
    broadcast_bus: dict[str, JsonValue] | None = absent()
    explanation: str | None = absent()
    trace: dict[str, JsonValue] | None = absent()


class BusInspected(Response):
    """The bus, and what it decided in the last cycle (S0-017)."""

    status: Label
    broadcast_bus: dict[str, JsonValue]
    summary: dict[str, JsonValue]
