"""The JSON Lines file of the official MCP memory server: a knowledge graph, one item a line.

`{"type":"entity","name":…,"entityType":…,"observations":[…]}` becomes a fact per observation and
an `is_a` relation to its type; `{"type":"relation","from":…,"to":…,"relationType":…}` a relation.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from typing_extensions import override

from day1.errors import ImportBroken, Json, NotFound
from day1.model.values.ids import derived_id
from day1.ports.source import Draft, FactDraft, RelationDraft, Source


class GraphSource(Source):
    """`ports.source.Source` over such a file."""

    name = "graph"

    def __init__(self, path: Path) -> None:
        """Name the file.

        Raises:
            NotFound: there is no such file.
        """
        if not path.is_file():
            raise NotFound(f"There is no file {path}.", path=str(path))
        self._path = path
        self._types: dict[str, str] = {}

    @override
    def total(self) -> int:
        with self._path.open("rb") as lines:
            return sum(1 for _ in lines)

    @override
    def items(self) -> Iterator[list[Draft]]:
        self._types.clear()
        with self._path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    drafts = self._drafts(_parsed(line)) if line.strip() else []
                except (ValueError, KeyError, TypeError, RecursionError) as exc:
                    raise ImportBroken(
                        f"Line {number} is cut off or is no entity and no relation of a "
                        "knowledge graph. What came before it is stored: mend the line and "
                        "import the file again.",
                        line=number,
                    ) from exc
                yield drafts

    def _drafts(self, item: Mapping[str, Json]) -> list[Draft]:
        match item.get("type"):
            case "entity":
                return self._entity(item)
            case "relation":
                ends = _text(item, "from"), _text(item, "relationType"), _text(item, "to")
                return [RelationDraft(derived_id("rel", None, self.name, *ends), *ends)]
            case _:
                raise ValueError

    def _entity(self, item: Mapping[str, Json]) -> list[Draft]:
        """An entity; one that a file has twice is of the type that comes first."""
        name, entity_type = _text(item, "name"), _text(item, "entityType")
        observations = item["observations"]
        if not isinstance(observations, list):
            raise TypeError
        entity_type = self._types.setdefault(name, entity_type)
        is_a = derived_id("rel", None, self.name, name, "is_a", "")
        drafts: list[Draft] = [RelationDraft(is_a, name, "is_a", entity_type)]
        for observation in observations:
            if not isinstance(observation, str):
                raise TypeError
            if observation.strip():
                fact_id = derived_id("fact", None, self.name, name, observation)
                text = f"{name} ({entity_type}): {observation}"
                drafts.append(FactDraft(fact_id, text, category=entity_type))
        return drafts


def _parsed(line: bytes) -> Mapping[str, Json]:
    item = json.loads(line.decode("utf-8-sig"))
    if not isinstance(item, dict):
        raise TypeError
    # json reads escaped lone surrogates, which are no text.
    json.dumps(item, ensure_ascii=False).encode()
    return item


def _text(item: Mapping[str, Json], key: str) -> str:
    """A name: text that is not empty.

    Raises:
        KeyError: it is missing.
        TypeError: it is something else.
        ValueError: it is empty.
    """
    value = item[key]
    if not isinstance(value, str):
        raise TypeError
    if not value.strip():
        raise ValueError
    return value
