"""The OpenAPI 3.1 document of a namespace: its routes, requests and answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from day1.call.fields import Read, UnionRequest, Written
from day1.call.meanings import explained
from day1.call.operation import Operation
from day1.call.toolset import Namespace, Route, Toolset
from day1.interfaces.http.answers import CREATED, STATE_HEADERS, STATES
from day1.interfaces.http.failures import STATUS
from day1.version import __version__

_REFERENCE: Final = "#/components/schemas/{model}"
"""Template of a reference to the schema of a model."""
_BEFORE_CALLS: Final = (408, 413, 421)
"""Statuses sent before any operation: body too slow, body too long, unknown Host."""
_BODY: Final = ("POST", "PUT", "PATCH")
"""Methods whose requests have a body."""
_REQUEST: Final = "validation"
"""Pydantic's name for the schema of a request."""
_ANSWER: Final = "serialization"
"""Pydantic's name for the schema of an answer."""
_STATE_MODELS: Final = (Read.__name__, Written.__name__)
"""Models of the branch and commit of an answer."""


def takes_body(route: Route) -> bool:
    """Whether a route's arguments may stand in a body."""
    return route.method in _BODY


def openapi(namespace: Namespace, toolsets: Sequence[Toolset]) -> dict[str, Any]:
    """Build the OpenAPI document of a namespace from the models of its operations."""
    components = _Parts(
        namespace, [operation for toolset in toolsets for operation in toolset.operations]
    )
    paths: dict[str, dict[str, Any]] = {}
    for toolset in toolsets:
        for route in toolset.served_routes:
            operation = toolset.tools[route.binding.operation].operation
            method_documents = paths.setdefault(f"{namespace.prefix}{route.path}", {})
            method_documents[route.method.lower()] = _described(route, operation, components)
    namespace_head = namespace.head
    failure_response = _content("Refused, or failed: why.", _ref(namespace_head.failure))
    optional_keys = {
        "jsonSchemaDialect": namespace_head.dialect,
        "tags": [{"name": namespace_head.tag}] if namespace_head.tag else None,
    }
    return {
        "openapi": "3.1.0",
        "info": _info(namespace),
        **{key: value for key, value in optional_keys.items() if value},
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": {**components.schemas, namespace_head.failure: toolsets[0].errors.schema},
            "responses": {namespace_head.failure: failure_response},
            **components.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _info(namespace: Namespace) -> dict[str, Any]:
    """Return the document's title, version, description and licence."""
    namespace_head = namespace.head
    return {
        "title": namespace.title,
        **({"summary": namespace_head.summary} if namespace_head.summary else {}),
        "version": namespace_head.version or __version__,
        "description": namespace.about,
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    }


class _Parts:
    """The components of the document: schemas of requests and answers, shared parameters."""

    def __init__(self, namespace: Namespace, operations: Sequence[Operation[Any, Any]]) -> None:
        self.namespace = namespace
        self.components: dict[str, dict[str, Any]] = {}
        """Shared bodies and parameters: by section of the document, then by name."""
        models: list[tuple[type[BaseModel], Any]]
        models = [(base, _REQUEST) for base in namespace.head.bases]
        for operation in operations:
            models += [(operation.request, _REQUEST), (operation.response, _ANSWER)]
        unique_models = list(dict.fromkeys(models))
        self._names, schemas = models_json_schema(unique_models, ref_template=_REFERENCE)
        schema_by_name = explained(schemas.get("$defs", {}))
        if namespace.state == "headers":
            schema_by_name = _without_state(
                schema_by_name, {self.name(operation.response, _ANSWER) for operation in operations}
            )
        self._whole: dict[str, Any] = schema_by_name
        self.schemas = dict(schema_by_name)
        """The document's schemas by name."""

    def name(self, model: type[BaseModel], mode: Any) -> str:
        """Return the name of a model's schema."""
        return str(self._names[model, mode]["$ref"].rpartition("/")[2])

    def whole(self, model: type[BaseModel], mode: Any) -> dict[str, Any]:
        """Return a model's whole schema."""
        schema: dict[str, Any] = self._whole[self.name(model, mode)]
        return schema

    def body(self, request: type[BaseModel], elsewhere: set[str]) -> dict[str, Any] | None:
        """Describe the body of a request without the arguments in its path and query."""
        body_fields = {
            argument: field
            for argument, field in request.model_fields.items()
            if argument not in elsewhere
        }
        if elsewhere and not body_fields and request.model_config.get("extra") != "allow":
            return None
        name = self.name(request, _REQUEST)
        schema = _ref(name)
        if elsewhere:
            schema = _without(self.whole(request, _REQUEST), elsewhere)
        elif issubclass(request, UnionRequest):
            # Generators of clients do not resolve references in a component that is a union.
            schema = self.schemas.pop(name, None) or self.whole(request, _REQUEST)
        is_required = any(field.is_required() for field in body_fields.values())
        if not self.namespace.head.named_bodies:
            return {"required": is_required, "content": _json(schema)}
        if elsewhere:
            self.schemas[name] = schema
            schema = _ref(name)
        body = {"required": is_required, "content": _json(schema)}
        self.components.setdefault("requestBodies", {})[request.__name__] = body
        return {"$ref": f"#/components/requestBodies/{request.__name__}"}

    def parameter(self, route: Route, name: str, described: Mapping[str, Any]) -> Mapping[str, Any]:
        """Describe a path parameter, or refer to the component that describes it."""
        component = route.parameters.get(name)
        if component is None:
            return described
        self.components.setdefault("parameters", {})[component] = dict(described)
        return {"$ref": f"#/components/parameters/{component}"}


def _described(route: Route, operation: Operation[Any, Any], parts: _Parts) -> dict[str, Any]:
    """Describe one route: its summary, parameters, body and responses."""
    summary, _, details = operation.description.partition("\n")
    namespace_head = parts.namespace.head
    route_document: dict[str, Any] = {
        "operationId": route.id or operation.name,
        "summary": summary,
        "description": f"{details.strip()}\n\nNeeds the scope `{operation.needs}`.".strip(),
        "tags": [namespace_head.tag or operation.effect.value],
    }
    request = parts.whole(operation.request, _REQUEST)
    parameters = [
        *(
            parts.parameter(route, name, _parameter("path", name, argument, request))
            for name, argument in route.in_path.items()
        ),
        *(
            _parameter("query", name, argument, request)
            for name, argument in route.binding.query.items()
        ),
    ]
    if parameters:
        route_document["parameters"] = parameters
    if takes_body(route):
        names_outside_body = {*route.in_path.values(), *route.binding.query.values()}
        body = parts.body(operation.request, names_outside_body)
        if body is not None:
            route_document["requestBody"] = body
    failure_reference = {"$ref": f"#/components/responses/{namespace_head.failure}"}
    route_document["responses"] = {
        **{str(status): _answer(status, route, operation, parts) for status in route.statuses},
        **{str(status): failure_reference for status in _refusals(route)},
    }
    return route_document


def _refusals(route: Route) -> Sequence[int]:
    """Return the statuses of errors that a route's description lists."""
    statuses = {*STATUS.values(), *_BEFORE_CALLS, 500}
    return sorted(statuses) if route.refusals is None else route.refusals


def _parameter(where: str, name: str, argument: str, request: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(request["properties"][argument])
    parameter_document = {
        "name": name,
        "in": where,
        "required": argument in request.get("required", ()),
    }
    if where == "path":
        parameter_document["required"] = True
    if "description" in schema:
        parameter_document["description"] = schema.pop("description")
    return {**parameter_document, "schema": schema}


def _without(request: Mapping[str, Any], elsewhere: set[str]) -> dict[str, Any]:
    """Return a request's schema without the arguments that stand in path and query."""
    properties = {
        argument: argument_schema
        for argument, argument_schema in request["properties"].items()
        if argument not in elsewhere
    }
    required_names = [
        argument_name
        for argument_name in request.get("required", ())
        if argument_name not in elsewhere
    ]
    return {**request, "properties": properties, "required": required_names}


def _answer(
    status: int, route: Route, operation: Operation[Any, Any], parts: _Parts
) -> dict[str, Any]:
    """Describe an answer: its schema and its headers, if any."""
    schema = _ref(parts.name(operation.response, _ANSWER))
    if route.binding.only is not None:
        answer_schema = parts.whole(operation.response, _ANSWER)
        schema = answer_schema["properties"][route.binding.only]
    meaning_by_header = dict(STATE_HEADERS) if parts.namespace.state == "headers" else {}
    if route.location is not None and status == CREATED:
        meaning_by_header["Location"] = "The path of what was made."
    headers = {
        name: {"description": meaning, "schema": {"type": "string"}}
        for name, meaning in meaning_by_header.items()
    }
    return {**_content("The answer.", schema), **({"headers": headers} if headers else {})}


def _without_state(definitions: Mapping[str, Any], answers: Iterable[str]) -> dict[str, Any]:
    """Return schemas without branch and commit in the answers that send them as headers."""
    schema_by_name = dict(definitions)
    for name in answers:
        if "properties" not in schema_by_name[name]:  # one of several forms, each an answer itself
            continue
        properties = schema_by_name[name]["properties"].items()
        schema_by_name[name] = {
            **schema_by_name[name],
            "properties": {
                key: part_schema for key, part_schema in properties if key not in STATES
            },
            "required": [
                key for key in schema_by_name[name].get("required", ()) if key not in STATES
            ],
        }
    others_json = json.dumps(
        {
            name: part_schema
            for name, part_schema in schema_by_name.items()
            if name not in _STATE_MODELS
        }
    )
    unused_models = [
        name for name in _STATE_MODELS if json.dumps(_ref(name))[1:-1] not in others_json
    ]
    return {name: schema for name, schema in schema_by_name.items() if name not in unused_models}


def _ref(model: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model)}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _content(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": _json(schema)}
