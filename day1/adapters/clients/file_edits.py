"""Edits of whole files: the plugin that day1 writes, and several of day1's parts in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from day1.adapters.clients import jsonc
from day1.adapters.clients.documents import NotUnderstood, Ranges
from day1.adapters.clients.edits import ServerEdit
from day1.adapters.clients.hook_edits import HooksEdit

_MARK: Final = b"// day1 (written by `day1 setup`; changes in here are lost)"
_OPENCODE: Final = Path(__file__).with_name("opencode_plugin.ts").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class PluginEdit:
    """The plugin that day1 writes for opencode, which has plugins instead of hooks."""

    client: str
    path: Path
    program: str

    @property
    def what(self) -> str:
        """What day1 adds to the client, as messages name it."""
        return "plugin day1"

    @property
    def blank(self) -> bytes:
        """The content of a missing file: nothing."""
        return b""

    @property
    def separators(self) -> bytes:
        """No bytes: the whole file is day1's."""
        return b""

    def by_hand(self, _data: bytes) -> Sequence[str]:
        """Return nothing: the whole file is day1's."""
        return []

    def own(self, data: bytes) -> Ranges:
        """Return the byte range of the whole file; empty if there is no file."""
        return [(0, len(data))] if self.present(data) else []

    def present(self, data: bytes) -> Any:
        """Return the whole file if day1 wrote it; None if it is empty or missing."""
        if not data:
            return None
        if not data.startswith(_MARK):
            raise NotUnderstood("the file exists already, and day1 did not write it")
        return data

    def put(self, data: bytes) -> bytes:
        """Return the plugin's present text; raise NotUnderstood if the file is another's."""
        self.present(data)
        return self.shown().encode()

    def put_again(self, _data: bytes, present: Any) -> bytes:
        """Return the content that `present` found in another version of the file."""
        return bytes(present)

    def take_out(self, _data: bytes) -> bytes:
        """Return the content of a missing file: the plugin's file is removed."""
        return self.blank

    def shown(self) -> str:
        """Return the text of the plugin."""
        return f"{_MARK.decode()}\n{_OPENCODE.replace('{program}', self.program)}"


@dataclass(frozen=True, slots=True)
class JointEdit:
    """Several edits of one file, which are made and undone together."""

    parts: Sequence[ServerEdit | HooksEdit]

    @property
    def client(self) -> str:
        """The client whose files are edited."""
        return self.parts[0].client

    @property
    def path(self) -> Path:
        """The file."""
        return self.parts[0].path

    @property
    def what(self) -> str:
        """What day1 adds to the file, as messages name it: the parts, joined by `and`."""
        return " and ".join(part.what for part in self.parts)

    @property
    def blank(self) -> bytes:
        """The content of the file when it holds nothing of day1 or of anybody else."""
        return self.parts[0].blank

    @property
    def separators(self) -> bytes:
        """The bytes that may separate day1's parts from the rest of the file."""
        return self.parts[0].separators

    def by_hand(self, data: bytes) -> Sequence[str]:
        """Return the places of entries by which a person starts day1, of all parts."""
        return [entry_place for part in self.parts for entry_place in part.by_hand(data)]

    def own(self, data: bytes) -> Ranges:
        """Return the byte ranges of all of day1's parts in the file."""
        return jsonc.own(data, [keys for part in self.parts for keys in part.own_keys(data)])

    def present(self, data: bytes) -> Any:
        """Return what `day1 setup` wrote, for each part or None; None if it wrote no part."""
        present_parts = [part.present(data) for part in self.parts]
        return None if all(present is None for present in present_parts) else present_parts

    def put(self, data: bytes) -> bytes:
        """Return the file with each part added or corrected."""
        for part in self.parts:
            data = part.put(data)
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """Return the file with each part set to the value that `present` found in another version.

        A part whose value is None stays as it is.
        """
        for part, present_part in zip(self.parts, present, strict=True):
            data = data if present_part is None else part.put_again(data, present_part)
        return data

    def take_out(self, data: bytes) -> bytes:
        """Return the file without any of the parts."""
        for part in self.parts:
            data = data if part.present(data) is None else part.take_out(data)
        return data

    def shown(self) -> str:
        """Return the text that a person would add to the file by hand."""
        return self.put(self.blank).decode()
