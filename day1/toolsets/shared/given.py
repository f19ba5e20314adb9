"""Columns that a caller sets in a row, checked by the same rules as a write."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, JsonValue, ValidationError, create_model

from day1.call.fields import JsonObject, Label, LongText, MemoryText, Request
from day1.call.problems import invalid
from day1.errors import InvalidRequest
from day1.model.redaction.veil import MARKS
from day1.model.rows.column import Column, ColumnType
from day1.model.rows.kind import MEMORIES, WHOLE, Kind, Row, canonical
from day1.model.values.instant import in_range, parse
from day1.toolsets.shared.fields import Confidence

Columns = dict[str, JsonValue]
"""Columns by name, as a caller gives them: `given_columns` checks each one, also its length."""


def _instant(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc


_TYPES: Mapping[ColumnType, Any] = {
    "id": Label,
    "label": Label,
    "text": LongText,
    "json": JsonObject,
    "time": Annotated[int, BeforeValidator(_instant), AfterValidator(in_range)],
    "real": Confidence,
}


def _model(kind: Kind) -> type[Request]:
    """Build a model of the columns that a caller may set; `superseded_by` is not one."""
    settable_columns = [column for column in kind.column.values() if column.given]
    field_by_column: dict[str, Any] = {
        column.name: (_type(kind, column), None) for column in settable_columns
    }
    return create_model(f"{kind.name.title()}Columns", __base__=Request, **field_by_column)


def _type(kind: Kind, column: Column) -> Any:
    """Return the type of a column; an optional column may be set to null."""
    if column.choices:
        return Literal[column.choices]
    column_type = MemoryText if column.name == kind.text else _TYPES[column.type]
    return column_type if column.required else column_type | None


_MODEL_BY_KIND = {kind: _model(kind) for kind in MEMORIES}


def given_columns(kind: Kind, cell: str, value: Mapping[str, Any] | None) -> Row:
    """Check the columns that `value` sets in a cell of a row, or in the whole row for cell `*`.

    Raises:
        InvalidRequest: `value` is empty, or a column is not of that cell or breaks a rule.
    """
    columns_model = _MODEL_BY_KIND[kind]
    allowed_columns = set(columns_model.model_fields) & set(kind.group(cell))
    if not value or not allowed_columns.issuperset(value):
        column_names = (
            ", ".join(column for column in kind.group(WHOLE) if column in allowed_columns)
            or "nothing"
        )
        raise InvalidRequest(
            f"`value` for {cell!r} of a {kind.name} gives one or more of: {column_names}."
        )
    try:
        checked_columns = columns_model.model_validate(dict(value)).model_dump(exclude_unset=True)
    except ValidationError as exc:
        raise invalid("The columns in `value`", columns_model, exc) from exc
    refuse_marks(checked_columns)
    return {
        column: canonical(cell_value) if isinstance(cell_value, dict) else cell_value
        for column, cell_value in checked_columns.items()
    }


def refuse_marks(columns: Mapping[str, object]) -> None:
    """Refuse columns that contain the placeholder of hidden words.

    Raises:
        InvalidRequest: a column contains a placeholder.
    """
    hidden_columns = [
        column for column, cell in columns.items() if isinstance(cell, str) and cell in MARKS
    ]
    if hidden_columns:
        raise InvalidRequest(
            f"{columns[hidden_columns[0]]} stands for words that are not shown. Leave "
            f"{', '.join(hidden_columns)} out to keep them, or write other words."
        )
