"""The rows that an import of a source makes, without a store."""

from day1.model.rows.kind import Row
from day1.model.rows.origin import Origin
from day1.ports.source import Draft, EventDraft, Item, Source
from day1.services.exchange.foreign_rows import row_of

_TEXTS = (
    "fact_text", "category", "summary", "source_entity", "relation_type", "target_entity",
)  # fmt: skip


def rows_of(source: Source) -> dict[str, Row]:
    """The rows by id, of which no two are made of different drafts; events are as they come."""
    drafts: dict[str, Item] = {}
    for item in source.items():
        for draft in item:
            assert drafts.setdefault(draft.id, draft) == draft
    return {
        draft_id: row_of(_row(draft), Origin(agent_id="test"), 1)[1]
        for draft_id, draft in drafts.items()
    }


def _row(item: Item) -> Draft:
    return item.fact if isinstance(item, EventDraft) else item


def text_of(row: Row) -> str:
    """Every text of a row that its source gives."""
    return "\n".join(str(row[column]) for column in _TEXTS if row.get(column) is not None)
