"""Tools of Kompanion that store texts and find them by meaning and words."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_validator

from day1.call.context import Context
from day1.call.fields import (
    JsonObject,
    Label,
    MemoryText,
    Read,
    Repeatable,
    Request,
    Response,
    Text,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.errors import UnknownModel
from day1.model.contexts.given_vector import sound_vector
from day1.model.contexts.keyed import sensitivity
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import text_of
from day1.model.search.passages import QuotedText
from day1.services.access.calls import branch_of, write_here
from day1.services.contexts.matching import Match, Wanted, Where, matching
from day1.services.contexts.memories import NewMemory, upsert
from day1.services.contexts.vectors import foreign, text_vectors
from day1.services.contexts.warming import the_embedder
from day1.toolsets.kompanion.fields import SpaceLabel, space_of
from day1.toolsets.shared.answers import (
    Quoted,
    note_shown,
    quoted_field,
    quoted_of,
    read_found,
    texts_of,
)
from day1.toolsets.shared.fields import Maybe, absent

_MAX_NAMED: Final = 10
"""Maximum number of memories that a note names."""
_Vector = Annotated[list[float], AfterValidator(sound_vector)]


class EmbedText(Request):
    """The arguments of `embed_text` (S3-005).

    Attributes:
        model: The model to embed with; refused if the store has another.
        texts: Up to 256 texts.
    """

    model: Maybe[Label] = None
    texts: Annotated[list[Text], Field(max_length=256)]


class Embedded(Response):
    """One vector of length 1 for each text, in their order (S3-005)."""

    model: str
    vectors: list[list[float]]
    read: Read


def embed_text(ctx: Context, request: EmbedText) -> Embedded:
    """Embed texts with the store's model."""
    embedder = the_embedder(ctx.search)
    if request.model not in {None, embedder.name}:
        raise UnknownModel(
            f"This store embeds with {embedder.name}, and with no other model: leave `model` out.",
            model=embedder.name,
        )
    embed_result = text_vectors(embedder, request.texts)
    notes = []
    if embed_result.long:
        notes.append(
            f"{embed_result.long} of the texts are longer than the model reads at once: their "
            "vectors are means of their passages, of length 1."
        )
    return Embedded(
        model=embedder.name,
        vectors=[vector.tolist() for vector in embed_result.vectors],
        read=Read(branch=None, commit="", notes=notes),
    )


class MemoryItem(Request):
    """A text to store.

    Attributes:
        id: Your own id for it in the namespace; default: a new id, which is returned.
        text: What it says.
        metadata: What you note of it: a JSON object, by which `search_memory` can filter. With
            `sensitivity: secret` in it the memory is found by no search, and is in no export or
            bundle.
        embedding: Its vector, if a model of your own made it. A vector equal to that of the
            store's model is not kept, because the store makes it by itself.
    """

    id: Maybe[Label] = None
    text: MemoryText
    metadata: Maybe[JsonObject] = None
    embedding: Maybe[_Vector] = None


class UpsertMemory(Repeatable):
    """The arguments of `upsert_memory` (S3-006).

    Attributes:
        namespace: Where the memories belong, as with `save_context`.
        items: Up to 1,000 texts; all are kept, or none.
    """

    namespace: SpaceLabel
    items: Annotated[list[MemoryItem], Field(max_length=1_000)]

    @model_validator(mode="after")
    def _each_once(self) -> "UpsertMemory":
        item_ids = [item.id for item in self.items if item.id is not None]
        if len(set(item_ids)) < len(item_ids):
            raise ValueError("items must not name the same id twice")
        return self


class MemoriesUpserted(Response):
    """The number of upserted memories, and their ids (S3-006)."""

    upserted: int
    ids: list[str]
    written: Written


def upsert_memory(ctx: Context, request: UpsertMemory) -> MemoriesUpserted:
    """Keep texts for search; the same id updates in place."""
    sensitivities = [sensitivity(None, item.metadata) for item in request.items]
    vectors = _vectors_to_store(ctx, request.items, sensitivities)
    new_memories = [
        NewMemory(item.text, item.id, item.metadata, vector, item_sensitivity)
        for item, vector, item_sensitivity in zip(
            request.items, vectors, sensitivities, strict=True
        )
    ]
    write_context = write_here(ctx, request)
    upsert_result = upsert(
        write_context.repo,
        write_context.branch,
        space_of(request.namespace),
        new_memories,
        write_context.origin,
    )
    notes = _still_hidden(upsert_result.hidden)
    written_state = written(
        write_context.branch.name, upsert_result.written.tip, upsert_result.written.pending, notes
    )
    return MemoriesUpserted(
        upserted=len(new_memories), ids=upsert_result.ids, written=written_state
    )


def _still_hidden(hidden: Mapping[str, str]) -> list[str]:
    if not hidden:
        return []
    hidden_text = ", ".join(
        f"{memory_id} ({memory_state})"
        for memory_id, memory_state in list(hidden.items())[:_MAX_NAMED]
    )
    more_text = f" and {len(hidden) - _MAX_NAMED} more" if len(hidden) > _MAX_NAMED else ""
    return [
        f"No search finds {hidden_text}{more_text}: give such a memory another text to bring it "
        "back."
    ]


def _vectors_to_store(
    ctx: Context, items: Sequence[MemoryItem], secret: Sequence[str | None]
) -> list[list[float] | None]:
    """Return each item's vector if it is of another model, or of a secret text; else None."""
    items_with_vectors = [
        (item, item.embedding if item_sensitivity is None else None)
        for item, item_sensitivity in zip(items, secret, strict=True)
    ]
    texts_and_vectors = [
        (item.text, vector) for item, vector in items_with_vectors if vector is not None
    ]
    foreign_flags = iter(
        foreign(ctx.search.embedder, texts_and_vectors) if texts_and_vectors else ()
    )
    return [
        item.embedding if vector is None or next(foreign_flags) else None
        for item, vector in items_with_vectors
    ]


class MemoryQuery(Request):
    """A text or a vector to search by.

    Attributes:
        text: What to look for, as a question or as words.
        embedding: A vector to search by instead of the text's; it is compared with vectors of
            the same model only.
        k: How many memories to answer at most; default: 10.
        filter: Only memories whose metadata has each of these keys with an equal value.
    """

    text: Maybe[Text] = None
    embedding: Maybe[_Vector] = None
    k: Maybe[Annotated[int, Field(ge=1, le=200)]] = 10
    filter: Maybe[JsonObject] = None

    @model_validator(mode="after")
    def _something(self) -> "MemoryQuery":
        if self.text is None and self.embedding is None:
            raise ValueError("a query needs `text`, `embedding` or both")
        return self


class SearchMemory(Request):
    """The arguments of `search_memory` (S3-007).

    Attributes:
        namespace: Where the memories belong, as with `save_context`.
        query: What to look for.
        full: Whether long texts are answered whole. Otherwise a text of more than 1,000 characters
            is answered as the passage that fits best, and `quoted` says where that lies.
    """

    namespace: SpaceLabel
    query: MemoryQuery
    full: Maybe[bool] = False


class MemoryMatch(Response):
    """A memory that was found; empty fields are left out (S3-007).

    `quoted` is set if `text` is a passage.
    """

    id: str
    score: float
    text: str
    quoted: Quoted | None = quoted_field()
    metadata: dict[str, Any] | None = absent()


class MemoryMatches(Response):
    """The memories that were found, best first (S3-007)."""

    matches: list[MemoryMatch]
    read: Read


def search_memory(ctx: Context, request: SearchMemory) -> MemoryMatches:
    """Find texts of one namespace; memory_search looks through all."""
    branch, request_query = branch_of(ctx), request.query
    memory_query = Wanted(
        (space_of(request.namespace),),
        ctx.clock(),
        request_query.text,
        request_query.embedding,
        request_query.k or 10,
        request_query.filter or {},
    )
    matches, search_answer = matching(Where(ctx.search, branch.name, branch.id), memory_query)
    note_shown(ctx, (match.row["id"] for match in matches), branch.id)
    found_texts = [match.text for match in matches]
    quoted_texts = texts_of(ctx, request_query.text or "", found_texts, full=request.full)
    return MemoryMatches(
        matches=[
            _shown(*match_and_text)
            for match_and_text in zip(matches, quoted_texts.texts, strict=True)
        ],
        read=read_found(branch.name, search_answer, quoted_texts.notes),
    )


def _shown(match: Match, text: QuotedText) -> MemoryMatch:
    detail = read_detail(match.row["detail"])
    metadata = detail.get("metadata")
    return MemoryMatch(
        id=text_of(detail.get("id")) or str(match.row["id"]),
        score=round(match.score, 6),
        text=text.text,
        quoted=quoted_of(text),
        metadata=metadata if isinstance(metadata, dict) else None,
    )


OPERATIONS: Final = (
    Operation("embed_text", embed_text, Effect.READ),
    Operation("upsert_memory", upsert_memory, Effect.WRITE),
    Operation("search_memory", search_memory, Effect.READ),
)
