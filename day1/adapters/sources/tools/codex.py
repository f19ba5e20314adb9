"""The memory that Codex keeps: a handbook, its summary, and a summary of each session.

`~/.codex/memories/` has `memory_summary.md` and `MEMORY.md`, whose points become facts, and
`rollout_summaries/*.md`, which open with `thread_id`, `updated_at`, `cwd` and `git_branch` and
become observations.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.markdown import Headings, is_note, sections
from day1.adapters.sources.tools.tool import ToolSource, instant_of
from day1.foreign_files import files_below
from day1.ports.source import Draft, Machine

_POINTS = frozenset(("memory_summary.md", "MEMORY.md"))
_SUMMARIES = "rollout_summaries"
_INDEX = frozenset(("rollout_summary_files", "keywords"))
"""Headings of the handbook below which it lists where its points are from."""
_GROUP = re.compile(r"applies_to:[ \t]*cwd=([^;,\n]+)")
_HEAD = re.compile(r"(thread_id|updated_at|cwd|git_branch|rollout_path):[ \t]*(.*)")


class Codex(ToolSource):
    """`ToolSource` over the memory folder of Codex, without summaries of other projects."""

    name = "codex"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        memories = machine.place("CODEX_HOME", ".codex") / "memories"
        return [memories] if memories.is_dir() else []

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        top = path.resolve()
        for file in [top] if top.is_file() else files_below(top, is_note, self.leave_out):
            if file.name in _POINTS:
                yield self._points(file)
            elif file.parent.name == _SUMMARIES:
                yield self._summary(file)
            else:
                # raw_memories.md is what the others were made from.
                self.leave_out("raw notes that the summaries were made from", file)

    def _points(self, file: Path) -> list[Draft]:
        facts: list[Draft] = []
        group, is_wanted = "", True
        front, headings, applying = FrontMatter(self.text(file)), Headings(), 0
        for section in sections(front.body, front.length):
            title = section.headings[0] if section.headings else ""
            applies = next(filter(None, map(_GROUP.match, section.lines)), None)
            if title != group or applies:
                group, is_wanted = (title, self._is_wanted(applies[1].strip() if applies else None))
                if not is_wanted:
                    self.leave_out("points about other projects", f"{file}: {title}")
            if not is_wanted:
                continue
            if section.headings and section.headings[-1] in _INDEX:
                self.leave_out("sources of points", f"{file}, line {section.places[-1][0]}")
                continue
            count = len(section.lines)
            section.lines[:] = [line for line in section.lines if not _GROUP.match(line)]
            applying += count - len(section.lines)
            points = section.points()
            headings.take(section, section.places[-1:] if points else ())
            for point in points:
                text = ": ".join((*section.headings[-1:], point))
                # A point has no name but its text: one that was rewritten is another fact.
                facts.append(self.fact((file.name, text), text))
        if applying:
            self.leave_out("projects of points", f"{file}, lines: {applying}")
        self.leave_out_lines(front.unread, file)
        self.leave_out_headings(headings.left(), file)
        return facts

    def _summary(self, file: Path) -> list[Draft]:
        head: dict[str, str] = {}
        lines = self.text(file).split("\n")
        above = 0
        while above < len(lines) and (not lines[above].strip() or _HEAD.match(lines[above])):
            if match := _HEAD.match(lines[above]):
                head[match[1]] = match[2].strip()
            above += 1
        if not self._is_wanted(head.get("cwd")):
            self.leave_out("summaries of other projects' sessions", file)
            return []
        body = "\n".join(lines[above:]).strip()
        if not body:
            self.leave_out("empty notes", file)
            return []
        if head:
            self.leave_out("heads of summaries, but for the branch and the time", file)
        branch = f"On branch {head['git_branch']}: " if head.get("git_branch") else ""
        key = head.get("thread_id") or file.stem
        return [self.observation((key,), f"{branch}{body}", instant_of(head.get("updated_at")))]

    def _is_wanted(self, folder: str | None) -> bool:
        projects = self._machine.projects
        return not (projects and folder) or any(map(Path(folder).is_relative_to, projects))
