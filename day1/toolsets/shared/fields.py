"""Types of arguments that tools share, and the columns of a row that a caller may give."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from day1.call.fields import JsonObject, Label, LongText, Request, Text
from day1.call.problems import invalid
from day1.errors import InvalidRequest
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, WHOLE, Kind, Row, canonical
from day1.model.values.instant import parse

ObservationType = Literal["tool_use", "discovery", "decision", "error", "insight"]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=200)]
"""How many rows of a list to answer at most."""


def _instant(given: object) -> object:
    if not isinstance(given, str):
        return given
    try:
        return parse(given)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc


Instant = Annotated[int | None, BeforeValidator(_instant)]


class FactColumns(Request):
    """What of a fact can be given; how it is superseded is not a value to choose."""

    fact_text: Text = ""
    category: Label | None = None
    confidence: Confidence = 1.0
    status: Literal["active", "archived"] = "active"
    verification: Literal["unverified", "verified", "invalidated"] = "unverified"
    happened_at: Instant = None


class ObservationColumns(Request):
    """What of an observation can be given."""

    summary: Text = ""
    observation_type: ObservationType = "insight"
    tool_name: Label | None = None
    raw_input: LongText | None = None
    raw_output: LongText | None = None
    happened_at: Instant = None


class RelationColumns(Request):
    """What of a relation can be given."""

    source_entity: Label = ""
    target_entity: Label = ""
    relation_type: Label = ""
    properties: JsonObject | None = None
    happened_at: Instant = None


_COLUMNS: Mapping[str, type[Request]] = {
    FACT.table: FactColumns,
    OBSERVATION.table: ObservationColumns,
    RELATION.table: RelationColumns,
}


def given_columns(kind: Kind, cell: str, value: Mapping[str, Any] | None) -> Row:
    """The columns that `value` gives for a cell of a row, or with cell `*` for all of it.

    Raises:
        InvalidRequest: there are none, or one is not of that cell or breaks a rule.
    """
    model = _COLUMNS.get(kind.table)
    columns: set[str] = set(model.model_fields if model else ()) & set(kind.group(cell))
    if model is None or not value or not columns.issuperset(value):
        named = ", ".join(c for c in kind.group(WHOLE) if c in columns) or "nothing"
        raise InvalidRequest(
            f"`value` for {cell!r} of a {kind.name} gives one or more of: {named}."
        )
    try:
        given = model.model_validate(dict(value)).model_dump(exclude_unset=True)
    except ValidationError as exc:
        raise invalid("value", model, exc) from exc
    return {c: canonical(v) if isinstance(v, dict) else v for c, v in given.items()}
