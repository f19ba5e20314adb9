"""Types of arguments that tools share."""

import operator
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, Field

T = TypeVar("T")

ObservationType = Literal["tool_use", "discovery", "decision", "error", "insight"]
Sensitivity = Literal["secret", "public"]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=200)]
"""The maximum number of rows to answer."""


_CENTURY_S: Final = 100 * 365.25 * 86_400


def _lasting(seconds: float) -> float:
    if not 0 < seconds <= _CENTURY_S:  # nor NaN
        raise ValueError("must be more than 0 and at most 100 years")
    return seconds


Lasting = Annotated[float, AfterValidator(_lasting)]
"""How long something is kept, in seconds."""


def _without_null(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    (type_schema,) = (
        subschema for subschema in schema.pop("anyOf") if subschema != {"type": "null"}
    )
    schema |= type_schema


Maybe = Annotated[T | None, Field(json_schema_extra=_without_null)]
"""An optional argument; its schema does not mention null, because the contract does not."""


_IS_NONE: Final = partial(operator.is_, None)
"""A check for None that runs in C, because it is called for each such field of each row."""


def absent() -> Any:
    """Declare a field that an answer leaves out if it is None."""
    return Field(default=None, exclude_if=_IS_NONE)
