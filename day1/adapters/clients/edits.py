"""The parts of a client's file that day1 writes: a server entry, or a section of instructions.

Hooks are a third kind of edit, in `hook_edits.py`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

from day1.adapters.clients import jsonc, section, toml
from day1.adapters.clients.documents import (
    SPACE,
    Document,
    Keys,
    NotUnderstood,
    Ranges,
    at,
    holds,
    is_blank,
)
from day1.adapters.clients.table import SERVER, Client, Notes
from day1.formats.events import agent_of

FORMATS: Final = MappingProxyType({"json": cast("Document", jsonc), "toml": cast("Document", toml)})
SEPARATORS: Final = SPACE + b","
_NAMES_DAY1: Final = re.compile(r"day1([\[=@].*)?")


class Edit(Protocol):
    """One part that day1 writes in one file."""

    @property
    def client(self) -> str:
        """The client whose file is edited."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def what(self) -> str:
        """The name of day1's part, for messages, such as `mcpServers.day1`."""

    @property
    def blank(self) -> bytes:
        """The content of a new file before day1 adds its part, such as `{}`."""

    @property
    def separators(self) -> bytes:
        """The bytes that may separate day1's part from the rest of the file."""

    def present(self, data: bytes) -> Any:
        """Return what `day1 setup` wrote into the file; None if it wrote nothing.

        Raises:
            NotUnderstood: the text is not sound, or something of somebody else is in the place.
        """

    def by_hand(self, data: bytes) -> Sequence[str]:
        """Return the places of entries by which a person starts day1; day1 leaves them alone."""

    def own(self, data: bytes) -> Ranges:
        """Return the byte ranges of day1's part of the file; empty if it has none."""

    def put(self, data: bytes) -> bytes:
        """Return the file with day1's part added or corrected."""

    def put_again(self, data: bytes, present: Any) -> bytes:
        """Return the file with the part that `present` found in another version of the file."""

    def take_out(self, data: bytes) -> bytes:
        """Return the file without day1's part."""

    def shown(self) -> str:
        """Return the text that a person would add to the file by hand."""


@dataclass(frozen=True, slots=True)
class ServerEdit:
    """The entry of the server day1."""

    client: str
    path: Path
    about: Client
    program: str
    tools: str | None
    """The value that the person gives for `--tools`."""
    shared: bool = False
    """Whether the file is of a project: other machines may read it too."""

    @property
    def keys(self) -> tuple[str, str]:
        """The path of keys at which the entry stands."""
        return self.about.key, SERVER

    @property
    def what(self) -> str:
        """The path of the entry, with dots, as messages name it."""
        return ".".join(self.keys)

    @property
    def blank(self) -> bytes:
        """A document without any entry."""
        return self._document.BLANK

    @property
    def _document(self) -> Document:
        return FORMATS[self.about.format]

    @property
    def separators(self) -> bytes:
        """Space, and commas between members."""
        return SEPARATORS

    def present(self, data: bytes) -> Any:
        """Return the entry if `day1 setup` wrote it, else None."""
        entry = self._entry_in(data)
        return entry if entry is not None and self._is_own(entry) else None

    def by_hand(self, data: bytes) -> Sequence[str]:
        """Return the entry's place if its form is not that of `day1 setup`, else nothing."""
        entry = self._entry_in(data)
        return [] if entry is None or self._is_own(entry) else [self.what]

    def own(self, data: bytes) -> Ranges:
        """Return the byte ranges of day1's entry in the file; none if a person wrote the entry."""
        return self._document.own(data, self.own_keys(data))

    def own_keys(self, data: bytes) -> Sequence[Keys]:
        """Return the path of keys of day1's entry, present or not; empty for a person's entry."""
        return [] if self.by_hand(data) else [self.keys]

    def put(self, data: bytes) -> bytes:
        """Return the file with the entry; in day1's own entry only missing or wrong keys change."""
        present_entry, new_entry = self._entry_in(data), self._entry()
        if present_entry is None:
            return self._document.put(data, self.keys, new_entry)
        if self._is_own(present_entry):
            for keys_in_entry, expected_value in self._missing(present_entry, new_entry):
                data = self._document.put(data, (*self.keys, *keys_in_entry), expected_value)
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """Return the file with its entry set to `present`."""
        return self._document.put(data, self.keys, present)

    def take_out(self, data: bytes) -> bytes:
        """Return the file without the entry."""
        return self._document.take_out(data, self.keys)

    def shown(self) -> str:
        """Return a file that holds the entry alone."""
        return self._document.shown(self.keys, self._entry())

    def _entry_in(self, data: bytes) -> Any:
        """Return the entry that starts day1; None if the file has no entry at its place.

        Raises:
            NotUnderstood: what is in the place does not start day1.
        """
        document = self._document.value_of(data) if not is_blank(data) else {}
        if not holds(document, self.keys):
            return None
        entry = at(document, self.keys)
        if not starts_day1(entry):
            raise NotUnderstood(f"{self.what} exists already and does not start day1")
        return entry

    def _is_own(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry has the form that `day1 setup` writes, and names its agent."""
        command_words = _words(entry)
        expected_entry = self.about.entry(command_words, agent_of(self.client))
        environment_key = next(
            key for key, value in expected_entry.items() if isinstance(value, dict)
        )
        return (
            command_words[1:2] == ["mcp"]
            and is_own_program(command_words[0], shared=self.shared)
            and all(
                entry.get(key) == expected_entry[key]
                for key in {"command", "args"} & expected_entry.keys()
            )
            and isinstance(entry.get(environment_key), dict)
            and expected_entry[environment_key].keys() <= entry[environment_key].keys()
        )

    def _entry(self) -> dict[str, Any]:
        tools = self.tools or self.about.tools
        command = [self.program, "mcp", *(("--tools", tools) if tools else ())]
        return self.about.entry(command, agent_of(self.client))

    def _missing(
        self, entry: dict[str, Any], new_entry: dict[str, Any]
    ) -> list[tuple[tuple[str, ...], Any]]:
        """List the keys and values to set in day1's entry; keys that a person added stay."""
        present_command = _words(entry)
        program = self.program if is_gone(present_command[0]) else present_command[0]
        arguments = _words(new_entry)[1:] if self.tools else present_command[1:]
        if isinstance(new_entry["command"], list):
            expected_entry = {**new_entry, "command": [program, *arguments]}
        else:
            expected_entry = {**new_entry, "command": program, "args": arguments}
        return [
            ((key,), value)
            for key, value in expected_entry.items()
            if key not in entry or (key in {"command", "args"} and entry[key] != value)
        ]


@dataclass(frozen=True, slots=True)
class NotesEdit:
    """The section of a file of instructions."""

    client: str
    path: Path
    about: Notes
    text: str
    """The text of the section."""

    @property
    def what(self) -> str:
        """What day1 adds to the file, as messages name it."""
        return "section day1"

    @property
    def blank(self) -> bytes:
        """The head with which a new file begins."""
        return self.about.head.encode()

    @property
    def separators(self) -> bytes:
        """The whitespace that may separate day1's section from the rest of the file."""
        return SPACE

    def present(self, data: bytes) -> Any:
        """Return the section with its marks; None if the file has none."""
        return section.found(data)

    def by_hand(self, _data: bytes) -> Sequence[str]:
        """Return nothing: all between the marks is day1's."""
        return []

    def own(self, data: bytes) -> Ranges:
        """Return the section's byte range; empty if the file has no section."""
        present_section = section.found(data)
        section_start = -1 if present_section is None else data.find(present_section)
        return (
            []
            if present_section is None
            else [(section_start, section_start + len(present_section))]
        )

    def put(self, data: bytes) -> bytes:
        """Return the file with the section."""
        return self._headed(data, section.put(data, self.text))

    def put_again(self, data: bytes, present: Any) -> bytes:
        """Return the file with its section set to `present`."""
        new_data = self._headed(data, section.put(data, self.text))
        new_section = section.found(new_data)
        return new_data.replace(new_section, present) if new_section else new_data

    def _headed(self, data: bytes, text: bytes) -> bytes:
        """Return `text` with no second empty line after the head: the head ends with its own."""
        if not data or data != self.blank:
            return text
        return data + text.removeprefix(data).lstrip(b"\n")

    def take_out(self, data: bytes) -> bytes:
        """Return the file without the section."""
        return section.take_out(data)

    def shown(self) -> str:
        """Return a file that holds the section alone."""
        return self.put(self.blank).decode()


def starts_day1(entry: Any) -> bool:
    """Whether an entry starts `day1 mcp`, by whatever launcher."""
    if not isinstance(entry, dict):
        return False
    command_words = _words(entry)
    return "mcp" in command_words and any(map(names_day1, command_words))


def is_own_program(word: str, *, shared: bool) -> bool:
    """Whether `day1 setup` writes a program this way: by name, in a user's file also by path."""
    return word == "day1" or (not shared and names_day1(word) and PurePath(word).is_absolute())


def is_gone(program: str) -> bool:
    """Whether a program's absolute path leads to no file.

    A shorter name is the client's to find: its PATH and its folder need not be those of this shell.
    """
    return PurePath(program).is_absolute() and shutil.which(program) is None


def names_day1(word: str) -> bool:
    """Whether a word of a command is the program day1, or its package."""
    return _NAMES_DAY1.fullmatch(PureWindowsPath(word).stem) is not None


def _words(entry: Mapping[str, Any]) -> list[str]:
    """Return the words of an entry's command, then of its arguments."""
    command, arguments = entry.get("command"), entry.get("args", [])
    command_words: Sequence[Any] = command if isinstance(command, list) else [command]
    argument_list = arguments if isinstance(arguments, list) else []
    return [word for word in (*command_words, *argument_list) if isinstance(word, str)]
