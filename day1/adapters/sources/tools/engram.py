"""The observations that engram, a program in Go, keeps of sessions: its database, chunks, export.

`~/.engram/engram.db` has a table `observations`. A folder `.engram`, which a project shares, has
`manifest.json` and `chunks/ID.jsonl.gz`; their lines are JSON, as its export is: an observation, or
an object with a list of them. The same observation is often in several of these, and a topic is
one observation that is written anew: the newest of each counts.
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from typing_extensions import override

from day1.adapters.sources.files import broken, decoded, json_of
from day1.adapters.sources.sqlite_file import opened
from day1.adapters.sources.tools.tool import STDIN, ToolSource, instant_of, text_at
from day1.errors import InvalidRequest, Json, NotFound
from day1.model.values.space import space_name
from day1.ports.source import FactDraft, Machine

_DATABASE: Final = "engram.db"
_FOLDER: Final = ".engram"
_MANIFEST: Final = "manifest.json"
_LINE: Final = 32 << 20
"""Bytes of one line of a chunk: what unpacks to more is no chunk."""
_NEEDED: Final = ("session_id", "title", "content", "created_at")
_TIMES: Final = ("created_at", "updated_at", "deleted_at")
_WANTED: Final = ("type", "project", "scope", "topic_key", *_TIMES[1:])
_EVERYWHERE: Final = "personal"
"""The scope of what is about its writer, whatever the project."""

Row = Mapping[str, Json]


class Engram(ToolSource):
    """`ToolSource` over databases, folders with chunks, and exports."""

    name = "engram"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        places = [machine.place("ENGRAM_DATA_DIR", _FOLDER) / _DATABASE]
        places += [folder / _FOLDER / _MANIFEST for folder in machine.projects]
        there = [place for place in places if place.is_file()]
        return [place.parent if place.name == _MANIFEST else place for place in there]

    @override
    def items(self) -> Iterator[Sequence[FactDraft]]:
        self._left_out.clear()
        yield from self._newest(self._paths)

    @override
    def read(self, path: Path) -> Iterator[Sequence[FactDraft]]:
        return self._newest([path])

    def _newest(self, paths: Sequence[Path]) -> Iterator[Sequence[FactDraft]]:
        newest: dict[str, tuple[int, Row, FactDraft]] = {}
        for row in chain.from_iterable(map(self._rows, paths)):
            draft, at = self._draft(row), max(_instant(row, name) or 0 for name in _TIMES)
            if draft.id not in newest or newest[draft.id][0] <= at:
                newest[draft.id] = (at, row, draft)
        for _, row, draft in newest.values():
            if self._is_wanted(row, draft):
                yield [draft]

    def _rows(self, path: Path) -> Iterator[Row]:
        for file in _files(path):
            if file.suffix == ".gz":
                yield from self._chunk(file)
            elif file == STDIN or file.suffix == ".json":
                yield from self._observations(json_of(self.text(file), file), file, 1)
            else:
                with opened(file) as database:
                    rows = database.rows("observations", _NEEDED, _WANTED)
                    yield from self.readable(rows, "created_at")

    def _chunk(self, chunk: Path) -> Iterator[Row]:
        number = 0
        try:
            with gzip.open(chunk, "rb") as lines:
                while line := lines.readline(_LINE):
                    number += 1
                    if line.strip():
                        found = json_of(decoded(line, chunk), chunk, number)
                        yield from self._observations(found, chunk, number)
        except (OSError, EOFError) as exc:
            raise broken(chunk, number + 1, "it is cut off or is no chunk of engram") from exc

    def _observations(self, found: Json, file: Path, number: int) -> Iterator[Row]:
        """The observations of a value: itself, or those of its list."""
        if not isinstance(found, dict):
            raise broken(file, number, "it is no object")
        listed = found.get("observations", [found] if "content" in found else [])
        for one in listed if isinstance(listed, list) else ():
            if not isinstance(one, dict):
                raise broken(file, number, "an observation in it is no object")
            yield one
        prompts = found.get("prompts")
        if isinstance(prompts, list) and prompts:
            self.leave_out("what people asked for, word by word", f"{file}, line {number}")

    def _draft(self, row: Row) -> FactDraft:
        title, content, topic = (text_at(row, name) for name in ("title", "content", "topic_key"))
        project = text_at(row, "project")
        # A topic is one observation that is written anew; without one each is its own.
        own = [topic] if topic else [text_at(row, n) for n in ("session_id", "created_at", "title")]
        key = (project, text_at(row, "scope"), *own)
        text = ": ".join(filter(None, (topic, title, content)))
        draft = self.fact(key, text, text_at(row, "type") or None, _instant(row, "created_at"))
        return replace(draft, space=_space(project))

    def _is_wanted(self, row: Row, draft: FactDraft) -> bool:
        place = text_at(row, "created_at") or draft.id
        project = text_at(row, "project").casefold()
        wanted = {folder.name.casefold() for folder in self._machine.projects}
        if row.get("deleted_at"):
            self.leave_out("deleted observations", place)
        elif not (text_at(row, "title") or text_at(row, "content")):
            self.leave_out("empty observations", place)
        elif wanted and project and project not in wanted and row.get("scope") != _EVERYWHERE:
            self.leave_out("observations of other projects", place)
        else:
            return True
        return False


def _files(path: Path) -> list[Path]:
    """The files at a path: a database, and chunks beside a manifest.

    Raises:
        NotFound: there is none.
    """
    if not path.is_dir():
        return [path]
    folders = (path, path / _FOLDER)
    files = [folder / _DATABASE for folder in folders if (folder / _DATABASE).is_file()]
    shared = [folder for folder in folders if (folder / _MANIFEST).is_file()]
    if not (files or shared):
        raise NotFound(
            f"There is no {_DATABASE} and no folder with {_MANIFEST} and chunks at {path}.",
            path=str(path),
        )
    chunks = [sorted((folder / "chunks").glob("*.jsonl.gz")) for folder in shared]
    return [*files, *chain.from_iterable(chunks)]


def _instant(row: Row, name: str) -> int | None:
    return instant_of(text_at(row, name))


def _space(project: str) -> str | None:
    """The space of a project; none where the name cannot be one."""
    try:
        return space_name(f"project:{project}") if project else None
    except InvalidRequest:
        return None
