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
    error_body = body.get("error") if isinstance(body, dict) else None
    if status == _UNAUTHORIZED:
        return _unauthorized(address, error_body, has_token=has_token)
    if not isinstance(error_body, dict) or "message" not in error_body:
        return NotAStore(
            f"{address} answers with status {status}, and not as `day1 serve` does: check the "
            "address.",
            address=address,
            status=status,
        )
    code, details = str(error_body.get("code")), error_body.get("details")
    error_class = _kinds().get(code, Day1Error)
    detail_by_name: dict[str, Any] = details if isinstance(details, dict) else {}
    day1_error = error_class(from_http(str(error_body["message"])), **detail_by_name)
    if error_class is Day1Error:
        day1_error.code = code  # type: ignore[misc]  # of this error only
        day1_error.retryable = status in _TRY_LATER  # type: ignore[misc]  # likewise
    return day1_error


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
    return {error_class.code: error_class for error_class in _subclasses(Day1Error)}


def _subclasses(kind: type[Day1Error]) -> Iterator[type[Day1Error]]:
    for subclass in kind.__subclasses__():
        if subclass.__module__ == Day1Error.__module__:
            yield subclass
            yield from _subclasses(subclass)
