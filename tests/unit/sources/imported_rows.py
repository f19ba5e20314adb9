"""The rows that an import of a source makes, without a store."""

from day1.model.rows.kind import Row
from day1.model.rows.origin import Origin
from day1.ports.source import Draft, EventDraft, Item, Source
from day1.services.exchange.foreign_rows import rows_of as rows_of_draft

_TEXTS = (
    "fact_text", "category", "summary", "source_entity", "relation_type", "target_entity",
)  # fmt: skip


def rows_of(source: Source) -> dict[str, Row]:
    """The rows by id, of which no two are made of different drafts; events are as they come."""
    drafts: dict[str, Item] = {}
    for item in source.items():
        for draft in item:
            assert drafts.setdefault(draft.id, draft) == draft
    rows: dict[str, Row] = {}
    for draft_id, draft in drafts.items():
        _, parts = rows_of_draft(_row(draft), Origin(agent_id="test"), 1)
        rows |= {f"{draft_id} {row_id}": row for row_id, row in parts.items()}
    return rows


def _row(item: Item) -> Draft:
    return item.fact if isinstance(item, EventDraft) else item


def text_of(row: Row) -> str:
    """Every text of a row that its source gives."""
    return "\n".join(str(row[column]) for column in _TEXTS if row.get(column) is not None)
