"""The files of engram, a program in Go that keeps what agents saw: its database and its chunks.

`~/.engram/engram.db` is a SQLite database with a table `observations`. A folder `.engram` has
`manifest.json` and `chunks/ID.jsonl.gz`, whose lines are JSON: an observation, or an object with a
list of them. Each observation becomes a fact in the space of its project; deleted ones are left
out. Nothing is written to either.
"""

import gzip
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from typing_extensions import override

from day1.errors import ImportBroken, InvalidRequest, NotFound
from day1.model.values.ids import derived_id
from day1.model.values.instant import parse
from day1.model.values.space import space_name
from day1.ports.source import Draft, FactDraft, Source

_DATABASE: Final = "engram.db"
_FOLDER: Final = ".engram"
_LINE: Final = 32 * 1024 * 1024
"""Bytes of one line of a chunk: what unpacks to more is no chunk."""
_READ: Final = (
    *("session_id", "type", "title", "content", "project", "scope", "topic_key"),
    *("created_at", "deleted_at"),
)


class EngramSource(Source):
    """`ports.source.Source` over a database or a folder with chunks."""

    name = "engram"

    def __init__(self, path: Path) -> None:
        """Find the database, or the chunks.

        Raises:
            NotFound: there is neither.
        """
        places = (path / _DATABASE, path, path / _FOLDER, path / _FOLDER / _DATABASE)
        database = next((p for p in places if p.is_file()), None)
        folder = next((p for p in places if (p / "manifest.json").is_file()), None)
        if database is None and folder is None:
            raise NotFound(
                f"There is no {_DATABASE} and no folder with manifest.json and chunks at {path}.",
                path=str(path),
            )
        self._database, self._folder = database, folder

    @override
    def total(self) -> None:
        return None

    @override
    def items(self) -> Iterator[Sequence[Draft]]:
        if self._database is not None:
            for row in self._rows(self._database):
                yield self._drafts(row)
        elif self._folder is not None:
            for row in self._lines(self._folder):
                yield self._drafts(row)

    def _rows(self, path: Path) -> Iterator[Mapping[str, Any]]:
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as database:
                found = database.execute("PRAGMA table_info(observations)").fetchall()
                columns = [column[1] for column in found if column[1] in _READ]
                if "content" not in columns:
                    raise InvalidRequest(
                        f"{path.name} has no table of observations: it is not engram's.",
                        path=str(path),
                    )
                rows = database.execute(
                    f"SELECT {', '.join(columns)} FROM observations ORDER BY rowid"  # noqa: S608 - names of our own list
                )
                for row in rows:
                    yield dict(zip(columns, row, strict=True))
        except sqlite3.Error as exc:
            raise InvalidRequest(
                f"{path.name} cannot be read as a SQLite database.", path=str(path)
            ) from exc

    def _lines(self, folder: Path) -> Iterator[Mapping[str, Any]]:
        number = 0
        for chunk in sorted((folder / "chunks").glob("*.jsonl.gz")):
            try:
                with gzip.open(chunk, "rb") as lines:
                    while line := lines.readline(_LINE):
                        number += 1
                        if line.strip():
                            yield from _observations(json.loads(line))
            except (ValueError, TypeError, OSError, EOFError, RecursionError) as exc:
                raise ImportBroken(
                    f"{chunk.name} is cut off or is no chunk of engram. What came before it is "
                    "stored: mend it and import the folder again.",
                    line=number,
                ) from exc

    def _drafts(self, row: Mapping[str, Any]) -> list[Draft]:
        title, content, topic = (_text(row, name) for name in ("title", "content", "topic_key"))
        if row.get("deleted_at") or not (title or content):
            return []
        project = _text(row, "project")
        # A topic is one observation that is written anew; without one each is its own.
        key = [topic] if topic else [_text(row, n) for n in ("session_id", "created_at", "title")]
        fact_id = derived_id("fact", None, self.name, project, _text(row, "scope"), *key)
        text = ": ".join(filter(None, (topic, title, content)))
        at = _instant(_text(row, "created_at"))
        kind = _text(row, "type") or None
        return [FactDraft(fact_id, text, kind, at, space=_space(project))]


def _observations(line: object) -> Iterator[Mapping[str, Any]]:
    """The observations of a line: itself, or those of its list."""
    if not isinstance(line, dict):
        raise TypeError
    several = line.get("observations", [line] if "content" in line else [])
    for one in several or []:
        if not isinstance(one, dict):
            raise TypeError
        json.dumps(one, ensure_ascii=False).encode()  # escaped lone surrogates are no text
        yield one


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def _instant(text: str) -> int | None:
    try:
        return parse(text)
    except InvalidRequest:
        return None


def _space(project: str) -> str | None:
    """The space of a project; none where the name cannot be one."""
    try:
        return space_name(f"project:{project}") if project else None
    except InvalidRequest:
        return None
