"""The memories of mcp-memory-service: its SQLite database, or the JSON that it exports."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import json_of
from day1.adapters.sources.sqlite_file import SqliteFile, opened
from day1.adapters.sources.tools.tool import ToolSource, instant_of, text_at, texts_at
from day1.errors import Json
from day1.foreign_files import broken
from day1.ports.source import Draft, Machine

_NEEDED = ("content_hash", "content")
_WANTED = ("tags", "memory_type", "created_at", "created_at_iso", "deleted_at", "superseded_by")
_GRAPH = ("source_hash", "target_hash", "relationship_type")
_COMPUTED = frozenset(("", "related"))
"""Types of relations that only say that two memories are similar, which a search finds too."""
_MOST_NAME = 80
"""Maximum number of characters of a memory that name it in a relation."""

Row = Mapping[str, Json]


class McpMemoryService(ToolSource):
    """`ToolSource` over a database or an export; its vectors are not read."""

    name = "mcp-memory-service"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        default_place = (
            ("Library", "Application Support") if sys.platform == "darwin" else (".local", "share")
        )
        if database_path := machine.environment.get("MCP_MEMORY_SQLITE_PATH"):
            return [
                database_file
                for database_file in [Path(database_path).expanduser()]
                if database_file.is_file()
            ]
        folder = machine.place("MCP_MEMORY_BASE_DIR", *default_place, "mcp-memory")
        database_file = folder / "sqlite_vec.db"
        return [database_file] if database_file.is_file() else []

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        if path.suffix == ".json":
            yield from self._memories(*_by_key(self._exported(path)))
            return
        with opened(path) as file:
            keys_and_rows = (
                (str(row["content_hash"]), row)
                for row in self.readable(file.rows("memories", _NEEDED, _WANTED), "content_hash")
            )
            row_by_key, repeated_rows = _by_key(keys_and_rows)
            yield from self._memories(row_by_key, repeated_rows)
            if file.has("memory_graph"):
                yield from self._graph(file, row_by_key)

    def _exported(self, path: Path) -> Iterator[tuple[str, Row]]:
        export = json_of(self.text(path), path)
        memories = export.get("memories") if isinstance(export, dict) else None
        if not isinstance(memories, list):
            raise broken(path, 1, "it is not an export of mcp-memory-service")
        for row_number, row in enumerate(memories):
            if isinstance(row, dict) and text_at(row, "content_hash"):
                yield text_at(row, "content_hash"), row
            else:
                self.leave_out("entries without a hash", f"memories {row_number}")

    def _memories(
        self, rows: Mapping[str, Row], unnamed: Sequence[tuple[str, Row]]
    ) -> Iterator[list[Draft]]:
        superseded_by_absent = _superseded_by_absent(rows)
        for key, row in (*rows.items(), *unnamed):
            successor_id = text_at(row, "superseded_by")
            if row.get("deleted_at"):
                self.leave_out("deleted memories", key)
            elif key in superseded_by_absent:
                self.leave_out("memories whose successor was deleted", key)
            elif text := text_at(row, "content"):
                tags = _tags(row)
                fact_text = f"{text}\n\nTags: {', '.join(tags)}" if tags else text
                happened_at = instant_of(row.get("created_at")) or instant_of(
                    row.get("created_at_iso")
                )
                memory_type = text_at(row, "memory_type") or None
                draft = self.fact((key,), fact_text, memory_type, happened_at)
                yield [self.superseded(draft, (successor_id,)) if successor_id else draft]
            else:
                self.leave_out("empty memories", key)

    def _graph(self, file: SqliteFile, rows: Mapping[str, Row]) -> Iterator[list[Draft]]:
        for row in self.readable(file.rows("memory_graph", _GRAPH), "source_hash"):
            source, target = (rows.get(str(row[f"{end}_hash"])) for end in ("source", "target"))
            relation_type = text_at(row, "relationship_type")
            source_name, target_name = _name(source), _name(target)
            if relation_type in _COMPUTED or not (source_name and target_name):
                self.leave_out(
                    "relations of nearness, or of memories that are gone", row["source_hash"]
                )
            else:
                yield [self.relation((source_name, relation_type, target_name))]


def _by_key(named_rows: Iterable[tuple[str, Row]]) -> tuple[dict[str, Row], list[tuple[str, Row]]]:
    """Return the first memory of each key, and the memories whose key an earlier one has."""
    row_by_key: dict[str, Row] = {}
    repeated_rows: list[tuple[str, Row]] = []
    for key, row in named_rows:
        if row_by_key.setdefault(key, row) is not row:
            repeated_rows.append((key, row))
    return row_by_key, repeated_rows


def _superseded_by_absent(rows: Mapping[str, Row]) -> set[str]:
    """Return the keys of memories superseded, directly or not, by one that is not imported."""
    older_by_newer: dict[str, list[str]] = {}
    for key, row in rows.items():
        if successor_id := text_at(row, "superseded_by"):
            older_by_newer.setdefault(successor_id, []).append(key)
    unvisited = [key for key in older_by_newer if key not in rows]
    unvisited += [
        key for key, row in rows.items() if row.get("deleted_at") or not text_at(row, "content")
    ]
    superseded_keys: set[str] = set()
    while unvisited:
        predecessors = set(older_by_newer.get(unvisited.pop(), ())) - superseded_keys
        superseded_keys |= predecessors
        unvisited += predecessors
    return superseded_keys


def _tags(row: Row) -> list[str]:
    """Return a row's tags: the database has them as a text with commas."""
    tags = row.get("tags")
    tag_list = tags.split(",") if isinstance(tags, str) else texts_at(row, "tags")
    return [tag.strip() for tag in tag_list if tag.strip()]


def _name(row: Row | None) -> str:
    if row is None or row.get("deleted_at"):
        return ""
    return " ".join(text_at(row, "content").split())[:_MOST_NAME].strip()
