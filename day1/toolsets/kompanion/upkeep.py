"""Tools of Kompanion that prepare a namespace for search."""

from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Read, Repeatable, Request, Response, When, Written, written
from day1.call.operation import Effect, Operation
from day1.model.rows.change import Ref
from day1.model.values.instant import parse
from day1.services.access.calls import branch_of, write_here
from day1.services.contexts.promoting import Promotion, promote
from day1.services.contexts.warming import embed_soon, the_embedder, warm
from day1.toolsets.kompanion.fields import SpaceLabel, space_of
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.fields import Maybe


class WarmCache(Request):
    """The arguments of `warm_cache` (S3-008).

    Attributes:
        namespace: Whose texts get vectors, as with `save_context`.
        since: Only texts that were first kept at this time or later (ISO 8601).
    """

    namespace: SpaceLabel
    since: Maybe[When] = None


class CacheWarmed(Response):
    """How many texts had no vector, and are queued (S3-008)."""

    queued: int
    read: Read


def warm_cache(ctx: Context, request: WarmCache) -> CacheWarmed:
    """Embed texts of a namespace that have no vector."""
    branch = branch_of(ctx)
    queued_count = warm(
        ctx.search,
        (branch.name, branch.id),
        space_of(request.namespace),
        None if request.since is None else parse(request.since),
        ctx.clock(),
    )
    return CacheWarmed(queued=queued_count, read=state_of(ctx, branch.name))


class SyncSemantic(Repeatable):
    """The arguments of `sync_semantic` (S3-009).

    Attributes:
        namespace: Whose contexts to promote, as with `save_context`.
        max_batch: How many contexts to promote at most; default: 100.
    """

    namespace: SpaceLabel
    max_batch: Maybe[Annotated[int, Field(ge=1, le=1_000)]] = 100


class Synced(Response):
    """How many contexts were promoted, and how many wait (S3-009)."""

    processed: int
    pending: int
    written: Written


def sync_semantic(ctx: Context, request: SyncSemantic) -> Synced:
    """Make facts of saved contexts, by passages; skips secret and expired ones."""
    embedder = the_embedder(ctx.search)
    write_context = write_here(ctx, request)
    promote_result = promote(
        write_context.repo,
        embedder,
        Promotion(
            write_context.branch,
            space_of(request.namespace),
            write_context.origin,
            ctx.clock(),
            request.max_batch or 100,
        ),
    )
    notes = embed_soon(
        ctx.search,
        embedder,
        (write_context.branch.name, write_context.branch.id),
        promote_result.hashes,
    )
    with ctx.repo.store.reading(Ref(branch=write_context.branch.name)) as reading:
        written_state = written(
            write_context.branch.name, reading.tip, reading.pending.count, notes
        )
    return Synced(
        processed=promote_result.processed, pending=promote_result.pending, written=written_state
    )


OPERATIONS: Final = (
    Operation("warm_cache", warm_cache, Effect.READ, idempotent=True),
    Operation("sync_semantic", sync_semantic, Effect.WRITE, idempotent=True),
)
