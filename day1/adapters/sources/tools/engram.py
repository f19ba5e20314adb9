"""The observations that engram, a program in Go, keeps of sessions: its database, chunks, export.

`~/.engram/engram.db` has a table `observations`. A folder `.engram`, which a project shares, has
`manifest.json` and `chunks/ID.jsonl.gz`; their lines are JSON, as its export is: an observation, or
an object with a list of them. The same observation is often in several of these, and a topic is
one observation that is written anew: the newest of each counts.
"""

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from typing_extensions import override

from day1.adapters.sources.files import decoded, json_of
from day1.adapters.sources.sqlite_file import opened
from day1.adapters.sources.tools.tool import STDIN, ToolSource, instant_of, text_at
from day1.errors import InvalidRequest, Json, NotFound
from day1.foreign_files import LeaveOut, broken, files_below, lines_in, open_file, shown, why_not
from day1.model.values.space import space_name
from day1.ports.source import FactDraft, Machine

_DATABASE: Final = "engram.db"
_FOLDER: Final = ".engram"
_MANIFEST: Final = "manifest.json"
_CHUNK: Final = ".jsonl.gz"
_LINE: Final = 32 << 20
"""Largest size in bytes of one line of a chunk after unpacking."""
_UNPACKED: Final = 512 << 20
"""Maximum number of bytes of all lines of a chunk."""
_NEEDED: Final = ("session_id", "title", "content", "created_at")
_TIMES: Final = ("created_at", "updated_at", "deleted_at")
_WANTED: Final = ("type", "project", "scope", "topic_key", *_TIMES[1:])
_EVERYWHERE: Final = "personal"
"""The scope of observations about their writer, which belong to no project."""

Row = Mapping[str, Json]


class Engram(ToolSource):
    """`ToolSource` over databases, folders with chunks, and exports."""

    name = "engram"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        database = machine.place("ENGRAM_DATA_DIR", _FOLDER) / _DATABASE
        shared_folders = [
            project_folder / _FOLDER
            for project_folder in machine.projects
            # A project may be a stranger's: a link in it leads to no folder elsewhere.
            if not why_not(project_folder.resolve(), project_folder / _FOLDER / _MANIFEST)
        ]
        return [*([database] if database.is_file() else []), *shared_folders]

    @override
    def read(self, path: Path) -> Iterator[Sequence[FactDraft]]:
        return self.every([path])

    @override
    def every(self, paths: Sequence[Path]) -> Iterator[Sequence[FactDraft]]:
        newest_by_key: dict[tuple[str, int], tuple[int, Row, FactDraft, Path]] = {}
        for file in chain.from_iterable(_files(path, self.leave_out) for path in paths):
            # A file has an observation once: two of one key in it are two observations.
            count_by_id: Counter[str] = Counter()
            for row in self._rows(file):
                draft, changed_at = (
                    self._draft(row),
                    max(_instant(row, column) or 0 for column in _TIMES),
                )
                newest_key = draft.id, 0 if text_at(row, "topic_key") else count_by_id[draft.id]
                count_by_id[draft.id] += 1
                earlier_version = newest_by_key.get(newest_key)
                is_newer = earlier_version is None or earlier_version[0] <= changed_at
                if earlier_version is not None and earlier_version[2] != draft:
                    _, older_row, _, older_file = (
                        earlier_version if is_newer else (changed_at, row, draft, file)
                    )
                    created_at = text_at(older_row, "created_at") or draft.id
                    self.leave_out(
                        "older versions of an observation", f"{shown(older_file)}: {created_at}"
                    )
                if is_newer:
                    newest_by_key[newest_key] = (changed_at, row, draft, file)
        for _, row, draft, _ in newest_by_key.values():
            if self._is_wanted(row, draft):
                yield [draft]

    def _rows(self, file: Path) -> Iterator[Row]:
        if file.suffix == ".gz":
            yield from self._chunk(file)
        elif file == STDIN or file.suffix == ".json":
            yield from self._observations(json_of(self.text(file), file), file, 1)
        else:
            with opened(file) as database:
                rows = database.rows("observations", _NEEDED, _WANTED)
                yield from self.readable(rows, "created_at")

    def _chunk(self, chunk: Path) -> Iterator[Row]:
        line_number, unpacked_bytes = 0, 0
        try:
            with open_file(chunk) as packed_file, gzip.open(packed_file, "rb") as unpacked_file:
                for line_number, line in enumerate(lines_in(unpacked_file, chunk, _LINE), start=1):
                    unpacked_bytes += len(line)
                    if unpacked_bytes > _UNPACKED:
                        raise broken(chunk, line_number, f"it unpacks to over {_UNPACKED >> 20} MB")
                    if line.strip():
                        value = json_of(decoded(line, chunk), chunk, line_number)
                        yield from self._observations(value, chunk, line_number)
        except (OSError, EOFError, zlib.error) as exc:
            raise broken(
                chunk, line_number + 1, "it is cut off, or is not a chunk of engram"
            ) from exc

    def _observations(self, value: Json, file: Path, number: int) -> Iterator[Row]:
        """Yield the observations of a value: itself, or those of its list."""
        if not isinstance(value, dict):
            raise broken(file, number, "it is not a JSON object")
        place = f"{shown(file)}, line {number}"
        is_observation = {"content", "title"} & value.keys()
        observations = value.get("observations", [value] if is_observation else [])
        if not isinstance(observations, list):
            raise broken(file, number, "its observations are not a list")
        for item in observations:
            if not isinstance(item, dict):
                raise broken(file, number, "an observation in it is not an object")
            yield item
        if value.get("prompts"):
            self.leave_out("prompts of people", place)
        if value.get("sessions"):
            self.leave_out("summaries of sessions", place)
        if not is_observation and not {"observations", "prompts", "sessions"} & value.keys():
            self.leave_out("lines that are no observation", place)

    def _draft(self, row: Row) -> FactDraft:
        title, content, topic = (
            text_at(row, column) for column in ("title", "content", "topic_key")
        )
        project = text_at(row, "project")
        # A topic is one observation that is written anew; without one each is its own.
        key_texts = (
            [topic]
            if topic
            else [text_at(row, key_column) for key_column in ("session_id", "created_at", "title")]
        )
        key = (project, text_at(row, "scope"), *key_texts)
        text = ": ".join(filter(None, (topic, title, content)))
        draft = self.fact(key, text, text_at(row, "type") or None, _instant(row, "created_at"))
        return replace(draft, space=_space(project))

    def _is_wanted(self, row: Row, draft: FactDraft) -> bool:
        row_name = text_at(row, "created_at") or draft.id
        project_name = text_at(row, "project").casefold()
        project_names = {folder.name.casefold() for folder in self._machine.projects}
        if row.get("deleted_at"):
            self.leave_out("deleted observations", row_name)
        elif not (text_at(row, "title") or text_at(row, "content")):
            self.leave_out("empty observations", row_name)
        elif (
            project_names
            and project_name
            and project_name not in project_names
            and row.get("scope") != _EVERYWHERE
        ):
            self.leave_out("observations of other projects", row_name)
        else:
            return True
        return False


def _files(path: Path, leave_out: LeaveOut) -> list[Path]:
    """List the files at a path: a database, and chunks beside a manifest.

    What a folder names and is no file in it is left out.

    Raises:
        NotFound: there is none.
    """
    if not path.is_dir():
        return [path]
    top_path = path.resolve()
    folders = (path, path / _FOLDER)
    candidates = [folder / file_name for folder in folders for file_name in (_DATABASE, _MANIFEST)]
    candidates = [file for file in candidates if os.path.lexists(file)]
    if not candidates:
        raise NotFound(
            f"{shown(path)} holds neither {_DATABASE} nor {_MANIFEST}: name Engram's folder.",
            path=shown(path),
        )
    accepted_files = []
    for file in candidates:
        if reason := why_not(top_path, file):
            leave_out(reason, shown(file))
        else:
            accepted_files.append(file)
    files = [file for file in accepted_files if file.name == _DATABASE]
    for file in accepted_files:
        if file.name == _MANIFEST:
            files += _chunks(top_path, file.parent / "chunks", leave_out)
    return files


def _chunks(top: Path, folder: Path, leave_out: LeaveOut) -> list[Path]:
    if not folder.resolve().is_relative_to(top):
        leave_out("links that lead out of the folder", shown(folder))
        return []
    return list(files_below(folder, lambda file: file.name.endswith(_CHUNK), leave_out))


def _instant(row: Row, name: str) -> int | None:
    return instant_of(text_at(row, name))


def _space(project: str) -> str | None:
    """Return the space of a project; None if its name cannot be that of a space."""
    try:
        return space_name(f"project:{project}") if project else None
    except InvalidRequest:
        return None
