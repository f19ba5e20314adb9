"""Looking into the layers, and ranking documents that memory does not keep."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, JsonValue

from day1.call.context import Context
from day1.call.fields import JsonObject, Read, Response
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.services.access.calls import branch_of
from day1.services.items.finding import Narrowing
from day1.services.layers.layers import LIMIT, LayersQuery, find_layers
from day1.services.layers.reranking import rerank_texts
from day1.toolsets.compose.fields import ComposeRequest, Content, Few, MemorySearchRequest, missing
from day1.toolsets.compose.loop.context import chosen, layer_entries, state_of_layers
from day1.toolsets.compose.scope import owner_of
from day1.toolsets.shared.answers import note_shown
from day1.toolsets.shared.fields import Maybe

_MAX_DOCUMENTS: Final = 20
"""Maximum number of entries that a search answers for each layer."""
_DOCUMENTS: Final = 200
_DIGITS: Final = 6
"""Decimal places of the scores in answers."""
_TEXTS: Final = ("text", "content", "memory", "document", "summary")
"""Fields of a document that may hold its text: the first field that is present is taken."""


class LayeredSearchResponse(Response):
    """What the layers have for a query, in the words of vector search."""

    query: str
    layers: dict[str, list[JsonValue]]
    totals: dict[str, int]
    read: Read


def layers_search(ctx: Context, request: MemorySearchRequest) -> LayeredSearchResponse:
    """Search the layers of memory, each by itself, without a budget."""
    if request.limit is not None and request.limit > _MAX_DOCUMENTS:
        raise missing("limit", f"must be from 1 to {_MAX_DOCUMENTS} in each layer")
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    layers_query = LayersQuery(
        owner,
        request.query,
        request.threadId,
        request.threadId,
        chosen(request.layers),
        request.limit or LIMIT,
        Narrowing(request.filters or {}, run=request.runId),
    )
    found_layers = find_layers(ctx.repo, ctx.search, branch, layers_query)
    entries_by_layer = layer_entries(ctx, branch.name, found_layers, owner)
    items_best_first = sorted(found_layers.all, key=lambda item: (-item.score, item.place))
    note_shown(ctx, (item.id for item in items_best_first), branch.id)
    return LayeredSearchResponse(
        query=request.query,
        layers=entries_by_layer,
        totals={layer: len(items) for layer, items in found_layers.items.items()},
        read=state_of_layers(branch.name, found_layers),
    )


def items_search(ctx: Context, request: MemorySearchRequest) -> LayeredSearchResponse:
    """Search the items of memory by layer, under the second name of `layers_search`."""
    return layers_search(ctx, request)


def _few_documents(documents: list[JsonObject]) -> list[JsonObject]:
    if len(documents) > _DOCUMENTS:
        raise ValueError(f"must have at most {_DOCUMENTS} items")
    return documents


class RerankRequest(ComposeRequest):
    """The arguments of `rerank`.

    Attributes:
        query: What the documents are ranked by.
        documents: At most 200 objects. The text of one is its first field of `text`, `content`,
            `memory`, `document`, `summary`.
        topK: The most results. Default: all.
    """

    query: Content
    documents: Annotated[list[JsonObject], AfterValidator(_few_documents)]
    topK: Maybe[Few] = None


class RerankResponse(Response):
    """The documents, best first, each with its `index` in the request and its `score`."""

    results: list[dict[str, JsonValue]]
    read: Read


def rerank(ctx: Context, request: RerankRequest) -> RerankResponse:
    """Rank documents by a query, in memory; nothing of them is stored."""
    document_texts = [_text_of(document, index) for index, document in enumerate(request.documents)]
    ranking = rerank_texts(ctx.search, request.query, document_texts)
    best_documents: list[dict[str, Any]] = [
        {**request.documents[index], "index": index, "score": round(score, _DIGITS)}
        for index, score in ranking.best[: request.topK]
    ]
    read_state = Read(branch=None, commit="", notes=ranking.notes)
    return RerankResponse(results=best_documents, read=read_state)


def _text_of(document: JsonObject, place: int) -> str:
    """Return the text of a document.

    Raises:
        InvalidRequest: it has none; the error names its place.
    """
    text = next((document[field] for field in _TEXTS if field in document), None)
    if not isinstance(text, str) or not text.strip():
        raise _without_text(place)
    return text


def _without_text(place: int) -> InvalidRequest:
    field_names = ", ".join(f"`{field}`" for field in _TEXTS)
    return missing(f"documents.{place}", f"needs a text under one of {field_names}")


OPERATIONS: Final = (
    Operation("layers_search", layers_search, Effect.READ),
    Operation("items_search", items_search, Effect.READ),
    Operation("rerank", rerank, Effect.READ),
)
