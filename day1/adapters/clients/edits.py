"""What is day1's in a file of a client: an entry among its servers, or a section of instructions.

Hooks are a third kind of edit, in `hook_edits.py`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

from day1.adapters.clients import jsonc, section, toml
from day1.adapters.clients.documents import Document, NotUnderstood, at
from day1.adapters.clients.table import SERVER, Client, Notes
from day1.hooks.events import agent_of

FORMATS: Final = MappingProxyType({"json": cast("Document", jsonc), "toml": cast("Document", toml)})
_NAMES_DAY1: Final = re.compile(r"day1([\[=@].*)?")


class Edit(Protocol):
    """One thing of day1's in one file."""

    @property
    def client(self) -> str:
        """The client that it is for."""
        ...

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def what(self) -> str:
        """What of the file is meant."""
        ...

    @property
    def blank(self) -> bytes:
        """The file when there is nothing of anybody in it."""
        ...

    def present(self, data: bytes) -> Any:
        """What of day1's is in the text; None if there is nothing.

        Raises:
            NotUnderstood: the text is not sound, or something of somebody else is in the place.
        """
        ...

    def put(self, data: bytes) -> bytes:
        """The text with what should be there."""
        ...

    def put_again(self, data: bytes, present: Any) -> bytes:
        """The text with what `present` found in another."""
        ...

    def take_out(self, data: bytes) -> bytes:
        """The text without it."""
        ...

    def shown(self) -> str:
        """What a person would add."""
        ...


@dataclass(frozen=True, slots=True)
class ServerEdit:
    """The entry of the server day1."""

    client: str
    path: Path
    about: Client
    program: str
    tools: str | None
    """What the person says of `--tools`."""

    @property
    def keys(self) -> tuple[str, str]:
        """Where the entry is."""
        return self.about.key, SERVER

    @property
    def what(self) -> str:
        """The entry's place in the file."""
        return ".".join(self.keys)

    @property
    def blank(self) -> bytes:
        """A document without anything."""
        return self._document.BLANK

    @property
    def _document(self) -> Document:
        return FORMATS[self.about.format]

    def present(self, data: bytes) -> Any:
        """The entry, if it starts day1."""
        entry = at(self._document.value_of(data), self.keys) if data.strip() else None
        if entry is not None and not starts_day1(entry):
            raise NotUnderstood(f"{self.what} is there already and does not start day1")
        return entry

    def put(self, data: bytes) -> bytes:
        """The text with the entry; of one that is there, only what is missing or wrong changes."""
        there, wanted = self.present(data), self._entry()
        if there is None:
            return self._document.put(data, self.keys, wanted)
        for keys, value in self._missing(there, wanted):
            data = self._document.put(data, (*self.keys, *keys), value)
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """The text with an entry as it is."""
        return self._document.put(data, self.keys, present)

    def take_out(self, data: bytes) -> bytes:
        """The text without the entry."""
        return self._document.take_out(data, self.keys)

    def shown(self) -> str:
        """A file with the entry alone."""
        return self._document.shown(self.keys, self._entry())

    def _entry(self) -> dict[str, Any]:
        tools = self.tools or self.about.tools
        command = [self.program, "mcp", *(("--tools", tools) if tools else ())]
        return self.about.entry(command, agent_of(self.client))

    def _missing(
        self, there: dict[str, Any], wanted: dict[str, Any]
    ) -> list[tuple[tuple[str, ...], Any]]:
        """What an entry of day1's lacks; what a person added or chose stays."""
        command = _words(there)
        program = command[0] if shutil.which(command[0]) else self.program
        arguments = _words(wanted)[1:] if self.tools else command[1:]
        if isinstance(wanted["command"], list):
            right = {**wanted, "command": [program, *arguments]}
        else:
            right = {**wanted, "command": program, "args": arguments}
        found: list[tuple[tuple[str, ...], Any]] = []
        for key, value in right.items():
            if isinstance(value, dict) and isinstance(there.get(key), dict):
                found += [((key, k), v) for k, v in value.items() if k not in there[key]]
            elif key not in there or (key in {"command", "args"} and there[key] != value):
                found.append(((key,), value))
        return found


@dataclass(frozen=True, slots=True)
class NotesEdit:
    """The section of a file of instructions."""

    client: str
    path: Path
    about: Notes
    text: str
    """What the section says."""

    @property
    def what(self) -> str:
        """The section."""
        return "section day1"

    @property
    def blank(self) -> bytes:
        """What the file begins with."""
        return self.about.head.encode()

    def present(self, data: bytes) -> Any:
        """The section, with its marks."""
        return section.found(data)

    def put(self, data: bytes) -> bytes:
        """The text with the section."""
        return self._headed(data, section.put(data, self.text))

    def put_again(self, data: bytes, present: Any) -> bytes:
        """The text with a section as it is."""
        text = self._headed(data, section.put(data, self.text))
        now = section.found(text)
        return text.replace(now, present) if now else text

    def _headed(self, data: bytes, text: bytes) -> bytes:
        """A head ends with its own empty line; `put` would add one more."""
        if not data or data != self.blank:
            return text
        return data + text.removeprefix(data).lstrip(b"\n")

    def take_out(self, data: bytes) -> bytes:
        """The text without the section."""
        return section.take_out(data)

    def shown(self) -> str:
        """A file with the section alone."""
        return self.put(self.blank).decode()


def starts_day1(entry: Any) -> bool:
    """Whether an entry starts `day1 mcp`, by whatever launcher."""
    if not isinstance(entry, dict):
        return False
    words = _words(entry)
    return "mcp" in words and any(map(names_day1, words))


def names_day1(word: str) -> bool:
    """Whether a word of a command is the program day1, or its package."""
    return _NAMES_DAY1.fullmatch(PurePath(word).stem) is not None


def _words(entry: dict[str, Any]) -> list[str]:
    """The command of an entry with its arguments."""
    command, arguments = entry.get("command"), entry.get("args", [])
    words: Sequence[Any] = command if isinstance(command, list) else [command]
    rest = arguments if isinstance(arguments, list) else []
    return [word for word in (*words, *rest) if isinstance(word, str)]
