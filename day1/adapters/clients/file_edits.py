"""Edits of a file as a whole: a plugin that is day1's, and several things of day1's in one file."""

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

    @property
    def separators(self) -> bytes:
        """None: the whole file is day1's."""
        return b""

    def by_hand(self, _data: bytes) -> Sequence[str]:
        """Nothing: the whole file is day1's."""
        return []

    def own(self, data: bytes) -> Ranges:
        """The whole file."""
        return [(0, len(data))] if self.present(data) else []

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
        """All of them."""
        return " and ".join(part.what for part in self.parts)

    @property
    def blank(self) -> bytes:
        """The file when there is nothing of anybody in it."""
        return self.parts[0].blank

    @property
    def separators(self) -> bytes:
        """Those of the parts."""
        return self.parts[0].separators

    def by_hand(self, data: bytes) -> Sequence[str]:
        """The places of entries that a person wrote, in any of the files."""
        return [place for part in self.parts for place in part.by_hand(data)]

    def own(self, data: bytes) -> Ranges:
        """The bytes of all of them."""
        return jsonc.own(data, [keys for part in self.parts for keys in part.own_keys(data)])

    def present(self, data: bytes) -> Any:
        """What of each part is there; None if there is nothing of any."""
        parts = [part.present(data) for part in self.parts]
        return None if all(each is None for each in parts) else parts

    def put(self, data: bytes) -> bytes:
        """The text with all of them."""
        for part in self.parts:
            data = part.put(data)
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """The text with those that are in another."""
        for part, part_present in zip(self.parts, present, strict=True):
            data = data if part_present is None else part.put_again(data, part_present)
        return data

    def take_out(self, data: bytes) -> bytes:
        """The text without any of them."""
        for part in self.parts:
            data = data if part.present(data) is None else part.take_out(data)
        return data

    def shown(self) -> str:
        """The text that a person would add by hand."""
        return self.put(self.blank).decode()
