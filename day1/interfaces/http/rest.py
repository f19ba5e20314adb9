"""`/api/v1`: one route for each operation, and what they take and answer as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from json import loads
from typing import Any, Final

from anyio import to_thread
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from day1 import __version__
from day1.call.fields import Repeatable
from day1.call.meanings import explained
from day1.call.operation import Operation
from day1.call.toolset import Toolset
from day1.errors import Day1Error, InvalidRequest
from day1.interfaces.http.callers import Callers
from day1.interfaces.http.failures import STATUS, failure, fault

PREFIX: Final = "/api/v1"
_REFERENCE: Final = "#/components/schemas/{model}"
_IDEMPOTENCY: Final = "idempotency-key"
"""Another name, known to HTTP clients, of the argument `request_id`."""
_BY_THE_DOOR: Final = (408, 413, 421)
"""What is refused before any operation: a body too slow or too long, a Host that is not ours."""


def routes(toolset: Toolset, callers: Callers) -> list[BaseRoute]:
    """The routes of a toolset's operations."""
    document = openapi(toolset)

    async def described(_: Request) -> Response:
        return JSONResponse(document)

    found: list[BaseRoute] = [Route(f"{PREFIX}/openapi.json", described, methods=["GET"])]
    for operation in toolset:
        call = partial(_call, operation, callers)
        found.append(Route(f"{PREFIX}/{operation.name}", call, methods=["POST"]))
    return found


async def _call(operation: Operation[Any, Any], callers: Callers, request: Request) -> Response:
    """Run one operation in a worker thread."""
    try:
        arguments = _arguments(operation.name, await request.body())
        repeated = request.headers.get(_IDEMPOTENCY)
        if repeated is not None and issubclass(operation.request, Repeatable):
            arguments.setdefault("request_id", repeated)
        run = partial(_run, operation, callers, request, arguments)
        return JSONResponse(await to_thread.run_sync(run))
    except Day1Error as exc:
        return failure(exc)
    except Exception as exc:  # noqa: BLE001 - whatever it is, the caller gets the one shape
        return fault(exc)


def _run(
    operation: Operation[Any, Any], callers: Callers, request: Request, arguments: dict[str, Any]
) -> Mapping[str, Any]:
    return operation.call(callers.context(request), arguments)


def _arguments(name: str, body: bytes) -> dict[str, Any]:
    try:
        given = loads(body or b"{}")
    except (ValueError, RecursionError) as exc:  # of text, and of numbers with 5,000 digits
        raise InvalidRequest(f"{name}: the body is no JSON.") from exc
    if not isinstance(given, dict):
        raise InvalidRequest(f"{name}: the body is a JSON object of arguments.")
    return given


def openapi(toolset: Toolset) -> dict[str, Any]:
    """Describe the routes (OpenAPI 3.1), from the models that every wire uses."""
    models: list[tuple[type[BaseModel], Any]] = []
    for operation in toolset:
        models += [(operation.request, "validation"), (operation.response, "serialization")]
    names, schemas = models_json_schema(list(dict.fromkeys(models)), ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "day1",
            "version": __version__,
            "description": "Git for agent memory: every operation, as MCP has it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": {
            f"{PREFIX}/{operation.name}": {"post": _path(operation, names)} for operation in toolset
        },
        "components": {
            "schemas": {**explained(schemas.get("$defs", {})), "Failure": _FAILURE},
            "responses": {"Failure": _content("Refused, or failed: why.", _ref("Failure"))},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _path(operation: Operation[Any, Any], names: Mapping[Any, Any]) -> dict[str, Any]:
    summary, _, rest = operation.description.partition("\n")
    statuses = sorted({*STATUS.values(), *_BY_THE_DOOR, 500})
    fields = operation.request.model_fields.values()
    return {
        "operationId": operation.name,
        "summary": summary,
        "description": f"{rest.strip()}\n\nNeeds the scope `{operation.needs}`.".strip(),
        "tags": [operation.effect.value],
        "requestBody": {
            "required": any(field.is_required() for field in fields),
            "content": _json(names[(operation.request, "validation")]),
        },
        "responses": {
            "200": _content("The answer.", names[(operation.response, "serialization")]),
            **{str(status): {"$ref": "#/components/responses/Failure"} for status in statuses},
        },
    }


def _ref(model: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model)}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _content(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": _json(schema)}


_FAILURE: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {"type": "string", "description": "stable; see docs/errors.md"},
                "message": {"type": "string", "description": "what to do next"},
                "details": {"type": "object"},
            },
        }
    },
}
