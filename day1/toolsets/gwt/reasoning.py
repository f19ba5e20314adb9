"""The tools that answer from memory: collections, questions, and the evidence for them."""

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from day1.call.context import Context
from day1.call.fields import Label, Read, Request, Response
from day1.call.operation import Effect, Operation
from day1.model.collection.answers import OPERATIONS as QUERIES
from day1.model.collection.answers import Asked, answer
from day1.model.collection.records import Record
from day1.model.prime.framing import one_line
from day1.toolsets.gwt.errors import unsupported
from day1.toolsets.gwt.fields import Most, QueryName
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe

_LONGEST: Final = 500
"""Characters of a value or quotation in an answer, at most."""
_MOST_FIELDS: Final = 50
"""Fields of a record, and names of fields, that an answer shows at most."""


class GwtCollectionQuery(Request):
    """The arguments of `gwt_collection_query` (S0-011).

    Attributes:
        operation: What to compute.
        field: A field of the records.
        value: Count only records with this value in `field`.
        metric: The field whose numbers count: for average, sum, min, max, top_k and compare.
        k: How many records to show at most; `top_k` answers this many.
        group_field: compare: the field that tells two groups apart.
        group_a: The value of one group.
        group_b: The value of the other group.
    """

    operation: QueryName
    field: Maybe[Label] = None
    value: Maybe[Label] = None
    metric: Maybe[Label] = None
    k: Most = 5
    group_field: Maybe[Label] = None
    group_a: Maybe[Label] = None
    group_b: Maybe[Label] = None


class MatchedRecord(Response):
    """A record, with its values as they are written."""

    id: str
    item_id: str
    fields: dict[str, str]


class CollectionAnswer(Response):
    """An exact answer, and the records that it follows from (S0-011)."""

    operation: str
    answer: str
    matched_count: int
    matched_records: list[MatchedRecord]
    supporting_evidence: list[str]
    metadata: dict[str, JsonValue]
    read: Read


def gwt_collection_query(ctx: Context, request: GwtCollectionQuery) -> CollectionAnswer:
    """Compute an exact answer over all records: JSON, tables and `key: value` lines in memory."""
    from day1.services.workspace.collecting import collected  # noqa: PLC0415 - a server starts without it

    if request.operation not in QUERIES:
        raise unsupported("operation", request.operation, "supported_operations", tuple(QUERIES))
    found = collected(ctx)
    computed = answer(found.collection, Asked(**request.model_dump()))
    shown = computed.matched[: request.k]
    return CollectionAnswer(
        operation=request.operation,
        answer=computed.answer,
        matched_count=computed.matched_count,
        matched_records=[_shown(record) for record in shown],
        supporting_evidence=quoted(shown),
        metadata={
            **computed.metadata,
            "record_count": len(found.collection.records),
            "fields": list(found.collection.names[:_MOST_FIELDS]),
        },
        read=read_of(found.state, found.branch),
    )


def quoted(records: Sequence[Record]) -> list[str]:
    """Quote records, each on one line and each text once."""
    return list(dict.fromkeys(one_line(record.text, _LONGEST) for record in records))


def _shown(record: Record) -> MatchedRecord:
    fields = list(record.fields.items())[:_MOST_FIELDS]
    return MatchedRecord(
        id=one_line(record.id, _LONGEST),
        item_id=record.row_id,
        fields={one_line(n, _LONGEST): one_line(value, _LONGEST) for n, value in fields},
    )


OPERATIONS: Final = (Operation("gwt_collection_query", gwt_collection_query, Effect.READ),)
