"""Items one by one: facts and messages by id, to read, correct and delete."""

from typing import Final, Literal

from day1.call.context import Context
from day1.call.fields import Read, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import EmbedderUnavailable
from day1.model.branches.branch import Branch
from day1.model.contexts import given_vector
from day1.model.redaction.veil import is_secret, shown_row
from day1.model.rows.change import Ref
from day1.model.rows.kind import Row, kind_of, text_of
from day1.model.values.wallet_space import Owner
from day1.services.access.calls import branch_of
from day1.services.contexts.vectors import text_vectors
from day1.services.items.changing import ItemUpdate, Wanted, delete_item, update_item
from day1.services.items.finding import Narrowing, item_of
from day1.services.redaction.redacting import look, redact
from day1.toolsets.compose.fields import (
    Content,
    MemoryVectorItem,
    Metadata,
    Name,
    Part,
    Whose,
)
from day1.toolsets.compose.scope import expiry_of, own_words, owner_of, write_of
from day1.toolsets.compose.shown import item_context, vector_item
from day1.toolsets.shared.answers import note_shown, read_of, state_of
from day1.toolsets.shared.fields import Maybe, absent

_PURGE: Final = (
    "The text is in no answer and in no index any more, nor is any equal text on any branch. Its "
    "bytes are still in the store's files until `day1 gc --purge-redacted` rewrites them."
)


class MemoryItemRequest(Whose):
    """The arguments of `items_get` (S2-042).

    Attributes:
        id: The memory: a fact or a message.
        includeEmbedding: Whether the answer has the text's vector. Default: no.
    """

    id: Name
    includeEmbedding: Maybe[bool] = None


class MemoryItemResponse(Response):
    """One memory (S2-107)."""

    item: MemoryVectorItem
    read: Read


class MemoryItemUpdateRequest(Whose):
    """The arguments of `items_update` (S2-108).

    Attributes:
        id: The memory to change: a fact. A message stays as it was said.
        threadId: The thread of the memory: one of another thread is not found. Default: any.
        content: Its new text.
        metadata: Its new metadata, in place of the old.
        retention: How long it is kept from now on: a span such as 12h, 7d or 4w ends it; with any
            other word it does not end.
        confidence: How certain it is, from 0 to 1.
        status: `archived` and `superseded` hide it from searches and lists, `active` brings it
            back.
        filters: Change it only if its metadata has each of these keys with an equal value.
    """

    id: Name
    threadId: Maybe[Name] = None
    content: Maybe[Content] = None
    metadata: Metadata = None
    retention: Maybe[Name] = None
    confidence: Maybe[Part] = None
    status: Maybe[Literal["active", "superseded", "archived"]] = None
    filters: Metadata = None


class MemoryItemUpdateResponse(Response):
    """The memory as it is now, and whether that is a change (S2-108)."""

    updated: bool
    item: Maybe[MemoryVectorItem] = absent()
    written: Written


class MemoryItemDeleteRequest(Whose):
    """The arguments of `items_delete` (S2-044).

    Attributes:
        id: The memory: a fact or a message.
        hardDelete: Whether its text becomes unreadable for good, on all branches, with all equal
            texts. It needs the scope admin, and cannot be undone. Default: no, and it can.
    """

    id: Name
    hardDelete: Maybe[bool] = None


class MemoryItemDeleteResponse(Response):
    """What was done (S2-109)."""

    deleted: bool
    hardDeleted: bool
    written: Written


def items_get(ctx: Context, request: MemoryItemRequest) -> MemoryItemResponse:
    """Show one memory, with its vector if that is asked."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        memory_row = item_of(reading, owner.spaces, request.id, ctx.clock()).row
        read_state = read_of(reading, branch.name)
    vector = _vector(ctx, memory_row) if request.includeEmbedding else None
    shown_item = _shown(ctx, branch, memory_row, owner, vector)
    note_shown(ctx, [request.id], branch.id)
    return MemoryItemResponse(item=shown_item, read=read_state)


def items_update(ctx: Context, request: MemoryItemUpdateRequest) -> MemoryItemUpdateResponse:
    """Correct a fact in place, archive it or bring it back."""
    owner = owner_of(ctx, request)
    content, notes = None, list[str]()
    if request.content is not None:
        content, notes = own_words(ctx, "content", request.content)
    item_update = ItemUpdate(
        content,
        request.confidence,
        request.metadata,
        request.retention,
        expiry_of(ctx, request.retention),
        request.status,
    )
    item_query = Wanted(
        request.id, owner.spaces, Narrowing(request.filters or {}, request.threadId)
    )
    write_context = write_of(ctx, owner)
    update_result = update_item(
        write_context.repo, write_context.branch, item_query, item_update, write_context.origin
    )
    return MemoryItemUpdateResponse(
        updated=update_result.is_changed,
        item=_shown(ctx, write_context.branch, update_result.row, owner),
        written=written(
            write_context.branch.name, update_result.commit, update_result.pending, notes
        ),
    )


def items_delete(ctx: Context, request: MemoryItemDeleteRequest) -> MemoryItemDeleteResponse:
    """Hide a memory so that it can be restored, or with `hardDelete` for good."""
    owner = owner_of(ctx, request)
    if request.hardDelete:
        return _hard_delete(ctx, request, owner)
    write_context = write_of(ctx, owner)
    item_query = Wanted(request.id, owner.spaces)
    delete_result = delete_item(
        write_context.repo, write_context.branch, item_query, write_context.origin
    )
    return MemoryItemDeleteResponse(
        deleted=True,
        hardDeleted=False,
        written=written(write_context.branch.name, delete_result.commit, delete_result.pending),
    )


def _hard_delete(
    ctx: Context, request: MemoryItemDeleteRequest, owner: Owner
) -> MemoryItemDeleteResponse:
    """Redact a memory, as `memory_redact` does.

    Raises:
        Forbidden: the token lacks the scope admin, or does not see every branch.
        NotFound: the owner has no such memory.
    """
    ctx.caller.access.require("admin", "items_delete with hardDelete")
    branch, now = branch_of(ctx), ctx.clock()
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        item_of(reading, owner.spaces, request.id, now, deleted=True)
    redact(ctx.repo, look(ctx.repo, request.id), None, owner.wallet, now)
    read_state = state_of(ctx, branch.name)
    return MemoryItemDeleteResponse(
        deleted=True,
        hardDeleted=True,
        written=written(branch.name, read_state.commit, read_state.pending, [_PURGE]),
    )


def _shown(
    ctx: Context, branch: Branch, row: Row, owner: Owner, vector: list[float] | None = None
) -> MemoryVectorItem:
    row_kind = kind_of(str(row["id"]))
    if row_kind is not None and row.get("space") != owner.space:  # a secret shared with others
        row = shown_row(row_kind, row)
    return vector_item(row, item_context(ctx, branch.name, [row], owner), vector)


def _vector(ctx: Context, row: Row) -> list[float] | None:
    """Return the vector that came with a text, else that of day1's model; None without either."""
    kept_vector, embedder = row.get("vector"), ctx.search.embedder
    if kept_vector is not None:
        return given_vector.from_kept(str(kept_vector))
    if embedder is None or is_secret(row):
        return None
    memory_text = text_of(row.get("fact_text")) or text_of(row.get("content")) or ""
    try:
        vector: list[float] = text_vectors(embedder, [memory_text]).vectors[0].tolist()
    except EmbedderUnavailable:
        return None
    return vector


OPERATIONS: Final = (
    Operation("items_get", items_get, Effect.READ),
    Operation("items_update", items_update, Effect.WRITE),
    Operation("items_delete", items_delete, Effect.DESTROY),
)
