"""The format of errors in the contracts of other products."""

from typing import Final

from day1.call.toolset import ErrorShape
from day1.errors import Day1Error, Json, Say


def _body(error: Day1Error, say: Say) -> dict[str, Json]:
    """Build the body of an error; the message includes what to do next."""
    body: dict[str, Json] = {
        "code": error.code,
        "message": error.worded(say),
        "details": error.details,
    }
    return {"error": body}


_SHAPE: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "details": {},
            },
        }
    },
}

PLAIN: Final = ErrorShape(_body, _SHAPE)
"""Errors of the form `{"error": {"code", "message", "details"}}`."""
