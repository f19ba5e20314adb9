"""What mem0 remembered and how that changed: its `history.db`, or what its `get_all` answers.

Each row of the history is an event in the life of a memory, and is told as one. The vector store
beside it keeps pickles, which run programs when they are opened: they are never opened.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import json_of
from day1.adapters.sources.sqlite_file import opened
from day1.adapters.sources.tools.tool import ToolSource, instant_of, text_at
from day1.errors import Json, NotFound
from day1.foreign_files import broken, shown, why_not
from day1.model.values.ids import derived_id
from day1.ports.source import EventDraft, EventName, Item, Machine

_FILE = "history.db"
_NEEDED = ("id", "memory_id", "new_memory", "event")
_WANTED = ("created_at", "updated_at", "actor_id")
_EVENTS: Mapping[str, EventName] = {"ADD": "add", "UPDATE": "change", "DELETE": "remove"}


class Mem0(ToolSource):
    """`ToolSource` over the SQLite database of Mem0, or its memories as JSON."""

    name = "mem0"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        file = machine.place("MEM0_DIR", ".mem0") / _FILE
        return [file] if file.is_file() else []

    @override
    def read(self, path: Path) -> Iterator[Sequence[Item]]:
        if path.is_dir():
            folder, path = path, path / _FILE
            if not path.exists():
                raise NotFound(
                    f"There is no {shown(path)}. mem0's vectors are pickles, which day1 does not "
                    "open: write `json.dump(memory.get_all(…))` to a .json file and import that.",
                    path=shown(path),
                )
            if reason := why_not(folder.resolve(), path):
                self.leave_out(reason, path)
                return
        if path.suffix == ".json":
            yield from self._answer(path)
            return
        added_ids: set[str] = set()
        with opened(path) as database:
            for row in self.readable(database.rows("history", _NEEDED, _WANTED), "id"):
                event, memory_id = text_at(row, "event"), text_at(row, "memory_id")
                if event in _EVENTS and memory_id:
                    # A second ADD of a memory gives it a new text.
                    is_repeated = event == "ADD" and memory_id in added_ids
                    yield self._event(row, "change" if is_repeated else _EVENTS[event])
                    added_ids.add(memory_id)
                else:
                    self.leave_out("events other than ADD, UPDATE, DELETE", row["id"])

    def _event(self, row: Mapping[str, Json], name: EventName) -> list[Item]:
        text, memory_id = text_at(row, "new_memory"), text_at(row, "memory_id")
        if not text and name != "remove":
            self.leave_out("events without a text", row["id"])
            return []
        created_at, updated_at = (
            instant_of(row.get("created_at")),
            instant_of(row.get("updated_at")),
        )
        happened_at = created_at if name == "add" else updated_at or created_at
        fact = self.fact((memory_id,), text, at=happened_at)
        edit_id = derived_id("edit", None, self.name, "event", str(row["id"]))
        return [EventDraft(edit_id, name, fact, f"mem0 {row['event']}", text_at(row, "actor_id"))]

    def _answer(self, path: Path) -> Iterator[list[Item]]:
        """Yield the memories of `{"results": […]}`, or of the list alone."""
        answer = json_of(self.text(path), path)
        results = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(results, list):
            raise broken(path, 1, "it is not an answer of mem0's get_all")
        for result_number, row in enumerate(results):
            text = text_at(row, "memory") if isinstance(row, dict) else ""
            if isinstance(row, dict) and text and text_at(row, "id"):
                happened_at = instant_of(row.get("updated_at")) or instant_of(row.get("created_at"))
                yield [self.fact((text_at(row, "id"),), text, at=happened_at)]
            else:
                self.leave_out("entries without an id or a text", f"results {result_number}")
