"""The format of gwt's errors: a flat object whose `error` is the message (S0-002 and others)."""

from typing import Final

from day1.call.toolset import ErrorShape
from day1.errors import ConfirmationNeeded, Day1Error, InvalidRequest, Json, Say

_LIFTED: Final = (
    "supported_memory_types",
    "supported_planners",
    "supported_operations",
    "supported_targets",
    "supported_modes",
    "supported_scopes",
    "required_confirm",
    "scope",
    "mode",
)
"""Details of an error that stand beside `error` in the contract."""


def _body(error: Day1Error, say: Say) -> dict[str, Json]:
    """Build the body of an error; `code` and `details` are day1's additions."""
    lifted_details: dict[str, Json] = {
        detail_name: error.details[detail_name]
        for detail_name in _LIFTED
        if detail_name in error.details
    }
    return {
        "error": error.worded(say),
        **lifted_details,
        "code": error.code,
        "details": {
            detail_name: value
            for detail_name, value in error.details.items()
            if detail_name not in lifted_details
        },
    }


_SHAPE: Final = {
    "type": "object",
    "required": ["error", "code"],
    "properties": {
        "error": {"type": "string"},
        "code": {"type": "string"},
        "details": {"type": "object"},
    },
}

FLAT: Final = ErrorShape(_body, _SHAPE)
"""Errors of the form `{"error": text, "code", "details"}`, some with `supported_…` beside it."""


def unsupported(argument: str, given: str, supported: str, values: tuple[str, ...]) -> Day1Error:
    """Build the error for a value that an argument does not take; it lists those that it takes."""
    problem = f"takes {', '.join(values[:-1])} or {values[-1]}"
    return InvalidRequest(
        f"`{argument}` {problem}, not {given[:60]!r}.",
        problems=[{"argument": argument, "problem": problem}],
        **{supported: list(values)},
    )


def unconfirmed(required: str, **where: Json) -> Day1Error:
    """Build the error for a call that removes memory and lacks its confirmation."""
    return ConfirmationNeeded(
        f"This call removes data: pass `confirm` as exactly {required!r}.",
        required_confirm=required,
        **where,
    )
