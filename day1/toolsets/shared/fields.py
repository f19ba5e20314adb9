"""Types of arguments that tools share."""

import operator
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

T = TypeVar("T")

ObservationType = Literal["tool_use", "discovery", "decision", "error", "insight"]
Sensitivity = Literal["secret", "public"]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=200)]
"""How many rows of a list to answer at most."""


def _without_null(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    (there,) = (choice for choice in schema.pop("anyOf") if choice != {"type": "null"})
    schema |= there


Maybe = Annotated[T | None, Field(json_schema_extra=_without_null)]
"""An argument that may be left out; its schema is the contract's, which knows no null."""


_IS_NONE: Final = partial(operator.is_, None)
"""Written in C: it is called for each such field of each row of an answer."""


def absent() -> Any:
    """A field of an answer that is left out where there is nothing to say."""
    return Field(default=None, exclude_if=_IS_NONE)
