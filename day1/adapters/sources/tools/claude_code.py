"""The memory that Claude Code keeps of a project: a folder of notes, one fact each.

`~/.claude/projects/SLUG/memory/` has a note per memory, with `name`, `description` and a type in
its front matter, and `MEMORY.md`, which lists them. SLUG is the project's path, with a hyphen
for each character that is no letter and no digit.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.markdown import Headings, is_note, sections
from day1.adapters.sources.tools.tool import ToolSource
from day1.foreign_files import files_below
from day1.ports.source import Draft, Machine

_INDEX = "MEMORY.md"
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\]")
_INDEX_LINE = re.compile(r"\s*[-*+]\s+(?:\[[^\]]*\]\([^)]*\)|\[\[[^\]]*\]\])")


class ClaudeCode(ToolSource):
    """`ToolSource` over the memory folders of Claude Code."""

    name = "claude-code"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        projects_folder = machine.place("CLAUDE_CONFIG_DIR", ".claude") / "projects"
        if not machine.projects:
            return sorted(path for path in projects_folder.glob("*/memory") if path.is_dir())
        slugs = (re.sub(r"[^A-Za-z0-9]", "-", str(project)) for project in machine.projects)
        folders = (projects_folder / slug / "memory" for slug in slugs)
        return [folder for folder in folders if folder.is_dir()]

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        if path.is_file():
            yield self._note(path, path.resolve().parent.parent.name)
            return
        slug = path.resolve().parent.name

        for file in files_below(path, is_note, self.leave_out):
            yield self._index(file, slug) if file.name == _INDEX else self._note(file, slug)

    def _note(self, file: Path, slug: str) -> list[Draft]:
        front_matter = FrontMatter(self.text(file))
        note_name = front_matter.joined("name") or file.stem
        description = front_matter.joined("description")
        body = front_matter.body.strip()
        note_parts = [description if description not in body else "", body]
        note_text = "\n\n".join(note_part for note_part in note_parts if note_part)
        if not note_text:
            self.leave_out("empty notes", file)
            return []
        category = front_matter.joined("metadata.type") or front_matter.joined("type") or None
        self.leave_out_lines(front_matter.unread, file)
        link_targets = dict.fromkeys(link.strip() for link in _LINK.findall(body))
        return [
            self.fact((slug, file.stem), f"{note_name}: {note_text}", category),
            *(
                self.relation((note_name, "links_to", link_target))
                for link_target in link_targets
                if link_target != note_name
            ),
        ]

    def _index(self, file: Path, slug: str) -> list[Draft]:
        """List drafts of the index's text, without the lines that only name a note."""
        facts: list[Draft] = []
        front_matter, headings, listed_lines = FrontMatter(self.text(file)), Headings(), 0
        for section in sections(front_matter.body, front_matter.length):
            line_count = len(section.lines)
            section.lines[:] = [line for line in section.lines if not _INDEX_LINE.match(line)]
            listed_lines += line_count - len(section.lines)
            pieces = section.pieces()
            headings.take(section, section.places if pieces else ())
            for piece_number, piece in enumerate(pieces):
                heading_path = " > ".join(section.headings) or _INDEX
                fact_key = (slug, _INDEX, *section.headings, str(piece_number))
                facts.append(self.fact(fact_key, f"{heading_path}: {piece}"))
        if listed_lines:
            self.leave_out("lists of the notes' names", f"{file}, lines: {listed_lines}")
        self.leave_out_lines(front_matter.unread, file)
        self.leave_out_headings(headings.left(), file)
        return facts
