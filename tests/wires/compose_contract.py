"""The contract of Compose Memory: what each operation takes and answers, as plain JSON schemas.

`compose_contract.json` holds the facts of the contract: paths, parameters, fields, types, required
fields, enums and bounds, with references resolved. The served document may add to them only.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CONTRACT: Mapping[str, Any] = json.loads(
    Path(__file__).with_name("compose_contract.json").read_text("utf-8")
)
"""`operations` by id: method, path, parameters, request, answer; and the names of `schemas`."""
_KEPT = ("type", "enum", "const", "minimum", "maximum", "required")
_BODY = ("requestBody", "content", "application/json", "schema")
_ANSWER = ("responses", "200", "content", "application/json", "schema")


def facts_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce an OpenAPI document to its facts, in the form of `compose_contract.json`."""
    operations = {
        call["operationId"]: _operation(document, method, path, call)
        for path, calls in document["paths"].items()
        for method, call in calls.items()
    }
    return {"operations": operations, "schemas": sorted(document["components"]["schemas"])}


def _operation(
    document: Mapping[str, Any], method: str, path: str, call: Mapping[str, Any]
) -> dict[str, Any]:
    parameters = [_resolved(document, each) for each in call.get("parameters", ())]
    return {
        "method": method.upper(),
        "path": path,
        "parameters": {
            p["name"]: {
                "in": p["in"],
                "required": p.get("required", False),
                "schema": _schema(document, p["schema"]),
            }
            for p in parameters
        },
        "request": _schema_at(document, call, _BODY),
        "answer": _schema_at(document, call, _ANSWER),
    }


def _schema_at(document: Mapping[str, Any], call: Any, path: tuple[str, ...]) -> Any:
    part = call
    for key in path:
        part = _resolved(document, part.get(key, {}))
    return _schema(document, part) if part else None


def _resolved(document: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    target: Any = document
    for key in part["$ref"].removeprefix("#/").split("/"):
        target = target[key]
    return _resolved(document, target)


def _schema(document: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a schema and flatten its `allOf`."""
    part = _resolved(document, part)
    facts: dict[str, Any] = {key: part[key] for key in _KEPT if key in part}
    if "properties" in part:
        facts["properties"] = {k: _schema(document, p) for k, p in part["properties"].items()}
    if "items" in part:
        facts["items"] = _schema(document, part["items"])
    if isinstance(part.get("additionalProperties"), dict):
        facts["additionalProperties"] = _schema(document, part["additionalProperties"])
    if "oneOf" in part:
        facts["oneOf"] = [_schema(document, each) for each in part["oneOf"]]
    for each in (_schema(document, each) for each in part.get("allOf", ())):
        merged = {**facts.get("properties", {}), **each.get("properties", {})}
        required = [*facts.get("required", ()), *each.get("required", ())]
        facts = {**facts, **each, "properties": merged, "required": list(dict.fromkeys(required))}
    if "required" in facts:
        facts["required"] = sorted(facts["required"])
    return facts


def differences(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], at: str, *, is_answer: bool
) -> Iterator[str]:
    """Name each place in which a schema of the served document does more than add.

    A request may require no more, and an answer no less; types, constants and enums are equal.
    """
    for key in ("type", "const"):
        if key in theirs and ours.get(key) != theirs[key]:
            yield f"{at}: {key} is {ours.get(key)!r} and not {theirs[key]!r}"
    if "enum" in theirs and {*ours.get("enum", ours.get("const", "").split())} != {*theirs["enum"]}:
        yield f"{at}: enum is {ours.get('enum')}"
    if not is_answer:
        for key in ("minimum", "maximum"):
            if ours.get(key) != theirs.get(key):
                yield f"{at}: {key} is {ours.get(key)} and not {theirs.get(key)}"
    mine, asked = {*ours.get("required", ())}, {*theirs.get("required", ())}
    if (asked - mine) if is_answer else (mine - asked):
        yield f"{at}: required are {sorted(mine)} and not {sorted(asked)}"
    for name, part in theirs.get("properties", {}).items():
        if name not in ours.get("properties", {}):
            yield f"{at}.{name}: is missing"
        else:
            yield from differences(ours["properties"][name], part, f"{at}.{name}", is_answer=is_answer)  # fmt: skip
    for key in ("items", "additionalProperties"):
        if theirs.get(key):
            yield from differences(ours.get(key, {}), theirs[key], f"{at}[]", is_answer=is_answer)
    if len(ours.get("oneOf", ())) != len(theirs.get("oneOf", ())):
        yield f"{at}: has {len(ours.get('oneOf', ()))} forms and not {len(theirs['oneOf'])}"
    for mine_too, form in zip(ours.get("oneOf", ()), theirs.get("oneOf", ()), strict=False):
        yield from differences(mine_too, form, f"{at}|", is_answer=is_answer)
