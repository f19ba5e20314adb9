"""Vector memory: texts with vectors, found by meaning."""

from typing import Annotated, Final

from pydantic import AfterValidator

from day1.call.context import Context
from day1.call.fields import Read, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.contexts.given_vector import sound_vector
from day1.model.contexts.keyed import sensitivity
from day1.model.layers.row_detail import detail_of
from day1.services.access.calls import branch_of
from day1.services.contexts.matching import Where
from day1.services.contexts.vectors import embeds, foreign
from day1.services.items.finding import Narrowing
from day1.services.items.indexing import ToIndex, index_text
from day1.services.items.nearest import ItemQuery, nearest_items
from day1.services.items.remembering import ToRemember
from day1.services.rows.recording import NewFact
from day1.toolsets.compose.fields import (
    Content,
    Few,
    Metadata,
    Name,
    Number,
    SearchResult,
    Source,
    WalletRequired,
    missing,
)
from day1.toolsets.compose.scope import own_words, owner_of, write_of
from day1.toolsets.compose.shown import search_results, vector_id
from day1.toolsets.shared.answers import note_shown, read_found
from day1.toolsets.shared.fields import Maybe, absent

FOUND: Final = 10
"""Number of results in an answer if the caller sets no limit."""
Vector = Annotated[list[float], AfterValidator(sound_vector)]


class VectorSearchRequest(WalletRequired):
    """The arguments of `vector_search` (S2-056).

    Attributes:
        query: What to look for.
        queryEmbedding: The vector of the query, which is then not embedded. It is compared with
            vectors of its length only, so it must come from day1's model or from that of given
            vectors.
        threadId: Without texts of other threads. Default: of all threads.
        filters: Only facts whose metadata has each of these keys with an equal value.
        limit: How many texts to answer, from 1 to 200. Default: 10.
        threshold: The least score of an answered text. Default: no limit.
    """

    query: Content
    queryEmbedding: Maybe[Vector] = None
    threadId: Maybe[Name] = None
    filters: Metadata = None
    limit: Maybe[Few] = None
    threshold: Maybe[Number] = None


class VectorSearchResponse(Response):
    """The found texts, best first (S2-090)."""

    results: list[SearchResult]
    read: Read


class VectorIndexRequest(WalletRequired):
    """The arguments of `vector_index` (S2-057).

    Attributes:
        content: The text; one that the owner has already is changed and not stored twice.
        embedding: Its vector, if a model of your own made it. A vector equal to that of the
            store's model is not kept, because the store makes it by itself.
        threadId: The thread that it comes from.
        source: What kind of text it is.
        metadata: What you note of it, by which `filters` can choose.
    """

    content: Content
    embedding: Maybe[Vector] = None
    threadId: Maybe[Name] = None
    source: Source
    metadata: Metadata = None


class VectorIndexResponse(Response):
    """The id of the stored text, and of its vector if it has one or waits for one (S2-090)."""

    success: bool
    vectorId: Maybe[str] = absent()
    id: str
    written: Written


def vector_search(ctx: Context, request: VectorSearchRequest) -> VectorSearchResponse:
    """Find facts and messages by meaning."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    item_query = ItemQuery(
        request.query,
        owner.spaces,
        ctx.clock(),
        request.queryEmbedding,
        request.limit or FOUND,
        Narrowing(request.filters or {}, request.threadId),
        request.threshold,
    )
    try:
        scored_rows, search_answer = nearest_items(
            Where(ctx.search, branch.name, branch.id), item_query
        )
    except InvalidRequest as error:
        if request.queryEmbedding is None:
            raise
        vector_length = len(request.queryEmbedding)
        raise missing(
            "queryEmbedding", f"has {vector_length} numbers, and no vector here has that length"
        ) from error
    note_shown(ctx, (row["id"] for row, _ in scored_rows), branch.id)
    return VectorSearchResponse(
        results=search_results(ctx, branch.name, scored_rows, owner),
        read=read_found(branch.name, search_answer),
    )


def vector_index(ctx: Context, request: VectorIndexRequest) -> VectorIndexResponse:
    """Keep a text so that it is found by meaning."""
    content, notes = own_words(ctx, "content", request.content)
    owner, fact_sensitivity = owner_of(ctx, request), sensitivity(None, request.metadata)
    text_vector = request.embedding
    if text_vector is not None and fact_sensitivity is None:
        text_vector = (
            text_vector if foreign(ctx.search.embedder, [(content, text_vector)])[0] else None
        )
    new_fact = NewFact(content, request.source, space=owner.space, sensitivity=fact_sensitivity)
    fact_detail = detail_of(owner, threadId=request.threadId, metadata=request.metadata)
    set_fields = {"category"} | ({"metadata"} if request.metadata is not None else set())
    write_context = write_of(ctx, owner)
    text_to_index = ToIndex(ToRemember(new_fact, fact_detail, frozenset(set_fields)), text_vector)
    index_result = index_text(
        write_context.repo, write_context.branch, text_to_index, write_context.origin
    )
    return VectorIndexResponse(
        success=True,
        vectorId=vector_id(index_result.row, has_vectors=embeds(ctx.search.embedder)),
        id=str(index_result.row["id"]),
        written=written(
            write_context.branch.name, index_result.commit, index_result.pending, notes
        ),
    )


OPERATIONS: Final = (
    Operation("vector_search", vector_search, Effect.READ),
    Operation("vector_index", vector_index, Effect.WRITE),
)
