"""Tools that find: search, graph query, timeline."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import InSpace, Label, OnBranch, Read, Request, Response, Space, Text, When
from day1.call.operation import Effect, Operation
from day1.errors import Json, Step
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import BY_NAME, Row, revision, text_of
from day1.model.search.passages import QuotedText
from day1.model.values.instant import parse, show, show_optional
from day1.services.access.calls import branch_of, in_space, spaces_of
from day1.services.rows.graph import neighbourhood
from day1.services.rows.spaces import empty_space
from day1.services.rows.timeline import Moment, Window, read_timeline
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from day1.services.search.searching import search
from day1.toolsets.shared.answers import (
    Full,
    PartOfText,
    Quoted,
    Texts,
    note_shown,
    part_shown,
    quoted_field,
    quoted_of,
    read_found,
    read_of,
    texts_of,
)
from day1.toolsets.shared.fields import Limit

FULL: Final = Step("memory_search", {"full": True})


class TimeRange(Request):
    """A window of time; each side is optional.

    Attributes:
        after: Only what happened at this time or later (ISO 8601).
        before: Only what happened at this time or earlier (ISO 8601); of a bare date the whole day
            counts.
    """

    after: When | None = None
    before: When | None = None


class MemorySearch(Request):
    """The arguments of `memory_search` (S1-019).

    Attributes:
        query: What to look for, as a question or as words.
        search_type: `vector` goes by meaning, `keyword` by words, `hybrid` by both. Without a
            model all go by words; `read.mode` says what was done.
        category: Only facts of this category; observations have none and are left out then.
        limit: How many memories to answer at most.
        time_range: Only what happened in this window; memories without `happened_at` count by when
            they were written. Each side may be left out.
        types: Which memories to search; default: facts.
        at: Search memory as it was at this time (ISO 8601); default: as it is.
        include_inactive: Whether superseded, archived and invalidated facts are found too, and
            those not true now.
        space: Only memories of this space, such as project:metal; `shared`: only those of none;
            `*`: all. Default: the connection's, else all.
        as_of_event: Search what was true at this time (ISO 8601), superseded or not since then;
            default: what is true now. Together with `at`: what was held true then.
        wait: Whether to wait until every text is indexed. Otherwise the search answers sooner, and
            `read.notes` says how many vectors are missing.
        full: Whether long texts are answered whole. Otherwise a text of more than 1,000 characters
            is answered as the passage that fits best, and `quoted` says where that lies.
    """

    query: Text
    search_type: Literal["hybrid", "vector", "keyword"] | None = "hybrid"
    category: Label | None = None
    branch: OnBranch = None
    limit: Limit | None = 10
    time_range: Annotated[TimeRange | None, Field(description="ISO after, before")] = None
    types: Annotated[
        list[Literal["fact", "observation"]] | None, Field(description="default: fact")
    ] = None
    at: Annotated[When | None, Field(description="ISO; memory as it was then")] = None
    space: InSpace = None
    as_of_event: Annotated[When | None, Field(description="ISO; what was true then")] = None
    include_inactive: bool | None = False
    wait: Annotated[bool | None, Field(description="wait until every text has its vector")] = False
    full: Full = False


class MemoryHit(Response):
    """A memory that was found (S1-020); `quoted` is set if its text is a passage."""

    id: str
    type: str
    fact_text: str
    quoted: Quoted | None = quoted_field()
    category: str | None
    score: float
    confidence: float | None = None
    status: str | None = None
    verification: str | None = None
    passage: str | None = None
    part: PartOfText = None
    agent_id: str | None = None
    happened_at: str | None = None
    created_at: str
    revision: str


class Hits(Response):
    """The memories that were found, best first (S1-020)."""

    result: list[MemoryHit]
    read: Read


def memory_search(ctx: Context, request: MemorySearch) -> Hits:
    """Find memories by meaning and by words, best first. Superseded facts are left out."""
    branch_name, search_answer = searched(ctx, request)
    return hits(
        branch_name,
        search_answer,
        texts_of(
            ctx,
            request.query,
            [hit.text for hit in search_answer.hits],
            full=request.full,
            again=FULL,
        ),
    )


def searched(ctx: Context, request: MemorySearch) -> tuple[str, SearchAnswer]:
    """Run `memory_search`; return the branch's name and the answer."""
    time_range = request.time_range or TimeRange()
    return found(
        ctx,
        request.branch,
        None if request.at is None else parse(request.at, end=True),
        SearchRequest(
            query=request.query,
            mode=request.search_type or "hybrid",
            kinds=tuple(BY_NAME[type_name].table for type_name in request.types or ("fact",)),
            category=request.category,
            after=None if time_range.after is None else parse(time_range.after),
            before=None if time_range.before is None else parse(time_range.before, end=True),
            limit=request.limit or 10,
            include_inactive=bool(request.include_inactive),
            as_of_event=event_of(request.as_of_event),
            spaces=spaces_of(ctx, request.space),
            wait=bool(request.wait),
        ),
    )


def event_of(text: str | None) -> int | None:
    """Parse the instant of `as_of_event`; a bare date means its end."""
    return None if text is None else parse(text, end=True)


def found(
    ctx: Context, branch: str | None, until: int | None, request: SearchRequest
) -> tuple[str, SearchAnswer]:
    """Search a branch, now or as of an instant; return its name and the answer."""
    searched_branch = branch_of(ctx, branch)
    search_answer = search(
        ctx.search, Ref(branch=searched_branch.name, until=until), searched_branch.id, request
    )
    note_shown(ctx, (hit.row["id"] for hit in search_answer.hits), searched_branch.id)
    return searched_branch.name, search_answer


def hits(branch: str, answer: SearchAnswer, texts: Texts) -> Hits:
    """Build the answer of a search from its hits and their texts."""
    return Hits(
        result=[
            shown_hit(*hit_and_text) for hit_and_text in zip(answer.hits, texts.texts, strict=True)
        ],
        read=read_found(branch, answer, texts.notes),
    )


def shown_hit(hit: Hit, text: QuotedText) -> MemoryHit:
    """Convert a hit to its shown form, with its whole text or a passage."""
    row = hit.row
    return MemoryHit(
        id=str(row["id"]),
        type=hit.kind.name,
        fact_text=text.text,
        quoted=quoted_of(text),
        category=row.get("category") or row.get("observation_type"),
        score=round(hit.score, 6),
        confidence=row.get("confidence"),
        status=row.get("status"),
        verification=row.get("verification"),
        passage=text.quotation,
        part=hit.part and part_shown(hit.part),
        agent_id=row["agent_id"],
        happened_at=show_optional(row["happened_at"]),  # type: ignore[arg-type]  # an integer column
        created_at=show(int(row["created_at"] or 0)),
        revision=revision(hit.kind, row),
    )


_USUAL: Final[Mapping[str, Json]] = {
    "type": "fact",
    "confidence": 1.0,
    "status": "active",
    "verification": "unverified",
}


def in_brief(hit: Mapping[str, Json]) -> dict[str, Json]:
    """Shorten a hit for a model, which pays for each word: usual values are left out.

    `category` is there even without a value, because the seed promises it (S1-020).
    """
    return {
        name: value
        for name, value in hit.items()
        if name == "category"
        or (value is not None and name != "revision" and value != _USUAL.get(name))
    }


class GraphQuery(Request):
    """The arguments of `memory_graph_query` (S1-023).

    Attributes:
        entity: The entity to start from, with its name as it was written.
        relation_type: Only relations of this type; default: all.
        depth: How many relations to follow from the entity; 1 answers its own.
        at: Read memory as it was at this time (ISO 8601); default: as it is.
        space: As in memory_search.
        as_of_event: Only relations that were true at this time (ISO 8601); default: those that are.
    """

    entity: Label
    relation_type: Label | None = None
    depth: Annotated[int, Field(ge=1, le=5)] | None = 1
    branch: OnBranch = None
    at: When | None = None
    space: Space | None = None
    as_of_event: When | None = None


class GraphEdge(Response):
    """A relation; equal triples are one edge with their count (S1-024)."""

    source: str
    target: str
    relation: str
    properties: dict[str, Any]
    count: int
    id: str


class Graph(Response):
    """The relations around an entity, nearest first (S1-024)."""

    result: list[GraphEdge]
    read: Read


def graph_query(ctx: Context, request: GraphQuery) -> Graph:
    """Relations around an entity, both directions, nearest first."""
    branch_name = branch_of(ctx, request.branch).name
    ref = ctx.repo.shown(at(branch_name, request.at))
    event_time = event_of(request.as_of_event)
    column_conditions: Row = in_space(ctx, request.space)
    if request.relation_type is not None:
        column_conditions["relation_type"] = request.relation_type
    relation_query = Query(
        equal=column_conditions,
        before=event_time,
        present_at=ref.shown_at if event_time is None else event_time,
    )
    with ctx.repo.store.reading(ref) as reading:
        edges = neighbourhood(reading, request.entity, relation_query, request.depth or 1)
        notes = [] if edges else ["No relation touches this entity."]
        notes += empty_space(reading, column_conditions, edges)
        return Graph(
            result=[
                GraphEdge(
                    source=str(edge.newest["source_entity"]),
                    target=str(edge.newest["target_entity"]),
                    relation=str(edge.newest["relation_type"]),
                    properties=json.loads(str(edge.newest["properties"] or "{}")),
                    count=edge.count,
                    id=str(edge.newest["id"]),
                )
                for edge in edges
            ],
            read=read_of(reading, branch_name, *notes),
        )


def at(branch: str, instant: str | None) -> Ref:
    """Return where to read a branch: its present state, or that of an ISO time."""
    return Ref(branch=branch, until=None if instant is None else parse(instant, end=True))


class Timeline(Request):
    """The arguments of `memory_timeline` (S1-026).

    Attributes:
        session_id: Only what was written in this session; default: all.
        after: Only what happened, or else was written, at this time or later (ISO 8601).
        before: Only what happened, or else was written, at this time or earlier (ISO 8601).
        limit: How many memories to answer at most; the newest of the window are chosen.
        at: Read memory as it was at this time (ISO 8601); default: as it is.
        space: As in memory_search.
        as_of_event: Only what was true at this time (ISO 8601), or had happened by then; default:
            all that was ever true.
    """

    session_id: Label | None = None
    branch: OnBranch = None
    after: When | None = None
    before: When | None = None
    limit: Annotated[int, Field(ge=1, le=500)] | None = 50
    at: When | None = None
    space: Space | None = None
    as_of_event: When | None = None


class TimelineItem(Response):
    """A fact or observation, and when it happened (S1-027)."""

    type: str
    timestamp: str
    content: str
    id: str
    agent_id: str | None
    session_id: str | None


class TimelineItems(Response):
    """Facts and observations, oldest first (S1-027)."""

    result: list[TimelineItem]
    read: Read


def memory_timeline(ctx: Context, request: Timeline) -> TimelineItems:
    """The newest facts and observations, oldest first, by when they happened."""
    branch_name = branch_of(ctx, request.branch).name
    session_condition: Row = (
        {} if request.session_id is None else {"session_id": request.session_id}
    )
    timeline_window = Window(
        session_condition | in_space(ctx, request.space),
        None if request.after is None else parse(request.after),
        None if request.before is None else parse(request.before, end=True),
        event_of(request.as_of_event),
        request.limit or 50,
    )
    timeline = read_timeline(ctx.repo, at(branch_name, request.at), timeline_window)
    return TimelineItems(
        result=[shown_moment(moment) for moment in timeline.moments],
        read=read_of(timeline.read, branch_name, *timeline.notes),
    )


def shown_moment(moment: Moment) -> TimelineItem:
    """Convert a row of a timeline to its shown form."""
    row = moment.row
    return TimelineItem(
        type=moment.kind.name,
        timestamp=show(moment.at),
        content=str(row[moment.kind.text or ""]),
        id=str(row["id"]),
        agent_id=text_of(row["agent_id"]),
        session_id=text_of(row["session_id"]),
    )


OPERATIONS = (
    Operation("memory_search", memory_search, Effect.READ, brief=in_brief),
    Operation("memory_graph_query", graph_query, Effect.READ),
    Operation("memory_timeline", memory_timeline, Effect.READ),
)
