"""The tools that store, link and find items."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    Labels,
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
from day1.model.rows.validation import secret_notes
from day1.services.access.calls import spaces_of, write_here
from day1.toolsets.gwt.fields import MemoryTypeName, Most, checked_type
from day1.toolsets.shared.answers import (
    Quoted,
    note_shown,
    quoted_field,
    quoted_of,
    read_found,
    texts_of,
)
from day1.toolsets.shared.fields import Maybe


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Ids = Annotated[Labels, BeforeValidator(_as_list)]
"""Ids of memories: a list, or one id."""


class GwtStore(Repeatable):
    """The arguments of `gwt_store` (S0-002).

    Attributes:
        content: What to remember: one claim or event, that can be understood alone.
        memory_type: What it is: a fact is `semantic`, how to do something `procedural`, an event
            `episodic`, a note for the work at hand `working`.
        tags: Words to group it by.
        link_to: The id of a memory that belongs with it, or a list of ids.
    """

    content: MemoryText
    memory_type: MemoryTypeName = "semantic"
    tags: Maybe[Labels] = None
    link_to: Maybe[Ids] = None


class ItemStored(Response):
    """The stored memory (S0-002)."""

    id: str
    memory_type: str
    activation_state: str
    linked_to: list[str]
    tags: list[str]
    status: Label
    written: Written


def gwt_store(ctx: Context, request: GwtStore) -> ItemStored:
    """Remember one thing; it waits for a place in the workspace."""
    from day1.services.workspace.desks import admit, seat_of  # noqa: PLC0415 - a server starts without it
    from day1.services.workspace.storing import NewItem, store_item  # noqa: PLC0415 - a server starts without it

    memory_type = checked_type(request.memory_type)
    notes = secret_notes(ctx.limits.secrets, request.content)
    write_context = write_here(ctx, request)
    workspace_owner = seat_of(ctx, write_context.branch)
    tags = tuple(dict.fromkeys(request.tags or ()))
    new_item = NewItem(request.content, memory_type, tags, space=write_context.space)
    spaces = spaces_of(ctx, None)
    stored_item = store_item(
        write_context, new_item, request.link_to or (), spaces, request.request_id
    )
    item, now = stored_item.item, ctx.clock()
    workspace_state = admit(ctx.repo, workspace_owner, (item.id,), now)
    branch_after, branch_name = stored_item.after, write_context.branch.name
    return ItemStored(
        id=item.id,
        memory_type=item.memory_type,
        activation_state=workspace_state.state_of(item.id),
        linked_to=list(stored_item.linked),
        tags=item.tags,
        status="stored",
        written=written(
            branch_name, branch_after.tip, branch_after.pending, [*notes, *stored_item.notes]
        ),
    )


class GwtLink(Repeatable):
    """The arguments of `gwt_link` (S0-039).

    Attributes:
        source_id: The id of a memory.
        target_id: The id of another one; a link goes both ways.
    """

    source_id: Label
    target_id: Label


class Linked(Response):
    """The two memories that are linked now (S0-039)."""

    status: Label
    source_id: str
    target_id: str
    written: Written


def gwt_link(ctx: Context, request: GwtLink) -> Linked:
    """Link two memories that belong together."""
    from day1.services.workspace.storing import link_items  # noqa: PLC0415 - a server starts without it

    write_context = write_here(ctx, request)
    branch_after = link_items(
        write_context, request.source_id, request.target_id, spaces_of(ctx, None)
    )
    return Linked(
        status="linked",
        source_id=request.source_id,
        target_id=request.target_id,
        written=written(write_context.branch.name, branch_after.tip, branch_after.pending),
    )


class GwtQuery(Request):
    """The arguments of `gwt_query` (S0-008).

    Attributes:
        query: What to look for, as a question or as words.
        k: How many memories to answer at most.
        memory_type: Only memories of this type; default: all.
        admit: Whether what is found waits for a place in the workspace, and counts as used.
        full: Whether long texts are answered whole. Otherwise a text of more than 1,000 characters
            is answered as the passage that fits best, and `quoted` says where that lies.
    """

    query: Text
    k: Most = 5
    memory_type: Maybe[MemoryTypeName] = None
    admit: bool = False
    full: Maybe[bool] = False


class ItemFound(Response):
    """A memory that was found, and where it stands in the workspace (S0-008)."""

    id: str
    content: str
    memory_type: str
    activation_state: str
    activation_level: Annotated[float, Field(ge=0, le=1)]
    """How recently and how often questions found it."""
    linked_ids: list[str]
    tags: list[str]
    admitted: bool
    score: float
    quoted: Quoted | None = quoted_field()


class ItemsFound(Response):
    """The memories that were found, best first (S0-008)."""

    result: list[ItemFound]
    read: Read


def gwt_query(ctx: Context, request: GwtQuery) -> ItemsFound:
    """Find memories by meaning and words."""
    from day1.model.workspace.activation import activation  # noqa: PLC0415 - a server starts without it
    from day1.services.workspace.desks import (  # noqa: PLC0415 - a server starts without it
        change_mind,
        mind_of,
        seat_of,
    )
    from day1.services.workspace.items import find_items, links_on_branch  # noqa: PLC0415 - as above

    memory_type = None if request.memory_type is None else checked_type(request.memory_type)
    workspace_owner, now = seat_of(ctx), ctx.clock()
    found_items = find_items(ctx, ctx.search, request.query, request.k, memory_type)
    if request.admit and found_items.ids:
        workspace_state = change_mind(
            ctx.repo,
            workspace_owner,
            lambda mind: mind.found(found_items.ids, now).admitted(found_items.ids, now),
            now,
        )
    else:
        workspace_state = mind_of(ctx.repo, workspace_owner)
    linked_ids_by_item = links_on_branch(ctx, found_items.ids)
    note_shown(ctx, found_items.ids, workspace_owner.branch.id)
    hit_by_id = {str(hit.row["id"]): hit for hit in found_items.answer.hits}
    whole_texts = [hit_by_id[row_id].text for row_id in found_items.ids]
    quoted_texts = texts_of(ctx, request.query, whole_texts, full=request.full)
    return ItemsFound(
        result=[
            ItemFound(
                id=item.id,
                content=quoted_text.text,
                memory_type=item.memory_type,
                activation_state=workspace_state.state_of(item.id),
                activation_level=round(
                    activation(item.created_at, workspace_state.uses.get(item.id), now), 6
                ),
                linked_ids=list(linked_ids_by_item[item.id]),
                tags=item.tags,
                admitted=request.admit,
                score=round(hit_by_id[item.id].score, 6),
                quoted=quoted_of(quoted_text),
            )
            for item, quoted_text in zip(found_items.items, quoted_texts.texts, strict=True)
        ],
        read=read_found(workspace_owner.branch.name, found_items.answer, quoted_texts.notes),
    )


OPERATIONS: Final = (
    Operation("gwt_store", gwt_store, Effect.WRITE),
    Operation("gwt_link", gwt_link, Effect.WRITE, idempotent=True),
    Operation("gwt_query", gwt_query, Effect.WRITE, scope="read"),
)
