"""Types of arguments that tools share."""

from typing import Annotated, Literal

from pydantic import Field

ObservationType = Literal["tool_use", "discovery", "decision", "error", "insight"]
Sensitivity = Literal["secret", "public"]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=200)]
"""How many rows of a list to answer at most."""
