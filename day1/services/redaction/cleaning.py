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
    values: dict[str, Any] = to_json(record)
    changes: dict[str, Any] = {
        name: clean(values[name]) for name in _PROSE if isinstance(values.get(name), str)
    }
    field_name, id_key = _DECIDED.get(type(record), ("", ""))
    if values.get(field_name):
        changes[field_name] = [
            _decision(decision, id_key, mask, clean) for decision in values[field_name]
        ]
    return (
        record
        if values == {**values, **changes}
        else from_json(type(record), {**values, **changes})
    )


def _decision(
    decision: Mapping[str, Any], id_key: str, mask: Mask, clean: Clean
) -> Mapping[str, Any]:
    kind, value = kind_of(decision[id_key]), decision["value"]
    if kind is None or not isinstance(value, Mapping):
        return decision
    shown_values = mask.cells(kind, decision[id_key], cast("Row", value))
    return {
        **decision,
        "value": {c: clean(v) if isinstance(v, str) else v for c, v in shown_values.items()},
    }
