"""JSON schemas of the models, as short as they can be: an agent pays for each token."""

import json
from typing import Any

from pydantic import BaseModel

from day1.call.meanings import explained
from day1.call.operation import Operation


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Build the JSON schema (2020-12) of a request, without what clients do not need."""
    slim_schema: dict[str, Any] = _slim(_inlined(model.model_json_schema(mode="validation")))
    return slim_schema


def listed_schema(operation: Operation[Any, Any]) -> dict[str, Any]:
    """Build the schema of a tool's arguments as agents see it."""
    return _listed(operation, input_schema(operation.request))


def documented_schema(operation: Operation[Any, Any]) -> dict[str, Any]:
    """Build the schema of a tool's arguments with the full meaning and bounds of each."""
    schema = operation.request.model_json_schema(mode="validation")
    return _listed(operation, explained(_inlined(schema)))


def _listed(operation: Operation[Any, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Remove `request_id` from the schema, in place, of an idempotent operation; return it."""
    if operation.idempotent:
        schema["properties"].pop("request_id", None)
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Build the schema of a tool's answer in `structuredContent`."""
    schema = model.model_json_schema(mode="serialization")
    # A client that validates answers spends time on each reference.
    slim_schema: dict[str, Any] = _slim(schema if _refers_to_itself(schema) else _inlined(schema))
    return slim_schema


def _refers_to_itself(schema: dict[str, Any]) -> bool:
    definitions: dict[str, Any] = schema.get("$defs", {})
    return any(f'"#/$defs/{name}"' in json.dumps(part) for name, part in definitions.items())


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with references replaced by their definitions, which are taken out of it.

    No definition may refer to itself.
    """
    definitions: dict[str, Any] = schema.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, list):
            return [put(list_item) for list_item in part]
        if not isinstance(part, dict):
            return part
        reference = part.get("$ref")
        if reference is not None:
            other_keys = {k: v for k, v in part.items() if k != "$ref"}
            return {**put(definitions[reference.rsplit("/", 1)[1]]), **other_keys}
        return {key: put(value) for key, value in part.items()}

    inlined: dict[str, Any] = put(schema)
    return inlined


def _slim(part: Any, *, named: bool = False) -> Any:
    """Return a part without automatic titles, meanings, length limits and null defaults.

    `named` says that the keys of `part` are names of properties or definitions.
    """
    if isinstance(part, list):
        return [_slim(list_item) for list_item in part]
    if not isinstance(part, dict):
        return part
    if named:
        return {key: _slim(value) for key, value in part.items()}
    slim_schema = {
        key: _slim(value, named=key in {"properties", "$defs"})
        for key, value in part.items()
        if key not in {"title", "meaning", "minLength", "maxLength"}
        and not (key == "description" and "properties" in part)
        and not (key == "additionalProperties" and (value is True or value == {}))
        and not (key == "default" and value is None)  # what is not required may be left out
    }
    return _folded(slim_schema)


def _folded(part: dict[str, Any]) -> dict[str, Any]:
    alternatives = part.get("anyOf", [])
    non_null = [alternative for alternative in alternatives if alternative != {"type": "null"}]
    if len(non_null) == 1 and len(alternatives) == 2 and isinstance(non_null[0].get("type"), str):  # noqa: PLR2004 - X or null
        nullable_schema = dict(non_null[0])
        nullable_schema["type"] = [nullable_schema["type"], "null"]
        if "enum" in nullable_schema:
            nullable_schema["enum"] = [*nullable_schema["enum"], None]
        other_keys = {k: v for k, v in part.items() if k != "anyOf"}
        return {**nullable_schema, **other_keys}
    return part
