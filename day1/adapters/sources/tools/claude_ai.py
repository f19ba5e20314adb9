"""What Claude.ai remembers of a person: `memories.json`, alone or in the export's zip file."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import MOST_BYTES, broken, decoded, json_of
from day1.adapters.sources.markdown import sections
from day1.adapters.sources.tools.tool import ToolSource, text_at
from day1.errors import NotFound
from day1.ports.source import Draft

_FILE = "memories.json"


class ClaudeAi(ToolSource):
    """`ToolSource` over such a file; conversations are not read."""

    name = "claude-ai"

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        if path.is_dir():
            path = path / _FILE
            if not path.is_file():
                raise NotFound(f"There is no {path}.", path=str(path))
        text = self._zipped(path) if zipfile.is_zipfile(path) else self.text(path)
        found = json_of(text, path)
        if not isinstance(found, list):
            raise broken(path, 1, "it is no list of accounts' memories")
        for number, account in enumerate(found):
            if not isinstance(account, dict):
                raise broken(path, 1, f"its entry {number} is no object")
            whose = text_at(account, "account_uuid")
            yield self._points((whose,), text_at(account, "conversations_memory"))
            projects = account.get("project_memories")
            if isinstance(projects, dict):
                for project in projects:
                    yield self._points((whose, project), text_at(projects, project))

    def _zipped(self, path: Path) -> str:
        try:
            with zipfile.ZipFile(path) as archive:
                names = [n for n in archive.namelist() if n.rpartition("/")[2] == _FILE]
                if not names:
                    raise NotFound(
                        f"{path} has no {_FILE}: not every export has one. Ask the chat for its "
                        "memory as lines `[date] - text`, and use `day1 import lines -`.",
                        path=str(path),
                    )
                with archive.open(names[0]) as member:
                    data = member.read(MOST_BYTES + 1)
        except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as exc:
            raise broken(path, 1, "it is no whole zip file that can be read") from exc
        if len(data) > MOST_BYTES:
            raise broken(path, 1, f"its {_FILE} is larger than {MOST_BYTES >> 20} MB")
        return decoded(data, path)

    def _points(self, key: tuple[str, ...], text: str) -> list[Draft]:
        facts: dict[str, Draft] = {}
        for section in sections(text):
            for point in section.points():
                told = ": ".join((*section.headings[-1:], point))
                facts.setdefault(told, self.fact((*key, told), told))
        return list(facts.values())
