"""Tools for knowledge bundles: create, import, list."""

from day1.call.context import Context
from day1.call.fields import Label, Labels, Read, Repeatable, Request, Response, Text, Time, Written
from day1.call.operation import Effect, Operation
from day1.errors import Advice, Step
from day1.model.records.sharing import Bundle, ShelfStatus
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, RELATION
from day1.services.access.calls import active_or_none, agent_of, branch_of, repeatable, writable
from day1.services.rows.transplanting import memories
from day1.services.sharing.bundles import NewBundle, create_bundle, import_bundle, list_bundles
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.fields import Limit


class BundleCreate(Repeatable):
    """The arguments of `knowledge_bundle_create` (S1-084).

    Attributes:
        name: The bundle's name; several may have the same.
        source_branch: The branch whose facts and conversations are bundled, as it is now.
        description: What the bundle holds.
        tags: Labels of the bundle; they are only shown.
        only_verified: Whether only verified facts are taken; otherwise all active facts are, and
            all relations.
    """

    name: Label
    source_branch: Label
    description: Text | None = None
    tags: Labels | None = None
    only_verified: bool | None = True


class BundleItem(Response):
    """A bundle in a list (S1-084, S1-086)."""

    id: str
    name: str
    description: str | None
    tags: list[str]
    source_branch: str
    source_commit: str
    only_verified: bool
    fact_count: int
    relation_count: int
    conversation_count: int
    message_count: int
    sha256: str
    status: str
    created_at: Time


class BundleCreated(BundleItem):
    """A new bundle, with the branch that it was made from (S1-084)."""

    read: Read


def bundle_create(ctx: Context, request: BundleCreate) -> BundleCreated:
    """Bundle a branch's facts and conversations, to import into other branches or stores."""
    new_bundle = NewBundle(
        name=request.name,
        description=request.description,
        tags=tuple(request.tags or ()),
        verified_only=request.only_verified is not False,
        created_by=agent_of(ctx.caller),
    )
    repo, source_branch = repeatable(ctx, request), branch_of(ctx, request.source_branch)
    bundle = create_bundle(repo, source_branch, new_bundle, ctx.clock())
    read_state = state_of(ctx, source_branch.name)
    if not bundle.fact_count:
        read_state.notes.append(_why_empty(verified_only=bundle.verified_only))
    return BundleCreated(**dict(bundle_item(bundle)), read=read_state)


def _why_empty(*, verified_only: bool) -> str | Advice:
    if verified_only:
        return Advice(
            "No fact is verified: {verify_batch} judges them, {every} takes all.",
            every=Step("knowledge_bundle_create", {"only_verified": False}),
        )
    return "The branch has no active facts."


def bundle_item(bundle: Bundle) -> BundleItem:
    """Convert a bundle to its shown form."""
    return BundleItem.from_record(bundle, only_verified=bundle.verified_only)


class BundleImport(Repeatable):
    """The arguments of `knowledge_bundle_import` (S1-085).

    Attributes:
        bundle_id: The bundle, by the id that knowledge_bundle_create or `day1 bundle import`
            answered.
        target_branch: The branch to copy its rows to. Rows that it has already stay as they are.
    """

    bundle_id: Label
    target_branch: Label


class RowLeft(Response):
    """A row that the import left unchanged."""

    id: str
    why: str


class BundleImported(Response):
    """The rows imported; `skipped` memories existed already (S1-085)."""

    facts_imported: int
    conversations_imported: int
    relations_imported: int
    messages_imported: int
    skipped: int
    left: list[RowLeft]
    """Rows that have other content there, or were removed there: never overwritten. And edits that
    would hide a memory that the bundle lacks."""
    written: Written


def bundle_import(ctx: Context, request: BundleImport) -> BundleImported:
    """Copy a bundle's rows to a branch; a second time adds nothing."""
    target_branch = writable(ctx, request.target_branch)
    import_result = import_bundle(ctx.repo, request.bundle_id, target_branch)
    read_state = state_of(ctx, target_branch.name)
    added_count_by_table = import_result.added
    return BundleImported(
        facts_imported=added_count_by_table.get(FACT.table, 0),
        conversations_imported=added_count_by_table.get(CONVERSATION.table, 0),
        relations_imported=added_count_by_table.get(RELATION.table, 0),
        messages_imported=added_count_by_table.get(MESSAGE.table, 0),
        skipped=memories(import_result.present),
        left=[RowLeft.from_record(row) for row in import_result.left],
        written=Written(branch=target_branch.name, commit=read_state.commit),
    )


class BundleList(Request):
    """The arguments of `knowledge_bundle_list` (S1-086).

    Attributes:
        status: Only bundles of this status. `active`: in use; `deprecated`: taken out of use.
        limit: How many to answer at most.
    """

    status: ShelfStatus | None = "active"
    limit: Limit | None = 20


class Bundles(Response):
    """The bundles of a store, newest first (S1-086)."""

    bundles: list[BundleItem]
    read: Read


def bundle_list(ctx: Context, request: BundleList) -> Bundles:
    """Knowledge bundles, newest first."""
    bundles = list_bundles(ctx.repo, request.status or "active", request.limit or 20)
    return Bundles(
        bundles=[bundle_item(bundle) for bundle in bundles], read=state_of(ctx, active_or_none(ctx))
    )


OPERATIONS = (
    Operation("knowledge_bundle_create", bundle_create, Effect.WRITE),
    Operation("knowledge_bundle_import", bundle_import, Effect.WRITE, idempotent=True),
    Operation("knowledge_bundle_list", bundle_list, Effect.READ),
)
