"""Graph memory: facts word for word, and the relations that touch what they name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from day1.call.context import Context
from day1.call.fields import Read, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.contexts.keyed import sensitivity
from day1.model.layers.row_detail import detail_of
from day1.model.prime.framing import without_frames
from day1.model.rows.change import Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import Row, text_of
from day1.model.rows.validation import one_memory, secret_notes
from day1.model.values.instant import show
from day1.model.values.wallet_space import Owner
from day1.services.access.calls import branch_of
from day1.services.items.finding import Narrowing, meant_facts, newest_facts, relations_named
from day1.services.items.remembering import ToRemember, remember_each
from day1.services.rows.recording import NewFact
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search
from day1.toolsets.compose.fields import (
    GraphMemoryItem,
    GraphMemoryItemsResponse,
    MemorySearchRequest,
    Metadata,
    Name,
    Objects,
    TwiceNamed,
    WalletRequired,
)
from day1.toolsets.compose.loop.remember import FACT_TYPE
from day1.toolsets.compose.scope import owner_of, write_of
from day1.toolsets.compose.shown import ItemContext, item_context
from day1.toolsets.shared.answers import note_shown, read_found, read_of
from day1.toolsets.shared.fields import Limit, Maybe

LISTED: Final = 50
"""Number of memories in an answer if the caller sets no limit."""
_DIGITS: Final = 6


class MemoryAddRequest(TwiceNamed):
    """The arguments of `graph_add` (S2-054).

    Attributes:
        messages: What was said: objects with `role` and `content`. What users said becomes facts,
            word for word, and what others said does not.
        runId: The run in which it was said.
        threadId: The thread in which it was said.
        metadata: What you note of each fact, by which `filters` can choose.
        enableGraph: Whether relations may be read out of it. None are, so it changes nothing.
    """

    messages: Objects
    runId: Maybe[Name] = None
    threadId: Maybe[Name] = None
    metadata: Metadata = None
    enableGraph: Maybe[bool] = None


class GraphMemoryAdded(Response):
    """The facts of the users' messages, in their order."""

    result: GraphMemoryItemsResponse
    written: Written


class GraphMemoryFound(Response):
    """Facts, best or newest first."""

    result: GraphMemoryItemsResponse
    read: Read


class MemoryListRequest(WalletRequired):
    """The arguments of `list` (S2-022).

    Attributes:
        limit: How many memories to answer, from 1 to 200. Default: 50.
    """

    limit: Maybe[Limit] = None


def graph_add(ctx: Context, request: MemoryAddRequest) -> GraphMemoryAdded:
    """Keep what users said as facts, word for word."""
    user_texts = _users_texts(request.messages)
    notes = secret_notes(ctx.limits.secrets, *user_texts)
    owner = owner_of(ctx, request)
    fact_detail = detail_of(
        owner, threadId=request.threadId, metadata=request.metadata, runId=request.runId
    )
    fact_sensitivity = sensitivity(None, request.metadata)
    write_context = write_of(ctx, owner, request.runId)
    new_facts = [
        ToRemember(
            NewFact(text, FACT_TYPE, space=owner.space, sensitivity=fact_sensitivity), fact_detail
        )
        for text in user_texts
    ]
    fact_rows, branch_after = remember_each(
        write_context.repo, write_context.branch, new_facts, write_context.origin
    )
    return GraphMemoryAdded(
        result=_items(
            ctx, write_context.branch.name, [(fact_row, None) for fact_row in fact_rows], owner
        ),
        written=written(write_context.branch.name, branch_after.tip, branch_after.pending, notes),
    )


def graph_search(ctx: Context, request: MemorySearchRequest) -> GraphMemoryFound:
    """Find facts by meaning and words, with the relations that touch what they name."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    memory_filter = Narrowing(request.filters or {}, request.threadId, request.runId)
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        fact_ids = meant_facts(reading, owner.spaces, ctx.clock(), memory_filter)
    search_request = SearchRequest(
        request.query, limit=request.limit or LISTED, spaces=owner.spaces, only=fact_ids
    )
    search_answer = search(ctx.search, Ref(branch=branch.name), branch.id, search_request)
    scored_rows = [(hit.row, hit.score) for hit in search_answer.hits]
    note_shown(ctx, (row["id"] for row, _ in scored_rows), branch.id)
    return GraphMemoryFound(
        result=_items(ctx, branch.name, scored_rows, owner),
        read=read_found(branch.name, search_answer),
    )


def list_memories(ctx: Context, request: MemoryListRequest) -> GraphMemoryFound:
    """List the facts that an agent sees, newest first."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        fact_rows = newest_facts(reading, owner.spaces, ctx.clock(), request.limit or LISTED)
        read_state = read_of(reading, branch.name)
    unscored_rows = [(row, None) for row in fact_rows]
    return GraphMemoryFound(result=_items(ctx, branch.name, unscored_rows, owner), read=read_state)


def _users_texts(messages: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    """Return the texts of the users' messages, without memory prompts that they quote.

    Raises:
        InvalidRequest: a message lacks its role or content, or its content is no memory.
    """
    user_texts, problems = [], []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not role:
            problems.append({"argument": f"messages.{index}.role", "problem": "must be a text"})
        problem = _problem(content)
        if problem is not None:
            problems.append({"argument": f"messages.{index}.content", "problem": problem})
        elif role == "user" and (text := without_frames(str(content)).strip()):
            user_texts.append(text)
    if problems:
        problem_text = "; ".join(
            f"{item_problem['argument']}: {item_problem['problem']}"
            for item_problem in problems[:3]
        )
        raise InvalidRequest(f"{problem_text}.", problems=list(problems))
    return user_texts


def _problem(content: JsonValue) -> str | None:
    """Say why a content cannot be a memory; None if it can."""
    if not isinstance(content, str):
        return "must be a text"
    try:
        one_memory(content)
    except ValueError as error:
        return str(error)
    return None


def _items(
    ctx: Context, branch: str, found: Sequence[tuple[Row, float | None]], owner: Owner
) -> list[GraphMemoryItem]:
    """Show facts with their relations."""
    items_context = item_context(ctx, branch, (row for row, _ in found), owner)
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        fact_texts = [str(row["fact_text"]) for row, _ in found]
        relations_per_fact = relations_named(reading, owner.spaces, ctx.clock(), fact_texts)
    return [
        _item(row, score, fact_relations, items_context)
        for (row, score), fact_relations in zip(found, relations_per_fact, strict=True)
    ]


def _item(
    row: Row, score: float | None, relations: Sequence[Row], context: ItemContext
) -> GraphMemoryItem:
    owner, detail = context.owner_of(row), read_detail(row["detail"])
    metadata: Any = detail.get("metadata")
    changed_at, created_at = context.changed_at.get(str(row["id"])), int(row["created_at"] or 0)
    return GraphMemoryItem(
        id=str(row["id"]),
        memory=str(row["fact_text"]),
        user_id=owner.user,
        agent_id=owner.wallet,
        run_id=text_of(detail.get("runId")),
        metadata=metadata if isinstance(metadata, dict) else {},
        created_at=show(created_at),
        updated_at=show(max(created_at, changed_at or 0)),
        relations=[
            {
                "id": str(relation["id"]),
                "source": str(relation["source_entity"]),
                "relationship": str(relation["relation_type"]),
                "target": str(relation["target_entity"]),
            }
            for relation in relations
        ],
        score=None if score is None else round(score, _DIGITS),
    )


OPERATIONS: Final = (
    Operation("graph_add", graph_add, Effect.WRITE),
    Operation("graph_search", graph_search, Effect.READ),
    Operation("list", list_memories, Effect.READ),
)
