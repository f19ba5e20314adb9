"""The memories that beads keeps among a project's issues: a line of JSON each."""

from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import json_of
from day1.adapters.sources.tools.tool import ToolSource, text_at
from day1.foreign_files import broken, why_not
from day1.ports.source import Draft, Machine


class Beads(ToolSource):
    """`ToolSource` over `.beads/issues.jsonl` or `bd export --include-memories`."""

    name = "beads"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        folders = machine.projects or (machine.home,)
        folders_and_files = [(folder, folder / ".beads" / "issues.jsonl") for folder in folders]
        # A project may be a stranger's: a link in it leads to no file elsewhere.
        return [file for folder, file in folders_and_files if not why_not(folder.resolve(), file)]

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        for line_number, line in enumerate(self.text(path).split("\n"), start=1):
            if not line.strip():
                continue
            item = json_of(line, path, line_number)
            if not isinstance(item, dict):
                raise broken(path, line_number, "it is not a JSON object")
            if item.get("_type") != "memory":
                self.leave_out("issues", item.get("id") or f"line {line_number}")
                continue
            key, value = text_at(item, "key"), text_at(item, "value")
            if not (key and value):
                raise broken(path, line_number, "its memory has no key or no value")
            yield [self.fact((key,), f"{key}: {value}")]
