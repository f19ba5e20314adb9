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
        top_path = path.resolve()
        for file in (
            [top_path] if top_path.is_file() else files_below(top_path, is_note, self.leave_out)
        ):
            if file.name in _POINTS:
                yield self._points(file)
            elif file.parent.name == _SUMMARIES:
                yield self._summary(file)
            else:
                # raw_memories.md is what the others were made from.
                self.leave_out("raw notes that the summaries were made from", file)

    def _points(self, file: Path) -> list[Draft]:
        facts: list[Draft] = []
        group_title, is_wanted = "", True
        front_matter, headings, project_lines = FrontMatter(self.text(file)), Headings(), 0
        for section in sections(front_matter.body, front_matter.length):
            title = section.headings[0] if section.headings else ""
            project_match = next(filter(None, map(_GROUP.match, section.lines)), None)
            if title != group_title or project_match:
                group_title, is_wanted = (
                    title,
                    self._is_wanted(project_match[1].strip() if project_match else None),
                )
                if not is_wanted:
                    self.leave_out("points about other projects", f"{file}: {title}")
            if not is_wanted:
                continue
            if section.headings and section.headings[-1] in _INDEX:
                self.leave_out("sources of points", f"{file}, line {section.places[-1][0]}")
                continue
            line_count = len(section.lines)
            section.lines[:] = [line for line in section.lines if not _GROUP.match(line)]
            project_lines += line_count - len(section.lines)
            points = section.points()
            headings.take(section, section.places[-1:] if points else ())
            for point in points:
                fact_text = ": ".join((*section.headings[-1:], point))
                # A point has no name but its text: one that was rewritten is another fact.
                facts.append(self.fact((file.name, fact_text), fact_text))
        if project_lines:
            self.leave_out("projects of points", f"{file}, lines: {project_lines}")
        self.leave_out_lines(front_matter.unread, file)
        self.leave_out_headings(headings.left(), file)
        return facts

    def _summary(self, file: Path) -> list[Draft]:
        head_by_key: dict[str, str] = {}
        lines = self.text(file).split("\n")
        head_line_count = 0
        while head_line_count < len(lines) and (
            not lines[head_line_count].strip() or _HEAD.match(lines[head_line_count])
        ):
            if head_match := _HEAD.match(lines[head_line_count]):
                head_by_key[head_match[1]] = head_match[2].strip()
            head_line_count += 1
        if not self._is_wanted(head_by_key.get("cwd")):
            self.leave_out("summaries of other projects' sessions", file)
            return []
        body = "\n".join(lines[head_line_count:]).strip()
        if not body:
            self.leave_out("empty notes", file)
            return []
        if head_by_key:
            self.leave_out("heads of summaries, but for the branch and the time", file)
        branch_phrase = (
            f"On branch {head_by_key['git_branch']}: " if head_by_key.get("git_branch") else ""
        )
        thread_id = head_by_key.get("thread_id") or file.stem
        return [
            self.observation(
                (thread_id,), f"{branch_phrase}{body}", instant_of(head_by_key.get("updated_at"))
            )
        ]

    def _is_wanted(self, folder: str | None) -> bool:
        projects = self._machine.projects
        return not (projects and folder) or any(map(Path(folder).is_relative_to, projects))
