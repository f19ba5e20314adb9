"""Tools that write: a fact, an observation, a relation."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Ending,
    JsonObject,
    Label,
    LongText,
    MemoryText,
    OnBranch,
    Response,
    Space,
    When,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import Branch
from day1.model.redaction.retention import parse_optional, retention, valid_time
from day1.model.rows.validation import secret_notes
from day1.model.values.instant import show
from day1.services.access.calls import writing
from day1.services.health.clocks import TOO_FAR, ahead_note
from day1.services.rows.recording import (
    BranchAfter,
    NewFact,
    NewObservation,
    NewRelation,
    record,
)
from day1.toolsets.shared.fields import Confidence, ObservationType, Sensitivity


class WriteFact(WriteRequest):
    """The arguments of `memory_write_fact` (S1-010).

    Attributes:
        fact_text: The claim, as a sentence that can be understood alone: name its subject, and its
            date if it may change.
        category: A label of your own to filter by, such as bug_fix, architecture or preference.
        confidence: How sure you are: from 0, not at all, to 1, certain.
        happened_at: When it was true (ISO 8601). Timelines and time ranges go by it; without it
            they go by when it was written.
        valid_until: When it ceased to be true (ISO 8601), or `never`. From then on searches
            leave it out, except with `as_of_event`.
        space: The space that it belongs to, such as project:metal; calls in other spaces do not see
            it. `shared` for none. Default: the connection's, else none.
        expires_at: When answers stop showing it (ISO 8601), or `never`. History keeps it.
        sensitivity: `secret` keeps it out of indexes, searches, exports, bundles and handoffs, and
            lists say `[secret]`; memory_get in its own space shows it. Default: `public`.
    """

    fact_text: Annotated[MemoryText, Field(description="One claim; name its subject and date.")]
    category: Annotated[Label | None, Field(description="bug_fix, architecture, preference …")] = (
        None
    )
    confidence: Confidence | None = 1.0
    branch: OnBranch = None
    happened_at: Annotated[When | None, Field(description="ISO; when it was true")] = None
    valid_until: Annotated[Ending | None, Field(description="when it ceased to be")] = None
    space: Annotated[Space | None, Field(description="project:name …; default: none")] = None
    expires_at: Ending | None = None
    sensitivity: Sensitivity | None = None


class FactWritten(Response):
    """The new fact, or an equal existing one (S1-011, S1-013)."""

    id: str
    created_at: str
    near_duplicate_of: str | None = None
    written: Written


def write_fact(ctx: Context, request: WriteFact) -> FactWritten:
    """Remember one fact. Facts that name their subject and date are found best."""
    notes = secret_notes(ctx.limits.secrets, request.fact_text)
    write_context = writing(ctx, request, request.branch, request.space)
    new_fact = NewFact(
        request.fact_text,
        request.category,
        1.0 if request.confidence is None else request.confidence,
        **valid_time(request.happened_at, request.valid_until),
        space=write_context.space,
        **retention(request.expires_at, request.sensitivity, ctx.clock()),
    )
    record_result = record(
        write_context.repo, write_context.branch, new_fact, write_context.origin, request.request_id
    )
    return FactWritten(
        id=str(record_result.row["id"]),
        created_at=show(int(record_result.row["created_at"] or 0)),
        near_duplicate_of=next(iter(record_result.same_text), None),
        written=written_after(
            ctx, write_context.branch, record_result.after, *notes, *record_result.notes
        ),
    )


class WriteObservation(WriteRequest):
    """The arguments of `memory_write_observation` (S1-014).

    Attributes:
        observation_type: What kind of moment it was: a tool was used, something was discovered or
            decided, failed, or was understood.
        summary: What was seen, in your own words: this is what search finds.
        tool_name: The tool that was used, such as Bash, Edit or Read.
        raw_input: What the tool was given. It is not searched, and is cut at
            DAY1_WRITE__RAW_CHARACTERS (4,000).
        raw_output: What the tool answered; kept like `raw_input`.
        happened_at: When it happened (ISO 8601); without it, timelines go by when it was written.
        space: As for memory_write_fact.
        expires_at: As for memory_write_fact.
        sensitivity: As for memory_write_fact.
    """

    observation_type: ObservationType
    summary: MemoryText
    tool_name: Annotated[Label | None, Field(description="Bash, Edit, Read …")] = None
    raw_input: LongText | None = None
    raw_output: LongText | None = None
    branch: OnBranch = None
    happened_at: When | None = None
    space: Space | None = None
    expires_at: Ending | None = None
    sensitivity: Sensitivity | None = None


class ObservationWritten(Response):
    """The new observation, and whether its raw texts were cut (S1-015, S1-016)."""

    id: str
    created_at: str
    truncated: bool = False
    written: Written


def write_observation(ctx: Context, request: WriteObservation) -> ObservationWritten:
    """Log what a tool call or a moment of work showed, compressed; raw texts are cut."""
    max_characters = ctx.limits.raw_characters
    raw_texts = (request.raw_input, request.raw_output)
    notes = secret_notes(ctx.limits.secrets, request.summary, *raw_texts)
    write_context = writing(ctx, request, request.branch, request.space)
    new_observation = NewObservation(
        request.observation_type,
        request.summary,
        request.tool_name,
        raw_texts[0] and raw_texts[0][:max_characters],
        raw_texts[1] and raw_texts[1][:max_characters],
        parse_optional(request.happened_at),
        write_context.space,
        **retention(request.expires_at, request.sensitivity, ctx.clock()),
    )
    record_result = record(
        write_context.repo,
        write_context.branch,
        new_observation,
        write_context.origin,
        request.request_id,
    )
    return ObservationWritten(
        id=str(record_result.row["id"]),
        created_at=show(int(record_result.row["created_at"] or 0)),
        truncated=any(
            raw_text is not None and len(raw_text) > max_characters for raw_text in raw_texts
        ),
        written=written_after(
            ctx, write_context.branch, record_result.after, *notes, *record_result.notes
        ),
    )


class WriteRelation(WriteRequest):
    """The arguments of `memory_write_relation` (S1-017).

    Attributes:
        source_entity: The entity that the relation starts from. Names are compared letter by
            letter.
        target_entity: The entity that the relation leads to.
        relation_type: What the source is to the target, such as depends_on, causes or fixes.
        properties: More about the relation, as a JSON object of at most 32,768 characters.
        happened_at: When it became true (ISO 8601); default: unknown.
        valid_until: When it ceased to be true, as for memory_write_fact.
        space: As for memory_write_fact.
    """

    source_entity: Label
    target_entity: Label
    relation_type: Annotated[Label, Field(description="depends_on, causes, fixes …")]
    properties: JsonObject | None = None
    branch: OnBranch = None
    happened_at: When | None = None
    valid_until: Ending | None = None
    space: Space | None = None


class RelationWritten(Response):
    """The new relation (S1-018)."""

    id: str
    created_at: str
    written: Written


def write_relation(ctx: Context, request: WriteRelation) -> RelationWritten:
    """Link two entities, such as AuthService -depends_on-> UserModel."""
    write_context = writing(ctx, request, request.branch, request.space)
    new_relation = NewRelation(
        request.source_entity,
        request.relation_type,
        request.target_entity,
        request.properties,
        **valid_time(request.happened_at, request.valid_until),
        space=write_context.space,
    )
    record_result = record(
        write_context.repo,
        write_context.branch,
        new_relation,
        write_context.origin,
        request.request_id,
    )
    return RelationWritten(
        id=str(record_result.row["id"]),
        created_at=show(int(record_result.row["created_at"] or 0)),
        written=written_after(ctx, write_context.branch, record_result.after, *record_result.notes),
    )


def written_after(ctx: Context, branch: Branch, after: BranchAfter, *notes: str) -> Written:
    """Describe the state after a write, with a note if the branch is too far ahead of the clock."""
    microseconds_ahead = after.now - ctx.clock()
    clock_notes = [ahead_note(microseconds_ahead)] if microseconds_ahead > TOO_FAR else []
    return Written(
        branch=branch.name, commit=after.tip, pending=after.pending, notes=[*notes, *clock_notes]
    )


OPERATIONS = (
    Operation("memory_write_fact", write_fact, Effect.WRITE),
    Operation("memory_write_observation", write_observation, Effect.WRITE),
    Operation("memory_write_relation", write_relation, Effect.WRITE),
)
