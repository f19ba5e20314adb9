"""Removing redacted texts from ledger records: from prose, decisions and desks."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from day1.model.records.codec import from_json, to_json
from day1.model.records.desk import Desk
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.redaction.mask import Mask
from day1.model.redaction.quotes import Clean
from day1.model.rows.kind import Row, kind_of

T = TypeVar("T")

_PROSE: Final = ("description", "purpose", "title", "reason", "notes", "query", "context_summary")
"""Fields of records that hold free text."""
_DECIDED: Final[Mapping[type, tuple[str, str]]] = {
    MergeRecord: ("choices", "id"),
    Review: ("decisions", "row_id"),
}
"""For each class of record, the field with its decisions, and the key of a decision's row id."""


def cleaned(record: T, mask: Mask, clean: Clean) -> T:
    """Return a record without redacted texts, in the cells of decisions and in prose."""
    if isinstance(record, Desk):
        return record.cleaned(mask.rows, clean)  # type: ignore[return-value]  # a desk is its T
    field_values: dict[str, Any] = to_json(record)
    cleaned_values: dict[str, Any] = {
        name: clean(field_values[name])
        for name in _PROSE
        if isinstance(field_values.get(name), str)
    }
    field_name, id_key = _DECIDED.get(type(record), ("", ""))
    if field_values.get(field_name):
        cleaned_values[field_name] = [
            _decision(decision, id_key, mask, clean) for decision in field_values[field_name]
        ]
    return (
        record
        if field_values == {**field_values, **cleaned_values}
        else from_json(type(record), {**field_values, **cleaned_values})
    )


def _decision(
    decision: Mapping[str, Any], id_key: str, mask: Mask, clean: Clean
) -> Mapping[str, Any]:
    kind, decided_values = kind_of(decision[id_key]), decision["value"]
    if kind is None or not isinstance(decided_values, Mapping):
        return decision
    shown_values = mask.cells(kind, decision[id_key], cast("Row", decided_values))
    return {
        **decision,
        "value": {
            column: clean(value) if isinstance(value, str) else value
            for column, value in shown_values.items()
        },
    }
