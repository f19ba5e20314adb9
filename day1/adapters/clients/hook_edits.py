"""What of a client's hooks is day1's: the entries that run `day1 hook`, or a plugin's file."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from day1.adapters.clients import jsonc
from day1.adapters.clients.documents import Keys, NotUnderstood, at
from day1.adapters.clients.edits import Edit, names_day1
from day1.adapters.clients.hook_table import HINT, Hooks, command_of

_KEY: Final = "hooks"
_MARK: Final = b"// day1 (written by `day1 setup`; changes in here are lost)"
_OPENCODE: Final = Path(__file__).with_name("opencode_plugin.ts").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class HooksEdit:
    """The entries of a client's events that run `day1 hook`."""

    client: str
    path: Path
    about: Hooks
    program: str

    @property
    def what(self) -> str:
        """The place in the file."""
        return _KEY

    @property
    def blank(self) -> bytes:
        """A document without anything."""
        return jsonc.BLANK

    def present(self, data: bytes) -> Any:
        """Every event with an entry of day1's, and that entry."""
        found: dict[str, Any] = {}
        for event, _, entry in self._own(data):
            found.setdefault(event, entry)
        return found or None

    def put(self, data: bytes) -> bytes:
        """The text with an entry for each event; what a person chose in one that is there stays."""
        for event in list(self.present(data) or {}):
            if event not in self.about.events:  # an earlier day1 listened to it
                data = self._without(data, event)
        for event in self.about.events:
            data = self._with(data, event, self._entry(event))
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """The text with entries as they are."""
        for event, entry in present.items():
            data = self._with(data, event, entry)
        return data

    def take_out(self, data: bytes) -> bytes:
        """The text without them."""
        for event in self.present(data) or {}:
            data = self._without(data, event)
        return data

    def shown(self) -> str:
        """A file with them alone."""
        return self.put(self.blank).decode()

    def _entry(self, event: str) -> dict[str, Any]:
        told, about = self.about.events[event]
        command = command_of(shlex.quote(self.program), told, self.client)
        return self.about.shape(command, about)

    def _with(self, data: bytes, event: str, entry: dict[str, Any]) -> bytes:
        for key, value in self.about.head.items():
            if at(jsonc.value_of(data), [key]) is None:
                data = jsonc.put(data, [key], value)
        own = [(keys, there) for name, keys, there in self._own(data) if name == event]
        if not own:
            entries = at(jsonc.value_of(data), [_KEY, event]) or []
            return jsonc.put(data, [_KEY, event, len(entries)], entry)
        whole = [keys for keys, _ in own if keys[-2] != _KEY]
        # In a group of others: the first that runs a command, and the first that asks a tool.
        first = {there.get("type"): keys for keys, there in reversed(own)}
        kept = whole[:1] or list(first.values())
        for keys, there in reversed(own):
            if keys in kept:
                data = jsonc.put(data, keys, _right(there, entry, in_group=not whole))
            else:
                data = jsonc.take_out(data, keys)
        return data

    def _without(self, data: bytes, event: str) -> bytes:
        own = [keys for name, keys, _ in self._own(data) if name == event]
        for keys in reversed(own):
            data = jsonc.take_out(data, keys)
        if at(jsonc.value_of(data), [_KEY, event]) == []:
            data = jsonc.take_out(data, [_KEY, event])
        return data

    def _own(self, data: bytes) -> Iterator[tuple[str, Keys, dict[str, Any]]]:
        """Every entry of day1's: its event, where it is, and what it says.

        In a group with commands of others only the command is day1's.
        """
        hooks = at(jsonc.value_of(data), [_KEY]) if data.strip() else None
        if hooks is None:
            return
        if not isinstance(hooks, dict):
            raise NotUnderstood(f"{_KEY} is no object")
        for event, entries in hooks.items():
            if not isinstance(entries, list):
                if event in self.about.events:
                    raise NotUnderstood(f"{_KEY}.{event} is no list")
                continue
            for place, entry in enumerate(entries):
                yield from _of_day1(event, place, entry)


def _of_day1(
    event: str, place: int, entry: Any
) -> Iterator[tuple[str, Sequence[str | int], dict[str, Any]]]:
    inner = entry.get(_KEY) if isinstance(entry, dict) else None
    if not isinstance(inner, list):
        if _is_own(entry):
            yield event, [_KEY, event, place], entry
        return
    own = [number for number, each in enumerate(inner) if _is_own(each)]
    if own and len(own) == len(inner):
        yield event, [_KEY, event, place], entry
        return
    for number in own:
        yield event, [_KEY, event, place, _KEY, number], inner[number]


def _is_own(entry: Any) -> bool:
    words = _words(entry)
    hint = isinstance(entry, dict) and entry.get("tool") == HINT
    return hint or (len(words) > 1 and names_day1(words[0]) and words[1] == "hook")


def _words(entry: Any) -> list[str]:
    command = entry.get("command") if isinstance(entry, dict) else None
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def _right(there: dict[str, Any], wanted: dict[str, Any], *, in_group: bool) -> dict[str, Any]:
    """What an entry that is there has to say: its command and input are day1's to decide.

    So is that it is waited for: an earlier day1 wrote `async`, and hooks were killed at the end.
    """
    if in_group and _KEY in wanted:
        inner = wanted[_KEY]
        wanted = next((each for each in inner if each["type"] == there.get("type")), inner[0])
    if (_KEY in wanted) != (_KEY in there):
        return wanted  # the client has another form of entries, and would not read that one
    if _KEY in wanted:
        found = {each.get("type"): each for each in there[_KEY]}
        inner = [
            _right(found.get(each["type"], each), each, in_group=False) for each in wanted[_KEY]
        ]
        return {**wanted, **there, _KEY: inner}
    if "command" not in wanted:
        asked = {**there.get("input", {}), **wanted["input"]}
        return {**wanted, **there, "input": asked}
    there = {key: value for key, value in there.items() if key != "async"}
    before, after = _words(there), _words(wanted)
    if before and shutil.which(before[0]):
        after = [before[0], *after[1:]]
    command = there.get("command") if before == after else shlex.join(after)
    return {**wanted, **there, "command": command}


@dataclass(frozen=True, slots=True)
class PluginEdit:
    """A file that is day1's as a whole: the plugin that is opencode's way to have hooks."""

    client: str
    path: Path
    program: str

    @property
    def what(self) -> str:
        """The file."""
        return "plugin day1"

    @property
    def blank(self) -> bytes:
        """No file."""
        return b""

    def present(self, data: bytes) -> Any:
        """The file, if day1 wrote it."""
        if not data:
            return None
        if not data.startswith(_MARK):
            raise NotUnderstood("it is there already and is not day1's")
        return data

    def put(self, data: bytes) -> bytes:
        """The file as it has to be."""
        self.present(data)
        return self.shown().encode()

    def put_again(self, _data: bytes, present: Any) -> bytes:
        """The file as it is."""
        return bytes(present)

    def take_out(self, _data: bytes) -> bytes:
        """No file."""
        return self.blank

    def shown(self) -> str:
        """The file."""
        return f"{_MARK.decode()}\n{_OPENCODE.replace('{program}', self.program)}"


@dataclass(frozen=True, slots=True)
class JointEdit:
    """Several things of day1's in one file: they come and go together."""

    parts: Sequence[Edit]

    @property
    def client(self) -> str:
        """The client that they are for."""
        return self.parts[0].client

    @property
    def path(self) -> Path:
        """The file."""
        return self.parts[0].path

    @property
    def what(self) -> str:
        """All of them."""
        return " and ".join(part.what for part in self.parts)

    @property
    def blank(self) -> bytes:
        """The file when there is nothing of anybody in it."""
        return self.parts[0].blank

    def present(self, data: bytes) -> Any:
        """What of each part is there; None if there is nothing of any."""
        found = [part.present(data) for part in self.parts]
        return None if all(each is None for each in found) else found

    def put(self, data: bytes) -> bytes:
        """The text with all of them."""
        for part in self.parts:
            data = part.put(data)
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """The text with those that are in another."""
        for part, there in zip(self.parts, present, strict=True):
            data = data if there is None else part.put_again(data, there)
        return data

    def take_out(self, data: bytes) -> bytes:
        """The text without any of them."""
        for part in self.parts:
            data = data if part.present(data) is None else part.take_out(data)
        return data

    def shown(self) -> str:
        """What a person would add."""
        return self.put(self.blank).decode()
