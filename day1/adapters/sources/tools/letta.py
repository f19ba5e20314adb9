"""What Letta's agents remember: an agent file (`.af`), or the git folder of an agent's memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import broken, files_below, json_of
from day1.adapters.sources.git import GitSource
from day1.adapters.sources.markdown import front_matter, is_note, sections
from day1.adapters.sources.tools.tool import ToolSource, text_at
from day1.errors import Json
from day1.ports.source import Draft, Item, Machine


class Letta(ToolSource):
    """`ToolSource` over agent files and memory folders."""

    name = "letta"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        agents = machine.home / ".letta" / "agents"
        return sorted(path for path in agents.glob("*/memory") if path.is_dir())

    @override
    def read(self, path: Path) -> Iterator[Sequence[Item]]:
        if path.is_dir():
            if (path / ".git").exists():
                yield from GitSource(path).items()
            yield from self._folder(path.resolve())
            return
        found = json_of(self.text(path), path)
        if not isinstance(found, dict) or "agents" not in found or "blocks" not in found:
            raise broken(path, 1, "it is no agent file, or one of a version before 2")
        agents, blocks = _objects(found, "agents"), _objects(found, "blocks")
        whose = {
            str(block): text_at(agent, "name")
            for agent in agents
            for block in _list(agent, "block_ids")
        }
        for number, block in enumerate(blocks):
            agent = whose.get(str(block.get("id"))) or path.stem
            label = text_at(block, "label") or f"block {number}"
            yield self._block((agent, label), label, text_at(block, "value"))
        messages = sum(len(_list(agent, "messages")) for agent in agents)
        if messages:
            self.leave_out("what was said last", f"{messages:,} messages")

    def _folder(self, folder: Path) -> Iterator[list[Draft]]:
        for file in files_below(folder, is_note, self.leads_out):
            text = self.text(file)
            place = file.relative_to(folder).with_suffix("").as_posix()
            said = ", ".join(front_matter(text).get("description", ()))
            key = (folder.parent.name, place)
            yield self._block(key, f"{place} ({said})" if said else place, text)

    def _block(self, key: tuple[str, str], title: str, text: str) -> list[Draft]:
        """The paragraphs and points of a block; each is a fact."""
        facts: dict[str, Draft] = {}
        for section in sections(text):
            for point in section.points():
                told = ": ".join((title, *section.headings[-1:], point))
                facts.setdefault(told, self.fact((*key, told), told, key[1]))
        return list(facts.values())


def _list(item: dict[str, Json], key: str) -> list[Json]:
    value = item.get(key)
    return value if isinstance(value, list) else []


def _objects(item: dict[str, Json], key: str) -> list[dict[str, Json]]:
    return [one for one in _list(item, key) if isinstance(one, dict)]
