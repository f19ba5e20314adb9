"""The JSON Lines file of the official MCP memory server: a knowledge graph, one item a line.

`{"type":"entity","name":…,"entityType":…,"observations":[…]}` becomes a fact per observation and
an `is_a` relation to its type; `{"type":"relation","from":…,"to":…,"relationType":…}` a relation.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.counting import CountingSource
from day1.adapters.sources.files import decoded, json_of
from day1.errors import Json, NotFound
from day1.foreign_files import broken, lines_in, open_file, shown
from day1.model.values.ids import derived_id
from day1.ports.source import Draft, FactDraft, RelationDraft


class GraphSource(CountingSource):
    """`ports.source.Source` over a JSON Lines file of the MCP memory server."""

    name = "graph"

    def __init__(self, path: Path) -> None:
        """Set the file to read.

        Raises:
            NotFound: there is no such file.
        """
        super().__init__()
        if not path.exists():
            raise NotFound(f"There is no file {shown(path)}.", path=shown(path))
        self._path = path
        self._types: dict[str, str] = {}

    @override
    def total(self) -> int:
        with open_file(self._path) as file:
            return sum(1 for _ in lines_in(file, self._path))

    @override
    def items(self) -> Iterator[list[Draft]]:
        self._types.clear()
        self._left_out.clear()
        with open_file(self._path) as file:
            for line_number, line in enumerate(lines_in(file, self._path), start=1):
                if not line.strip():
                    continue
                item = json_of(decoded(line, self._path), self._path, line_number)
                try:
                    drafts = self._drafts(item, line_number)
                except (ValueError, KeyError, TypeError) as exc:
                    reason = "it is neither an entity nor a relation of a knowledge graph"
                    raise broken(self._path, line_number, reason) from exc
                yield drafts

    def _drafts(self, item: Json, number: int) -> list[Draft]:
        if not isinstance(item, dict):
            raise TypeError
        match item.get("type"):
            case "entity":
                return self._entity(item, number)
            case "relation":
                triple = _text(item, "from"), _text(item, "relationType"), _text(item, "to")
                return [RelationDraft(derived_id("rel", None, self.name, *triple), *triple)]
            case _:
                raise ValueError

    def _entity(self, item: Mapping[str, Json], number: int) -> list[Draft]:
        """List the drafts of an entity; if a file has it twice, the first type counts."""
        entity_name, entity_type = _text(item, "name"), _text(item, "entityType")
        observations = item["observations"]
        if not isinstance(observations, list):
            raise TypeError
        if (first_type := self._types.setdefault(entity_name, entity_type)) != entity_type:
            self.leave_out("further types of an entity", f"line {number}")
        entity_type = first_type
        is_a_id = derived_id("rel", None, self.name, entity_name, "is_a", "")
        drafts: list[Draft] = [RelationDraft(is_a_id, entity_name, "is_a", entity_type)]
        for observation in observations:
            if not isinstance(observation, str):
                raise TypeError
            if observation.strip():
                fact_id = derived_id("fact", None, self.name, entity_name, observation)
                text = f"{entity_name} ({entity_type}): {observation}"
                drafts.append(FactDraft(fact_id, text, category=entity_type))
        return drafts


def _text(item: Mapping[str, Json], key: str) -> str:
    """Return the name under a key; it is refused if it is missing, empty or no text.

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
