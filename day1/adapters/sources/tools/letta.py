"""What Letta's agents remember: an agent file (`.af`), or the git folder of an agent's memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import json_of
from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.git import GitSource
from day1.adapters.sources.markdown import Headings, is_note, sections
from day1.adapters.sources.tools.tool import ToolSource, text_at
from day1.errors import Json
from day1.foreign_files import broken, files_below, shown
from day1.ports.source import Draft, Item, Machine


class Letta(ToolSource):
    """`ToolSource` over agent files and memory folders."""

    name = "letta"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        agents_folder = machine.home / ".letta" / "agents"
        return sorted(path for path in agents_folder.glob("*/memory") if path.is_dir())

    @override
    def read(self, path: Path) -> Iterator[Sequence[Item]]:
        if path.is_dir():
            yield from self._history(path / ".git")
            yield from self._folder(path.resolve())
            return
        agent_file = json_of(self.text(path), path)
        if (
            not isinstance(agent_file, dict)
            or "agents" not in agent_file
            or "blocks" not in agent_file
        ):
            raise broken(path, 1, "it is not an agent file, or is one of a version before 2")
        agents, blocks = _objects(path, agent_file, "agents"), _objects(path, agent_file, "blocks")
        agent_name_by_block = {
            str(block): text_at(agent, "name")
            for agent in agents
            for block in _list(agent, "block_ids")
        }
        for block_number, block in enumerate(blocks):
            agent_name = agent_name_by_block.get(str(block.get("id"))) or path.stem
            label = text_at(block, "label") or f"block {block_number}"
            block_place = f"{shown(path)}, block {block_number}"
            if not isinstance(block.get("value"), str | None):
                self.leave_out("blocks that are no text", block_place)
            front_matter = FrontMatter(text_at(block, "value"))
            yield self._block((agent_name, label), label, front_matter, block_place)
        message_count = sum(len(_list(agent, "messages")) for agent in agents)
        if message_count:
            self.leave_out("latest messages of conversations", f"{message_count:,} messages")

    def _folder(self, folder: Path) -> Iterator[list[Draft]]:
        for file in files_below(folder, is_note, self.leave_out):
            front_matter = FrontMatter(self.text(file))
            note_path = file.relative_to(folder).with_suffix("").as_posix()
            description = front_matter.joined("description")
            folder_and_note = (folder.parent.name, note_path)
            yield self._block(
                folder_and_note,
                f"{note_path} ({description})" if description else note_path,
                front_matter,
                shown(file),
            )

    def _history(self, repository: Path) -> Iterator[Sequence[Item]]:
        """Yield what git knows of a folder, if the repository is in that folder."""
        if repository.is_symlink():
            self.leave_out("links that lead out of the folder", repository)
        elif repository.exists():
            git_source = GitSource(repository.parent)
            yield from git_source.items()
            for reason, places in git_source.left_out.items():
                self._left_out.setdefault(reason, []).extend(places)

    def _block(
        self, key: tuple[str, str], title: str, front: FrontMatter, place: str
    ) -> list[Draft]:
        """List the paragraphs and points of a block; each becomes a fact."""
        facts: list[Draft] = []
        named_headings = Headings()
        for section in sections(front.body, front.length):
            points = section.points()
            named_headings.take(section, section.places[-1:] if points else ())
            for point in points:
                fact_text = ": ".join((title, *section.headings[-1:], point))
                facts.append(self.fact((*key, fact_text), fact_text, key[1]))
        if not facts:
            self.leave_out("empty notes", place)
        self.leave_out_lines(front.unread, place)
        self.leave_out_headings(named_headings.left(), place)
        return facts


def _list(item: dict[str, Json], key: str) -> list[Json]:
    value = item.get(key)
    return value if isinstance(value, list) else []


def _objects(path: Path, item: dict[str, Json], key: str) -> list[dict[str, Json]]:
    objects = [member for member in _list(item, key) if isinstance(member, dict)]
    if not isinstance(item[key], list) or len(objects) < len(_list(item, key)):
        raise broken(path, 1, f"its {key} are not a list of objects")
    return objects
