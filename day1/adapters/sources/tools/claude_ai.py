"""What Claude.ai remembers of a person: `memories.json`, alone or in the export's zip file."""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from lzma import LZMAError
from pathlib import Path
from typing import IO

from typing_extensions import override

from day1.adapters.sources.files import decoded, json_of
from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.markdown import Headings, sections
from day1.adapters.sources.tools.tool import STDIN, ToolSource, text_at
from day1.errors import Json, NotFound
from day1.foreign_files import MOST_BYTES, broken, open_file, shown, why_not
from day1.ports.source import Draft

_FILE = "memories.json"


class ClaudeAi(ToolSource):
    """`ToolSource` over `memories.json` of Claude.ai; conversations are not read."""

    name = "claude-ai"

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        if path.is_dir():
            folder, path = path, path / _FILE
            if not path.exists():
                raise NotFound(f"There is no {shown(path)}.", path=shown(path))
            if reason := why_not(folder.resolve(), path):
                self.leave_out(reason, path)
                return
        text = self._zipped(path) or self.text(path)
        accounts = json_of(text, path)
        if not isinstance(accounts, list):
            raise broken(path, 1, "it is not a list of accounts' memories")
        for entry_number, account in enumerate(accounts):
            if not isinstance(account, dict):
                raise broken(path, 1, f"its entry {entry_number} is not an object")
            account_id = text_at(account, "account_uuid")
            entry_place = f"{shown(path)}, entry {entry_number}"
            yield self._points((account_id,), account, "conversations_memory", entry_place)
            memory_by_project = account.get("project_memories") or {}
            if not isinstance(memory_by_project, dict):
                raise broken(path, 1, f"the projects of its entry {entry_number} are not an object")
            for project_id in memory_by_project:
                yield self._points(
                    (account_id, project_id), memory_by_project, project_id, entry_place
                )

    def _zipped(self, path: Path) -> str:
        """Return the text in a zip file; "" if the file is not a zip file."""
        if path == STDIN:
            return ""
        try:
            with open_file(path) as file:
                return self._member(path, file) if zipfile.is_zipfile(file) else ""
        except (
            OSError, EOFError, zipfile.BadZipFile, zlib.error, LZMAError,
            NotImplementedError, RuntimeError, ValueError, struct.error,
        ) as exc:  # fmt: skip
            raise broken(path, 1, "it is not a complete zip file that can be read") from exc

    def _member(self, path: Path, file: IO[bytes]) -> str:
        with zipfile.ZipFile(file) as archive:
            file_names = [
                file_name for file_name in archive.namelist() if not file_name.endswith("/")
            ]
            memory_file_names = [
                file_name for file_name in file_names if file_name.rpartition("/")[2] == _FILE
            ]
            if not memory_file_names:
                raise NotFound(
                    f"{shown(path)} has no {_FILE}: not every export has one. Ask the chat for "
                    "its memory as lines `[date] - text`, and use `day1 import lines -`.",
                    path=shown(path),
                )
            for file_name in file_names:
                if file_name != memory_file_names[0]:
                    self.leave_out("other files of the export", f"{shown(path)}: {file_name}")
            with archive.open(memory_file_names[0]) as member:
                data = member.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise broken(path, 1, f"its {_FILE} is larger than {MOST_BYTES >> 20} MB")
        return decoded(data, path)

    def _points(
        self, key: tuple[str, ...], item: Mapping[str, Json], name: str, place: str
    ) -> list[Draft]:
        """List the drafts of the points of one text of an object."""
        if not isinstance(item.get(name), str | None):
            self.leave_out("memories that are no text", place)
        facts: list[Draft] = []
        front_matter, headings = FrontMatter(text_at(item, name)), Headings()
        for section in sections(front_matter.body, front_matter.length):
            points = section.points()
            headings.take(section, section.places[-1:] if points else ())
            for point in points:
                fact_text = ": ".join((*section.headings[-1:], point))
                facts.append(self.fact((*key, fact_text), fact_text))
        self.leave_out_lines(front_matter.unread, place)
        self.leave_out_headings(headings.left(), place)
        return facts
