"""Responses for errors: a status and a JSON body."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from starlette.responses import JSONResponse

from day1 import errors
from day1.call.toolset import ErrorShape
from day1.errors import Day1Error, Step
from day1.interfaces.http.answers import Utf8JSONResponse
from day1.toolsets.over_http import TOOLSETS

log = logging.getLogger(__name__)

STATUS: Final[Mapping[type[Day1Error], int]] = {
    errors.InvalidRequest: 400,
    errors.BodyTooSlow: 408,
    errors.BodyTooLong: 413,
    errors.HostUnknown: 421,
    errors.ImportBroken: 400,
    errors.Unsupported: 400,
    errors.Unauthorized: 401,
    errors.ConfirmationNeeded: 409,
    errors.Refused: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooManyRequests: 429,
    errors.StoreFull: 507,
    errors.StoreUnavailable: 503,
    errors.StoreReadOnly: 503,
    errors.EmbedderUnavailable: 503,
    errors.ChatUnavailable: 503,
}
"""HTTP status by class of error: the nearest base class decides, and without one it is 500."""
RETRY_S: Final = "1"
"""Seconds after which to retry, as the text of a header."""
SHAPE: Final = ErrorShape()
"""The default shape of error bodies."""


def status_of(error: type[Day1Error], shape: ErrorShape = SHAPE) -> int:
    """Return the HTTP status of a class of errors."""
    status_by_class = {**STATUS, **shape.statuses}
    return next(
        (
            status_by_class[error_class]
            for error_class in error.__mro__
            if error_class in status_by_class
        ),
        500,
    )


def route_of(step: Step) -> str:
    """Word a step of advice for HTTP: the method and path of its operation's first route."""
    tool = TOOLSETS.meant(step)
    route = next(
        served_route
        for served_route in tool.toolset.served_routes
        if served_route.binding.operation == tool.name
    )
    method_and_path = f"{route.method} {tool.toolset.namespace.prefix}{route.path}"
    return f"{method_and_path} with {step.worded_arguments}" if step.arguments else method_and_path


def failure(error: Day1Error, shape: ErrorShape = SHAPE) -> Utf8JSONResponse:
    """Build the response for an error, in the error shape of the called toolset."""
    headers = {}
    if isinstance(error, errors.Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if error.retryable:
        headers["Retry-After"] = RETRY_S
    return Utf8JSONResponse(shape.body(error, route_of), status_of(type(error), shape), headers)


def fault(exc: Exception, shape: ErrorShape = SHAPE) -> JSONResponse:
    """Build the response for an unexpected exception; only the log holds its text."""
    log.error("a request failed", exc_info=exc)
    error = Day1Error("day1 failed on this request; its log on stderr says more.")
    return JSONResponse(shape.body(error, route_of), 500)
