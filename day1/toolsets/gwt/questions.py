"""Answers about questions and collections, for the tools that answer from memory and explain."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from day1.call.context import Context
from day1.call.fields import Read
from day1.errors import Json
from day1.model.collection.answers import Asked, answer
from day1.model.collection.records import Record
from day1.model.prime.framing import one_line
from day1.model.values.instant import show
from day1.model.workspace.mind import Mind
from day1.model.workspace.trace import Trace, read_trace
from day1.services.workspace.attending import Attention, answer_of, attend
from day1.services.workspace.candidates import memories_of
from day1.services.workspace.collecting import collected
from day1.services.workspace.desks import Seat, mind_of, seat_of
from day1.services.workspace.resolving import Evidence, Question, resolve
from day1.toolsets.gwt.fields import PLANNERS
from day1.toolsets.gwt.question_fields import (
    CollectionAnswer,
    EvidencePlan,
    MatchedRecord,
    QuestionAttended,
    QuestionResolved,
    TraceExplained,
)
from day1.toolsets.gwt.rounds import asked_by, broadcast_shown, bus_shown, placed, places
from day1.toolsets.shared.answers import note_shown, read_found, read_of

_LONGEST: Final = 500
"""Maximum number of characters of a value, quotation or query in an answer."""
_MOST_FIELDS: Final = 50
"""Maximum number of fields of a record, and of field names, in an answer."""


def attended(ctx: Context, arguments: Mapping[str, Any]) -> QuestionAttended:
    """Attend to a question, and answer with the evidence, the broadcast and the trace."""
    workspace_owner = seat_of(ctx)
    keywords = tuple(dict.fromkeys(arguments["keywords"] or ()))
    evidence_request = Attention(**{**arguments, "keywords": keywords})
    task_question = evidence_request.question if workspace_owner.task_id is not None else None
    workspace_query = asked_by(ctx, task_question)
    attention_result = attend(ctx, ctx.search, workspace_owner, workspace_query, evidence_request)
    note_shown(ctx, attention_result.evidence.items, workspace_owner.branch.id)
    workspace_places = attention_result.mind.workspace
    if attention_result.broadcast is None:
        shown_broadcast, shown_places = (
            None,
            places(ctx, workspace_owner, workspace_places, "conscious"),
        )
    else:
        shown_broadcast = broadcast_shown(workspace_owner, attention_result.broadcast)
        shown_places = placed(
            workspace_places, attention_result.broadcast.round.found.memories, "conscious"
        )
    evidence_plan = _plan(
        attention_result.evidence, 2 * evidence_request.k * evidence_request.passes
    )
    return QuestionAttended(
        question=evidence_request.question,
        planner=evidence_request.planner,
        supported_planners=list(PLANNERS),
        context_count=len(evidence_plan.evidence),
        passes_requested=evidence_request.passes,
        passes_completed=attention_result.trace.passes,
        admit=evidence_request.admit,
        evidence_plan=evidence_plan,
        tool_call_count=len(attention_result.evidence.calls),
        admitted_ids=list(attention_result.admitted),
        broadcast=shown_broadcast,
        workspace=shown_places,
        trace=_trace(attention_result.trace),
        read=_read(workspace_owner, attention_result.evidence),
    )


def resolved(ctx: Context, question: str, planner: str, k: int) -> QuestionResolved:
    """Find the evidence for a question, and show it."""
    workspace_owner = seat_of(ctx)
    evidence = resolve(ctx, ctx.search, Question(question, k), planner)
    evidence_plan = _plan(evidence, 2 * k)
    note_shown(ctx, evidence.items, workspace_owner.branch.id)
    return QuestionResolved(
        question=question,
        planner=planner,
        context_count=len(evidence_plan.evidence),
        evidence_plan=evidence_plan,
        read=_read(workspace_owner, evidence),
    )


def computed(ctx: Context, arguments: Mapping[str, Any]) -> CollectionAnswer:
    """Compute an exact answer over all records, and show what it follows from."""
    collection_query = Asked(**arguments)
    collected_records = collected(ctx)
    computed_answer = answer(collected_records.collection, collection_query)
    shown_records = computed_answer.matched[: collection_query.k]
    return CollectionAnswer(
        operation=collection_query.operation,
        answer=computed_answer.answer,
        matched_count=computed_answer.matched_count,
        matched_records=[_shown(record) for record in shown_records],
        supporting_evidence=quoted(shown_records),
        metadata={
            **computed_answer.metadata,
            "record_count": len(collected_records.collection.records),
            "fields": list(collected_records.collection.names[:_MOST_FIELDS]),
        },
        read=read_of(collected_records.state, collected_records.branch),
    )


def quoted(records: Sequence[Record]) -> list[str]:
    """Quote records, each on one line and each text once."""
    return list(dict.fromkeys(one_line(record.text, _LONGEST) for record in records))


def _shown(record: Record) -> MatchedRecord:
    shown_fields = list(record.fields.items())[:_MOST_FIELDS]
    return MatchedRecord(
        id=one_line(record.id, _LONGEST),
        item_id=record.row_id,
        fields={
            one_line(name, _LONGEST): one_line(value, _LONGEST) for name, value in shown_fields
        },
    )


def explained(ctx: Context) -> TraceExplained:
    """Explain the trace of the last question, with the answer as it may be shown now."""
    workspace_owner = seat_of(ctx)
    workspace_state = mind_of(ctx.repo, workspace_owner)
    if workspace_state.trace is None:
        return TraceExplained(
            status="no_trace", message="No question was attended to yet: call gwt_attend first."
        )
    trace = read_trace(workspace_state.trace)
    answer_text = answer_of(ctx, ctx.search, workspace_owner, asked_by(ctx), trace)
    visible_memories = memories_of(
        ctx.repo, ctx.search, workspace_owner, sorted(trace.ids), asked_by(ctx)
    )
    trace = trace.among_visible(visible_memories)
    return TraceExplained(
        status="ok",
        question=trace.question,
        planner=trace.planner,
        strategy=trace.strategy,
        answer=one_line(answer_text, _LONGEST),
        pass_count=trace.passes,
        tool_call_count=len(trace.calls),
        phases=_phases(trace),
        broadcast_bus=bus_shown(ctx, workspace_owner, workspace_state),
        explanation=_explanation(trace, workspace_state, answer_text),
        trace=_trace(trace),
    )


def _plan(evidence: Evidence, limit: int) -> EvidencePlan:
    exact_evidence = evidence.exact
    quoted_texts = evidence.quotes(limit)
    metadata: dict[str, Json] = {
        "operation": None if exact_evidence is None else exact_evidence.operation,
        "answer_ids": [] if exact_evidence is None else list[Json](exact_evidence.row_ids[:limit]),
        "evidence_ids": [row_id for row_id, _ in quoted_texts],
        "calls": list[Json](evidence.calls),
        "mode": None if evidence.answer is None else evidence.answer.mode_used,
    }
    return EvidencePlan(
        strategy=evidence.strategy,
        answer="" if exact_evidence is None else one_line(exact_evidence.answer, _LONGEST),
        queries=[one_line(query, _LONGEST) for query in evidence.queries],
        evidence=[one_line(quoted_text, _LONGEST) for _, quoted_text in quoted_texts],
        metadata=metadata,
    )


def _read(seat: Seat, evidence: Evidence) -> Read:
    if evidence.answer is not None:
        return read_found(seat.branch.name, evidence.answer)
    return read_of(evidence.state, seat.branch.name)


def _trace(trace: Trace) -> dict[str, Json]:
    return {
        "at": show(trace.at),
        "strategy": trace.strategy,
        "operation": trace.operation,
        "answer_ids": list[Json](trace.answer_ids),
        "calls": list[Json](trace.calls),
        "phases": list[Json](_phases(trace)),
    }


def _phases(trace: Trace) -> list[dict[str, Json]]:
    return [
        {
            "phase": phase.name,
            "pass": phase.number,
            "count": phase.count,
            "item_ids": list[Json](phase.ids),
        }
        for phase in trace.phases
    ]


def _explanation(trace: Trace, mind: Mind, answer: str) -> str:
    """Say in sentences what was done for a question."""
    passes_text = "one pass" if trace.passes == 1 else f"{trace.passes} passes"
    found_count = sum(phase.count for phase in trace.phases if phase.name == "search")
    sentences = [
        f"The planner {trace.planner} looked for evidence in {passes_text}, by the strategy "
        f"{trace.strategy}, with {len(trace.calls)} calls; it found {found_count} "
        f"{'memory' if found_count == 1 else 'memories'}."
    ]
    if answer:
        sentences.append(f"The exact answer was found by {trace.operation}.")
    elif trace.operation is not None:
        sentences.append("The exact answer that was found is not visible any more.")
    else:
        sentences.append("No memory has an exact answer, so the answer is empty.")
    if any(phase.name == "broadcast" for phase in trace.phases):
        workspace_size = len(mind.workspace)
        memory_phrase = "memory has" if workspace_size == 1 else "memories have"
        sentences.append(f"Now {workspace_size} {memory_phrase} a place in the workspace.")
    else:
        sentences.append("Nothing was admitted or broadcast, since admit was false.")
    return " ".join(sentences)
