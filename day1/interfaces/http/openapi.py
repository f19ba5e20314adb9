"""What the routes of toolsets take and answer, as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from day1 import __version__
from day1.call.meanings import explained
from day1.call.operation import Operation
from day1.call.toolset import Namespace, Route, Toolset
from day1.interfaces.http.failures import STATUS

_REFERENCE: Final = "#/components/schemas/{model}"
_BEFORE_CALLS: Final = (408, 413, 421)
"""Refused before any operation: a body too slow or too long, a Host that is not this server's."""
_BODY: Final = ("POST", "PUT", "PATCH")


def takes_body(route: Route) -> bool:
    """Whether a route's arguments may stand in a body."""
    return route.method in _BODY


def openapi(namespace: Namespace, toolsets: Sequence[Toolset]) -> dict[str, Any]:
    """Describe the routes of a namespace, from the models that every wire uses."""
    models: list[tuple[type[BaseModel], Any]] = []
    for operation in (operation for toolset in toolsets for operation in toolset.operations):
        models += [(operation.request, "validation"), (operation.response, "serialization")]
    names, schemas = models_json_schema(list(dict.fromkeys(models)), ref_template=_REFERENCE)
    definitions = explained(schemas.get("$defs", {}))
    paths: dict[str, dict[str, Any]] = {}
    for toolset in toolsets:
        for route in toolset.served_routes:
            operation = toolset.tools[route.binding.operation].operation
            path = paths.setdefault(f"{namespace.prefix}{route.path}", {})
            path[route.method.lower()] = _described(route, operation, _Models(names, definitions))
    shape = toolsets[0].errors
    return {
        "openapi": "3.1.0",
        "info": {
            "title": namespace.title,
            "version": __version__,
            "description": namespace.about,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": {**definitions, "Failure": shape.schema},
            "responses": {"Failure": _content("Refused, or failed: why.", _ref("Failure"))},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Models:
    """The schemas of requests and answers."""

    def __init__(self, names: Mapping[Any, Any], definitions: Mapping[str, Any]) -> None:
        self._names, self._definitions = names, definitions

    def reference(self, model: type[BaseModel], mode: str) -> dict[str, Any]:
        """Where the schema of a model is."""
        found: dict[str, Any] = self._names[(model, mode)]
        return found

    def whole(self, model: type[BaseModel], mode: str) -> dict[str, Any]:
        """The schema of a model."""
        name = self.reference(model, mode)["$ref"].rpartition("/")[2]
        found: dict[str, Any] = self._definitions[name]
        return found


def _described(route: Route, operation: Operation[Any, Any], models: _Models) -> dict[str, Any]:
    summary, _, rest = operation.description.partition("\n")
    statuses = sorted({*STATUS.values(), *_BEFORE_CALLS, 500})
    described: dict[str, Any] = {
        "operationId": route.id or operation.name,
        "summary": summary,
        "description": f"{rest.strip()}\n\nNeeds the scope `{operation.needs}`.".strip(),
        "tags": [operation.effect.value],
    }
    request = models.whole(operation.request, "validation")
    parameters = [
        *(_parameter("path", name, argument, request) for name, argument in route.in_path.items()),
        *(
            _parameter("query", name, argument, request)
            for name, argument in route.binding.query.items()
        ),
    ]
    if parameters:
        described["parameters"] = parameters
    if takes_body(route):
        fields = operation.request.model_fields.items()
        given = {*route.in_path.values(), *route.binding.query.values()}
        described["requestBody"] = {
            "required": any(f.is_required() for name, f in fields if name not in given),
            "content": _json(
                _without(request, given)
                if given
                else models.reference(operation.request, "validation")
            ),
        }
    described["responses"] = {
        str(route.status): _answer(route, operation, models),
        **{str(status): {"$ref": "#/components/responses/Failure"} for status in statuses},
    }
    return described


def _parameter(where: str, name: str, argument: str, request: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(request["properties"][argument])
    described = {"name": name, "in": where, "required": argument in request.get("required", ())}
    if where == "path":
        described["required"] = True
    if "description" in schema:
        described["description"] = schema.pop("description")
    return {**described, "schema": schema}


def _without(request: Mapping[str, Any], given: set[str]) -> dict[str, Any]:
    """A request without the arguments that path and query give."""
    properties = {k: v for k, v in request["properties"].items() if k not in given}
    required = [name for name in request.get("required", ()) if name not in given]
    return {**request, "properties": properties, "required": required}


def _answer(route: Route, operation: Operation[Any, Any], models: _Models) -> dict[str, Any]:
    only = route.binding.only
    if only is None:
        return _content("The answer.", models.reference(operation.response, "serialization"))
    whole = models.whole(operation.response, "serialization")
    return _content("The answer.", whole["properties"][only])


def _ref(model: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model)}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _content(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": _json(schema)}
