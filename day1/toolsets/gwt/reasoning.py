"""The tools that answer from memory and explain: questions, collections, the trace and the bus."""

from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Request, ShortText
from day1.call.operation import Effect, Operation
from day1.services.workspace.desks import mind_of, seat_of
from day1.toolsets.gwt.errors import unsupported
from day1.toolsets.gwt.fields import QUERIES, Most, PlannerName, QueryName, checked_planner
from day1.toolsets.gwt.question_fields import (
    BusInspected,
    CollectionAnswer,
    QuestionAttended,
    QuestionResolved,
    TraceExplained,
)
from day1.toolsets.shared.fields import Maybe


class GwtAttend(Request):
    """The arguments of `gwt_attend` (S0-009).

    Attributes:
        question: What to attend to; it becomes the goal, unless the agents of a task have one.
        keywords: Words that matter to it.
        k: How many memories each search finds at most; as many may be linked with them.
        passes: How often to search and broadcast at most.
        planner: How to look for evidence.
        admit: Whether what is found waits for a place and is broadcast.
    """

    question: ShortText
    keywords: Maybe[Labels] = None
    k: Most = 5
    passes: Annotated[int, Field(ge=1, le=10)] = 1
    planner: PlannerName = "auto"
    admit: bool = True


def gwt_attend(ctx: Context, request: GwtAttend) -> QuestionAttended:
    """Find evidence for a question, let it compete, and broadcast what wins."""
    from day1.toolsets.gwt import questions  # noqa: PLC0415 - a server starts without it

    checked_planner(request.planner)
    return questions.attended(ctx, request.model_dump())


class GwtResolve(Request):
    """The arguments of `gwt_resolve` (S0-010).

    Attributes:
        question: The question.
        planner: How to look for evidence.
        k: How many memories a search finds at most; as many may be linked with them.
    """

    question: ShortText
    planner: PlannerName = "auto"
    k: Most = 50


def gwt_resolve(ctx: Context, request: GwtResolve) -> QuestionResolved:
    """Find evidence for a question. `answer` is empty unless the evidence has the exact answer."""
    from day1.toolsets.gwt import questions  # noqa: PLC0415 - a server starts without it

    checked_planner(request.planner)
    return questions.resolved(ctx, request.question, request.planner, request.k)


class GwtCollectionQuery(Request):
    """The arguments of `gwt_collection_query` (S0-011).

    Attributes:
        operation: What to compute.
        field: A field of the records.
        value: Count only records with this value in `field`.
        metric: The field whose numbers count: for average, sum, min, max, top_k and compare.
        k: How many records to show at most; `top_k` answers this many.
        group_field: compare: the field that tells two groups apart.
        group_a: The value of one group.
        group_b: The value of the other group.
    """

    operation: QueryName
    field: Maybe[Label] = None
    value: Maybe[Label] = None
    metric: Maybe[Label] = None
    k: Most = 5
    group_field: Maybe[Label] = None
    group_a: Maybe[Label] = None
    group_b: Maybe[Label] = None


def gwt_collection_query(ctx: Context, request: GwtCollectionQuery) -> CollectionAnswer:
    """Compute an exact answer over all records: JSON, tables and `key: value` lines in memory."""
    from day1.toolsets.gwt import questions  # noqa: PLC0415 - a server starts without it

    if request.operation not in QUERIES:
        raise unsupported("operation", request.operation, "supported_operations", QUERIES)
    return questions.computed(ctx, request.model_dump())


class GwtTraceExplain(Request):
    """`gwt_trace_explain` has no arguments (S0-016)."""


def gwt_trace_explain(ctx: Context, _: GwtTraceExplain) -> TraceExplained:
    """Explain how the last question was attended to."""
    from day1.toolsets.gwt import questions  # noqa: PLC0415 - a server starts without it

    return questions.explained(ctx)


class GwtBusInspect(Request):
    """`gwt_bus_inspect` has no arguments (S0-017)."""


def gwt_bus_inspect(ctx: Context, _: GwtBusInspect) -> BusInspected:
    """Show what the subscribers proposed after the last broadcast, and what was decided."""
    from day1.toolsets.gwt.rounds import bus_shown  # noqa: PLC0415 - as above

    workspace_owner = seat_of(ctx)
    workspace_state = mind_of(ctx.repo, workspace_owner)
    bus_json = bus_shown(ctx, workspace_owner, workspace_state)
    return BusInspected(
        status="idle" if bus_json["result"] is None else "ok",
        broadcast_bus=bus_json,
        summary=bus_json["summary"] or {},
    )


OPERATIONS: Final = (
    Operation("gwt_attend", gwt_attend, Effect.WRITE, scope="read"),
    Operation("gwt_resolve", gwt_resolve, Effect.READ),
    Operation("gwt_collection_query", gwt_collection_query, Effect.READ),
    Operation("gwt_trace_explain", gwt_trace_explain, Effect.READ),
    Operation("gwt_bus_inspect", gwt_bus_inspect, Effect.READ),
)
