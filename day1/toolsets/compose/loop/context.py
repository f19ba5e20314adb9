"""The prompt before a turn: what memory knows of a query, as data, within a budget."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue, model_validator

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.call.operation import Effect, Operation
from day1.model.layers.budget import Mode, budget_of
from day1.model.layers.context_id import context_id
from day1.model.layers.layer import LAYERS, Layer, LayerItem
from day1.model.layers.packing import PackedItem
from day1.model.values.decay import decay_score
from day1.model.values.wallet_space import Owner
from day1.services.access.calls import branch_of
from day1.services.items.finding import Narrowing
from day1.services.layers.assembling import Assembled, assemble
from day1.services.layers.layers import LIMIT, FoundLayers, LayersQuery
from day1.toolsets.compose.fields import (
    AgentMemoryLayer,
    AgentMemoryLoopEnvelope,
    AgentMemoryScope,
    ComposeRequest,
    Content,
    Name,
    SearchResult,
    envelope,
    milliseconds,
    missing,
)
from day1.toolsets.compose.scope import owner_of
from day1.toolsets.compose.shown import search_results, source_of
from day1.toolsets.shared.answers import note_shown
from day1.toolsets.shared.fields import Maybe, absent

_DIGITS: Final = 6
"""Decimal places of the scores in answers."""
_SPELLINGS: Final = ("maxCharacters", "max_chars", "maxContextCharacters", "max_context_chars")

Characters = Annotated[int, Field(ge=1)]


def _text_or_null(schema: dict[str, Any]) -> None:
    """Write the JSON schema of an optional text as the contract has it: a string or null."""
    del schema["anyOf"]
    schema["type"] = ["string", "null"]


class AgentMemoryBudget(ComposeRequest):
    """How long a prompt may be.

    Attributes:
        maxCharacters: The most characters (code points) of the prompt, with the marks around it.
            Default: as the mode says.
        max_chars: The same as `maxCharacters`.
        maxContextCharacters: The same as `maxCharacters`.
        max_context_chars: The same as `maxCharacters`.
        mode: `compact` is 900 characters and 6 items of up to 300; `balanced` (the default) 2,000
            and 12 of up to 400; `recall` 6,000 and 24 of up to 600.
    """

    maxCharacters: Maybe[Characters] = None
    max_chars: Maybe[Characters] = None
    maxContextCharacters: Maybe[Characters] = None
    max_context_chars: Maybe[Characters] = None
    mode: Maybe[Mode] = None

    @model_validator(mode="after")
    def _agree(self) -> "AgentMemoryBudget":
        for spelling in _SPELLINGS:
            if getattr(self, spelling) not in {None, self.characters}:
                raise missing(
                    f"budget.{spelling}", "disagrees with another spelling of it: give one of them"
                )
        return self

    @property
    def characters(self) -> int | None:
        """The maximum length in characters, in any of its spellings; None: the mode decides."""
        spelled_values = (getattr(self, spelling) for spelling in _SPELLINGS)
        return next((value for value in spelled_values if value is not None), None)


class AgentMemoryContextRequest(AgentMemoryScope):
    """The arguments of `context_assemble`.

    Attributes:
        query: What the turn is about: usually the user's message.
        sessionId: The session whose working memory is shown. Default: the one that is called as
            the thread.
        layers: Only these layers. Default: all six.
        limit: The most items that each layer may offer. Default: 6.
        maxItems: The most items of the prompt. Default: as the budget's mode says.
        maxItemChars: The most characters of an item. Default: as the budget's mode says.
        budget: How long the prompt may be. Default: 2,000 characters, 12 items.
        includeRaw: Whether the answer has all that was found, whole, beside the prompt.
    """

    query: Content
    sessionId: Maybe[Name] = None
    layers: Maybe[list[AgentMemoryLayer]] = None
    limit: Maybe[Annotated[int, Field(ge=1, le=20)]] = None
    maxItems: Maybe[Annotated[int, Field(ge=1, le=24)]] = None
    maxItemChars: Maybe[Annotated[int, Field(ge=1, le=2_000)]] = None
    budget: Maybe[AgentMemoryBudget] = None
    includeRaw: Maybe[bool] = None


class AgentMemoryCompactItem(Response):
    """An item of a prompt, as it stands there."""

    layer: str
    text: str
    id: Maybe[str] = absent()
    score: Maybe[float] = absent()
    source: Maybe[str] = absent()
    createdAt: Maybe[int] = absent()


class AgentMemoryContextUsage(Response):
    """What a prompt costs, in characters (code points), and what it saves."""

    characters: int
    rawCharacters: int
    budgetCharacters: Maybe[int] = absent()
    savedCharactersVsRaw: int
    items: int


class AgentMemoryContextResponse(Response):
    """A prompt, its items and its account."""

    loop: AgentMemoryLoopEnvelope
    contextId: str
    prompt: Annotated[str | None, Field(json_schema_extra=_text_or_null)]
    items: list[AgentMemoryCompactItem]
    totals: dict[str, int]
    contextUsage: AgentMemoryContextUsage
    omitted: dict[str, int]
    raw: Maybe[dict[str, list[JsonValue]]] = absent()
    read: Read


def context_assemble(
    ctx: Context, request: AgentMemoryContextRequest
) -> AgentMemoryContextResponse:
    """Assemble a prompt of what memory knows of a query, before reasoning.

    The prompt is data between two marks: one line for each item, none of them an instruction.
    """
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    layers_query = LayersQuery(
        owner,
        request.query,
        request.threadId,
        request.sessionId or request.threadId,
        chosen(request.layers),
        request.limit or LIMIT,
        Narrowing(request.filters or {}),
    )
    requested_budget = request.budget or AgentMemoryBudget()
    budget = budget_of(
        requested_budget.mode, requested_budget.characters, request.maxItems, request.maxItemChars
    )
    assembled_prompt = assemble(ctx.repo, ctx.search, branch, layers_query, budget)
    packed_prompt, found_layers = assembled_prompt.packed, assembled_prompt.found
    shown_ids = [
        packed_item.item.id
        for packed_item in packed_prompt.items
        if packed_item.item.id is not None
    ]
    entries_by_layer = (
        layer_entries(ctx, branch.name, found_layers, owner) if request.includeRaw else None
    )
    note_shown(ctx, shown_ids, branch.id)
    return AgentMemoryContextResponse(
        loop=envelope("pre_turn", "post_turn", "remember"),
        contextId=context_id(shown_ids),
        prompt=packed_prompt.prompt,
        items=[_compact(packed_item) for packed_item in packed_prompt.items],
        totals=packed_prompt.totals,
        contextUsage=_usage(assembled_prompt, budget.characters),
        omitted=packed_prompt.omitted,
        raw=entries_by_layer,
        read=state_of_layers(branch.name, found_layers),
    )


def chosen(layers: Sequence[Layer] | None) -> Sequence[Layer]:
    """Return the layers that a request names; all if it names none."""
    return layers or LAYERS


def layer_entries(
    ctx: Context, branch: str, found: FoundLayers, owner: Owner
) -> dict[str, list[JsonValue]]:
    """Return the found items by layer, with their whole texts."""
    scored_rows = [(item.row, item.score) for item in found.all if item.row is not None]
    result_by_id = {
        search_result.id: search_result
        for search_result in search_results(ctx, branch, scored_rows, owner)
    }

    def entry(item: LayerItem, place: int) -> dict[str, Any]:
        search_result = result_by_id.get(item.id or "") or _line(item, place, owner, ctx.clock())
        return {**search_result.model_dump(mode="json"), "score": round(item.score, _DIGITS)}

    return {
        layer: [entry(item, place) for place, item in enumerate(layer_items)]
        for layer, layer_items in found.items.items()
    }


def _line(item: LayerItem, place: int, owner: Owner, now: int) -> SearchResult:
    """Show a line of a working session as a search result; it is no row, so its id is its position.

    Nobody counts how often it is read.
    """
    return SearchResult(
        id=f"{item.layer}:{place}",
        content=item.text,
        score=item.score,
        source="session",
        agentWallet=owner.wallet or "",
        userAddress=owner.user,
        scope="global" if owner.device is None else "local",
        haiId=owner.device,
        decayScore=round(decay_score(item.created_at, now), _DIGITS),
        accessCount=0,
        createdAt=milliseconds(item.created_at),
    )


def state_of_layers(branch: str, found: FoundLayers) -> Read:
    """Return the branch and state that layers were read from, with the notes of the search."""
    pending_count = found.pending.count
    return Read(branch=branch, commit=found.commit, pending=pending_count, notes=list(found.notes))


def _compact(packed_item: PackedItem) -> AgentMemoryCompactItem:
    layer_item = packed_item.item
    return AgentMemoryCompactItem(
        layer=layer_item.layer,
        text=packed_item.text,
        id=layer_item.id,
        score=round(layer_item.score, _DIGITS),
        source=None if layer_item.row is None else source_of(layer_item.row),
        createdAt=milliseconds(layer_item.created_at),
    )


def _usage(assembled: Assembled, budget_characters: int) -> AgentMemoryContextUsage:
    packed_prompt = assembled.packed
    return AgentMemoryContextUsage(
        characters=packed_prompt.characters,
        rawCharacters=packed_prompt.raw_characters,
        budgetCharacters=budget_characters,
        savedCharactersVsRaw=packed_prompt.raw_characters - packed_prompt.characters,
        items=len(packed_prompt.items),
    )


OPERATIONS: Final = (Operation("context_assemble", context_assemble, Effect.READ),)
