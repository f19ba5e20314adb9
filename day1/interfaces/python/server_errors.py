"""The errors of a server, as the classes of day1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from day1.errors import Day1Error, NotAStore, Unauthorized
from day1.interfaces.python.wording import from_http

_UNAUTHORIZED: Final = 401
_TRY_LATER: Final = frozenset({408, 429, 503, 507})


def error_of(body: Any, status: int, address: str, *, has_token: bool) -> Day1Error:
    """Return the error that a server answered, with steps in the words of Python.

    An error with a code that this version does not know is a `Day1Error` with that code.
    """
    error = body.get("error") if isinstance(body, dict) else None
    if status == _UNAUTHORIZED:
        return _unauthorized(address, error, has_token=has_token)
    if not isinstance(error, dict) or "message" not in error:
        return NotAStore(
            f"{address} answers with status {status}, and not as `day1 serve` does: check the "
            "address.",
            address=address,
            status=status,
        )
    code, details = str(error.get("code")), error.get("details")
    kind = _kinds().get(code, Day1Error)
    known_details: dict[str, Any] = details if isinstance(details, dict) else {}
    raised = kind(from_http(str(error["message"])), **known_details)
    if kind is Day1Error:
        raised.code = code  # type: ignore[misc]  # of this error only
        raised.retryable = status in _TRY_LATER  # type: ignore[misc]  # likewise
    return raised


def _unauthorized(address: str, error: Any, *, has_token: bool) -> Unauthorized:
    if not has_token:
        return Unauthorized(
            f"{address} wants a token: give `day1.connect` one as `token`; `day1 token create` "
            "on that machine makes one."
        )
    message = error.get("message") if isinstance(error, dict) else None
    return Unauthorized(from_http(str(message or f"{address} does not know the token.")))


@cache
def _kinds() -> dict[str, type[Day1Error]]:
    return {kind.code: kind for kind in _subclasses(Day1Error)}


def _subclasses(kind: type[Day1Error]) -> Iterator[type[Day1Error]]:
    for child in kind.__subclasses__():
        if child.__module__ == Day1Error.__module__:
            yield child
            yield from _subclasses(child)
