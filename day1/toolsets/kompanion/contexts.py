"""Tools of Kompanion that save JSON and fetch it back."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from day1.call.context import Context
from day1.call.fields import Label, Read, Repeatable, Request, Response, When, Written
from day1.call.operation import Effect, Operation
from day1.model.contexts.content import from_kept, kept_json
from day1.model.contexts.keyed import sensitivity
from day1.model.rows.change import Ref
from day1.model.rows.json_columns import read_detail, read_tags
from day1.model.rows.kind import Row, text_of
from day1.model.values.instant import SECOND, parse, show
from day1.services.access.calls import branch_of, write_here
from day1.services.contexts.contexts import NewContext, Recall, recall, save
from day1.services.rows.spaces import empty_space
from day1.toolsets.kompanion.fields import Sensitivity, SpaceLabel, Tags, space_of
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Lasting, Maybe, absent


class SaveContext(Repeatable):
    """The arguments of `save_context` (S3-002).

    Attributes:
        namespace: Where the context belongs: `kind:name`, such as project:metal, thread:7 or
            user:ann; `shared` is what belongs to no namespace.
        key: Its name in the namespace: the same key again replaces it, and history keeps the old
            one. Without a key each call keeps a new context.
        content: Any JSON of at most 32,768 characters; it comes back as it is.
        tags: Up to 100 words to fetch it by.
        ttl_seconds: How long it is kept, more than 0 and at most 100 years; default: for ever.
        sensitivity: `secret` keeps it out of search, lists, exports and bundles; only
            `recall_context` tells it. Default: secret where `content.sensitivity` or a tag says
            so, else normal.
    """

    namespace: SpaceLabel
    key: Maybe[Label] = None
    content: Annotated[Any, AfterValidator(kept_json)]
    tags: Maybe[Tags] = None
    ttl_seconds: Maybe[Lasting] = None
    sensitivity: Maybe[Sensitivity] = None


class ContextSaved(Response):
    """The context's id, and when it was first saved (S3-002)."""

    id: str
    created_at: str
    written: Written


def save_context(ctx: Context, request: SaveContext) -> ContextSaved:
    """Keep any JSON; the same namespace and key replaces it."""
    ttl_seconds = request.ttl_seconds
    now = ctx.clock()
    new_context = NewContext(
        space_of(request.namespace),
        request.key,
        request.content,
        request.tags or (),
        None if ttl_seconds is None else now + max(1, round(ttl_seconds * SECOND)),
        _secret(request),
    )
    write_context = write_here(ctx, request)
    context_row, branch_after = save(
        write_context.repo, write_context.branch, new_context, write_context.origin
    )
    return ContextSaved(
        id=str(context_row["id"]),
        created_at=show(int(context_row["created_at"] or 0)),
        written=Written(
            branch=write_context.branch.name, commit=branch_after.tip, pending=branch_after.pending
        ),
    )


def _secret(request: SaveContext) -> str | None:
    sensitivity_level = sensitivity(request.sensitivity, request.content, request.tags)
    return None if sensitivity_level == "normal" else sensitivity_level


class RecallContext(Request):
    """The arguments of `recall_context` (S3-004).

    Attributes:
        namespace: Where the contexts belong, as with `save_context`.
        key: Only the context of this key.
        tags: Only contexts with each of these tags.
        limit: How many to answer at most; default: 20.
        since: Only contexts that were first kept at this time or later (ISO 8601).
    """

    namespace: SpaceLabel
    key: Maybe[Label] = None
    tags: Maybe[Tags] = None
    limit: Maybe[Annotated[int, Field(ge=1, le=200)]] = 20
    since: Maybe[When] = None


class ContextItem(Response):
    """A context; empty fields are left out (S3-004)."""

    id: str
    key: str | None = absent()
    content: Any
    tags: list[str] | None = absent()
    created_at: str
    expires_at: str | None = absent()


class ContextItems(Response):
    """The contexts, the newest first (S3-004)."""

    items: list[ContextItem]
    read: Read


def recall_context(ctx: Context, request: RecallContext) -> ContextItems:
    """Fetch saved JSON by key, tags (all) or time, newest first."""
    branch_name = branch_of(ctx).name
    recall_conditions = Recall(
        space_of(request.namespace),
        ctx.clock(),
        request.key,
        request.tags or (),
        None if request.since is None else parse(request.since),
        request.limit or 20,
    )
    with ctx.repo.store.reading(Ref(branch=branch_name)) as reading:
        context_items = [_shown(row) for row in recall(reading, recall_conditions)]
        notes = empty_space(reading, {"space": recall_conditions.space}, context_items)
        return ContextItems(items=context_items, read=read_of(reading, branch_name, *notes))


def _shown(row: Row) -> ContextItem:
    stored_json, expires_at = text_of(row["structure"]), row["expires_at"]
    return ContextItem(
        id=str(row["id"]),
        key=read_detail(row["detail"]).get("key"),
        content=str(row["summary"])
        if stored_json is None
        else from_kept(stored_json),  # redacted, or edited
        tags=read_tags(row["tags"]) or None,
        created_at=show(int(row["created_at"] or 0)),
        expires_at=None if expires_at is None else show(int(expires_at)),
    )


OPERATIONS: Final = (
    Operation("save_context", save_context, Effect.WRITE),
    Operation("recall_context", recall_context, Effect.READ),
)
