"""Facts and messages as the items of Compose: a text with its owner, source, age and use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from day1.call.context import Context
from day1.model.layers.row_detail import owner_in
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Query, Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    FACT,
    MESSAGE,
    Cell,
    Kind,
    Row,
    kind_of,
    text_of,
)
from day1.model.values.decay import decay_score
from day1.model.values.wallet_space import Owner
from day1.ports.uses import Use
from day1.services.contexts.vectors import embeds
from day1.toolsets.compose.fields import MemoryVectorItem, SearchResult, Source, milliseconds

_SOURCES: Final[Mapping[str, Source]] = {
    "archive": "archive",
    "pattern": "pattern",
    "skill": "pattern",
    "session": "session",
    "knowledge": "knowledge",
}
"""Category of a fact -> its `source` in answers; all other categories have the source `fact`."""
_DIGITS: Final = 6
"""Decimal places of the scores in answers."""


@dataclass(frozen=True, slots=True)
class ItemContext:
    """Data from outside of rows that their items show, such as uses; built by `item_context`."""

    now: int
    owner: Owner
    """The caller; a row that Compose did not write is shown with the caller's wallet."""
    embeds: bool
    """Whether each text has a vector or gets one."""
    uses: Mapping[str, Use]
    changed_at: Mapping[str, int]
    """The time of the last edit of each row that was edited."""
    conversations: Mapping[str, Row]
    """The conversations of messages, which hold their owner and thread."""

    def detail(self, row: Row) -> dict[str, Any]:
        """Read the detail of a fact, or of the conversation of a message."""
        return read_detail(self._holder(row).get("detail"))

    def owner_of(self, row: Row) -> Owner:
        """Read the owner of a fact or message; without one, the wallet of the call."""
        owner = owner_in(self._holder(row).get("detail"))
        return owner if owner.wallet is not None else Owner(self.owner.wallet)

    def _holder(self, row: Row) -> Row:
        return self.conversations.get(str(row.get("conversation_id")), row)


def item_context(ctx: Context, branch: str, rows: Iterable[Row], owner: Owner) -> ItemContext:
    """Read the uses, last edits and conversations of rows that are to be shown."""
    row_by_id = {str(row["id"]): row for row in rows}
    conversation_ids = {
        str(conversation_id)
        for memory_row in row_by_id.values()
        if (conversation_id := memory_row.get("conversation_id"))
    }
    has_vectors = embeds(ctx.search.embedder)  # may ask an endpoint, so not during a reading
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        edit_query = Query(among={"row_id": list(row_by_id)})
        edit_times = reading.scan(EDIT, ("row_id", "created_at"), edit_query) if row_by_id else []
        conversation_by_id = reading.get(CONVERSATION, sorted(conversation_ids))
    last_edit_at_by_row: dict[str, int] = {}
    for row_id, edited_at in edit_times:
        last_edit_at_by_row[str(row_id)] = max(
            last_edit_at_by_row.get(str(row_id), 0), int(edited_at or 0)
        )
    use_by_id = ctx.search.uses.of(list(row_by_id))
    return ItemContext(
        ctx.clock(), owner, has_vectors, use_by_id, last_edit_at_by_row, conversation_by_id
    )


def search_result(row: Row, score: float, context: ItemContext) -> SearchResult:
    """Show a fact or message as a search result."""
    return SearchResult(**_columns(row, score, context))


def search_results(
    ctx: Context, branch: str, found: Sequence[tuple[Row, float]], owner: Owner
) -> list[SearchResult]:
    """Show found rows with their scores, in their order."""
    items_context = item_context(ctx, branch, (row for row, _ in found), owner)
    return [search_result(row, score, items_context) for row, score in found]


def vector_item(
    row: Row, context: ItemContext, embedding: Sequence[float] | None = None
) -> MemoryVectorItem:
    """Show a fact or message with all that is known of it; its score is 1, as nobody searched."""
    use, changed_at = context.uses.get(str(row["id"])), context.changed_at.get(str(row["id"]))
    detail_values = read_detail(row.get("detail"))
    metadata, retention = detail_values.get("metadata"), detail_values.get("retention")
    is_changed = changed_at is not None and changed_at > int(row["created_at"] or 0)
    return MemoryVectorItem(
        **_columns(row, 1.0, context),
        embedding=None if embedding is None else list(embedding),
        metadata=metadata if isinstance(metadata, dict) else None,
        lastAccessedAt=None if use is None else milliseconds(use.last),
        updatedAt=milliseconds(changed_at) if is_changed and changed_at is not None else None,
        type=text_of(row.get("category")),
        retention=retention if isinstance(retention, str) else None,
        confidence=_number(row.get("confidence")),
        status=text_of(detail_values.get("status")) or text_of(row.get("status")),
    )


def vector_id(row: Row, *, has_vectors: bool) -> str | None:
    """Return the id of a row's vector: the row's own id if it has or gets a vector, else None."""
    awaits_vector = has_vectors and not is_secret(row)
    return str(row["id"]) if awaits_vector or row.get("vector") is not None else None


def source_of(row: Row) -> Source:
    """Return the `source` that vector search shows for a fact or message."""
    if kind_of(str(row["id"])) is MESSAGE:
        return "session"
    return source_of_category(row.get("category"))


def source_of_category(category: Cell) -> Source:
    """Return the `source` that vector search shows for the facts of a category."""
    return _SOURCES.get(str(category), "fact")


def _columns(row: Row, score: float, context: ItemContext) -> dict[str, Any]:
    row_id, created_at = str(row["id"]), int(row["created_at"] or 0)
    row_use, owner = context.uses.get(row_id), context.owner_of(row)
    last_touched_at = max(
        created_at, context.changed_at.get(row_id, 0), 0 if row_use is None else row_use.last
    )
    row_kind: Kind = kind_of(row_id) or FACT
    return {
        "id": row_id,
        "vectorId": vector_id(row, has_vectors=context.embeds),
        "content": str(row[row_kind.text or ""]),
        "score": round(score, _DIGITS),
        "source": source_of(row),
        "agentWallet": owner.wallet or text_of(row.get("agent_id")) or "",
        "userAddress": owner.user,
        "threadId": text_of(context.detail(row).get("threadId")),
        "scope": "global" if owner.device is None else "local",
        "haiId": owner.device,
        "decayScore": round(decay_score(last_touched_at, context.now), _DIGITS),
        "accessCount": 0 if row_use is None else row_use.times,
        "createdAt": milliseconds(created_at),
    }


def _number(cell: object) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None
