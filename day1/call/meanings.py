"""The meaning of each argument, written once: under `Attributes:` in its class's docstring.

The docs and OpenAPI show it. An agent pays for each token of MCP's list of tools, so there an
argument has at most a hint: its field's `description`.
"""

import inspect
import re
from typing import Any

_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n {6,}.+)*)", re.MULTILINE)


def meanings(owner: type) -> dict[str, str]:
    """Collect the meanings of arguments from a class and its bases; the nearest class decides."""
    meaning_by_name: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        docstring = inspect.cleandoc(vars(base).get("__doc__") or "")
        _, _, section = docstring.partition("\nAttributes:\n")
        meaning_by_name |= {
            name: " ".join(meaning_text.split())
            for name, meaning_text in _ATTRIBUTE.findall(section)
        }
    return meaning_by_name


def put_meanings(owner: type, schema: dict[str, Any]) -> None:
    """Put the meanings of a class into its JSON schema, in place of the docstring that has them."""
    schema.pop("description", None)
    for name, meaning in meanings(owner).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["meaning"] = meaning


def explained(schema: Any) -> Any:
    """Return a JSON schema in which the description of each argument is its whole meaning.

    It has no titles: generators of clients would name their classes by them (`Spawnconfig`).
    """
    if isinstance(schema, list):
        return [explained(subschema) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    explained_schema = {key: explained(subschema) for key, subschema in schema.items()}
    if isinstance(explained_schema.get("meaning"), str):  # else it is a property of that name
        explained_schema["description"] = explained_schema.pop("meaning")
    if isinstance(explained_schema.get("title"), str):
        del explained_schema["title"]
    return explained_schema
