"""The entries among a client's hooks that run `day1 hook`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from day1.adapters.clients import jsonc
from day1.adapters.clients.documents import (
    NO_PLACE,
    Keys,
    NotUnderstood,
    Ranges,
    at,
    holds,
    is_blank,
)
from day1.adapters.clients.edits import (
    SEPARATORS,
    is_gone,
    is_own_program,
    names_day1,
)
from day1.adapters.clients.hook_table import HINT, Hooks, command_of
from day1.adapters.clients.table import SERVER

_KEY: Final = "hooks"
_LENGTH: Final = 5
"""Number of words of day1's command line: PROGRAM hook EVENT --client NAME."""
_EVENT: Final = re.compile(r"[a-z-]+")
_SHELL: Final = re.compile(r"[\s;&|()<>`'\"]+")


@dataclass(frozen=True, slots=True)
class HooksEdit:
    """The entries of a client's events that run `day1 hook`."""

    client: str
    path: Path
    about: Hooks
    program: str
    shared: bool = False
    """Whether the file is of a project: other machines may read it too."""

    @property
    def what(self) -> str:
        """The key of the hooks in the file, as messages name it."""
        return _KEY

    @property
    def blank(self) -> bytes:
        """A document without anything."""
        return jsonc.BLANK

    @property
    def separators(self) -> bytes:
        """Space, and commas between members."""
        return SEPARATORS

    def present(self, data: bytes) -> Any:
        """Return the entries that `day1 setup` wrote, by event; None if it wrote none."""
        entry_by_event: dict[str, Any] = {}
        for hook in self._own_hooks(data):
            entry_by_event.setdefault(hook.event, hook.entry)
        return entry_by_event or None

    def by_hand(self, data: bytes) -> Sequence[str]:
        """Return the places of entries that run `day1 hook` and that a person wrote."""
        return [hook.place for hook in self._day1_hooks(data) if not hook.own]

    def own(self, data: bytes) -> Ranges:
        """Return the byte ranges of day1's entries, with containers that hold nothing else."""
        return jsonc.own(data, self.own_keys(data))

    def own_keys(self, data: bytes) -> Sequence[Keys]:
        """Return the paths of day1's entries, and of containers and heads it may have made."""
        if is_blank(data):
            return []
        document, own_hooks = jsonc.value_of(data), self._own_hooks(data)
        head_paths: list[Keys] = [
            [head_key]
            for head_key, head_value in self.about.head.items()
            if document.get(head_key) == head_value
        ]
        list_paths: list[Keys] = [[_KEY, event, NO_PLACE] for event in self.about.events]
        return [*(hook.keys for hook in own_hooks), *list_paths, [_KEY, NO_PLACE], *head_paths]

    def put(self, data: bytes) -> bytes:
        """Return the file with an entry for each event; what a person wrote or chose stays."""
        for event in list(self.present(data) or {}):
            if event not in self.about.events:  # an earlier day1 listened to it
                data = self._without(data, event)
        for event in self.about.events:
            hand_written_types = {
                "mcp_tool" if "tool" in hook.entry else "command"
                for hook in self._day1_hooks(data)
                if hook.event == event and not hook.own
            }
            entry = _without_by_hand(self._entry(event), hand_written_types)
            if entry is not None:
                data = self._with(data, event, entry)
        return data

    def put_again(self, data: bytes, present: Any) -> bytes:
        """Return the file with the entries of `present`, in the order in which `put` adds them."""
        for event in [*self.about.events, *(present.keys() - self.about.events.keys())]:
            if event in present:
                data = self._with(data, event, present[event])
        return data

    def take_out(self, data: bytes) -> bytes:
        """Return the file without day1's entries."""
        for event in self.present(data) or {}:
            data = self._without(data, event)
        return data

    def shown(self) -> str:
        """Return a file that holds day1's entries alone."""
        return self.put(self.blank).decode()

    def _entry(self, event: str) -> dict[str, Any]:
        day1_event, entry_values = self.about.events[event]
        command = command_of(shlex.quote(self.program), day1_event, self.client)
        return self.about.shape(command, entry_values)

    def _with(self, data: bytes, event: str, entry: dict[str, Any]) -> bytes:
        for key, value in self.about.head.items():
            if is_blank(data) or not holds(jsonc.value_of(data), [key]):
                data = jsonc.put(data, [key], value)
        own_keys_and_entries = [
            (hook.keys, hook.entry) for hook in self._own_hooks(data) if hook.event == event
        ]
        if not own_keys_and_entries:
            event_entries = at(jsonc.value_of(data), [_KEY, event]) or []
            return jsonc.put(data, [_KEY, event, len(event_entries)], entry)
        group_paths = [
            keys for keys, _ in own_keys_and_entries if len(keys) == len([_KEY, event, NO_PLACE])
        ]
        # In a group of others: the first that runs a command, and the first that asks a tool.
        first_keys_by_is_tool = {
            "tool" in old_entry: keys for keys, old_entry in reversed(own_keys_and_entries)
        }
        kept_paths = group_paths[:1] or list(first_keys_by_is_tool.values())
        for keys, old_entry in reversed(own_keys_and_entries):
            if keys in kept_paths:
                data = jsonc.put(data, keys, _corrected(old_entry, entry, in_group=not group_paths))
            else:
                data = jsonc.take_out(data, keys)
        return data

    def _without(self, data: bytes, event: str) -> bytes:
        own_paths = [hook.keys for hook in self._own_hooks(data) if hook.event == event]
        for keys in reversed(own_paths):
            data = jsonc.take_out(data, keys)
        if own_paths and jsonc.is_empty(data, [_KEY, event]):
            data = jsonc.take_out(data, [_KEY, event])
        return data

    def _own_hooks(self, data: bytes) -> list[_Hook]:
        """List the entries that `day1 setup` wrote, in the order of the file.

        In a group with commands of others only the command is day1's.
        """
        return [hook for hook in self._day1_hooks(data) if hook.own]

    def _day1_hooks(self, data: bytes) -> list[_Hook]:
        """List the entries that run day1, in the order of the file."""
        entries_by_event = None if is_blank(data) else at(jsonc.value_of(data), [_KEY])
        if entries_by_event is None:
            return []
        if not isinstance(entries_by_event, dict):
            raise NotUnderstood(f"{_KEY} is not an object")
        day1_hooks: list[_Hook] = []
        for event, entries in entries_by_event.items():
            if isinstance(entries, list):
                for index, entry in enumerate(entries):
                    day1_hooks += self._of_day1([_KEY, event, index], entry)
            elif event in self.about.events:
                raise NotUnderstood(f"{_KEY}.{event} is not a list")
        return day1_hooks

    def _of_day1(self, keys: Keys, entry: Any) -> Iterator[_Hook]:
        inner_hooks = entry.get(_KEY) if isinstance(entry, dict) else None
        if not isinstance(inner_hooks, list):
            if _runs_day1(entry):
                yield _Hook(keys, entry, self._is_own(entry))
            return
        own_flags = [self._is_own(hook) for hook in inner_hooks]
        if own_flags and all(own_flags):
            yield _Hook(keys, entry, own=True)
            return
        for index, hook in enumerate(inner_hooks):
            if _runs_day1(hook):
                yield _Hook([*keys, _KEY, index], hook, own_flags[index])

    def _is_own(self, entry: Any) -> bool:
        """Whether an entry has the form that `day1 setup` writes, with nothing more to run."""
        if not isinstance(entry, dict):
            return False
        if "tool" in entry:
            tool_identity = entry.get("type"), entry["tool"], entry.get("server")
            return tool_identity == ("mcp_tool", HINT, SERVER) and isinstance(
                entry.get("input", {}), dict
            )
        command_words = _words(entry)
        return (
            entry.get("type", "command") == "command"
            and len(command_words) == _LENGTH
            and is_own_program(command_words[0], shared=self.shared)
            and _EVENT.fullmatch(command_words[2]) is not None
            and entry["command"]
            == command_of(shlex.quote(command_words[0]), command_words[2], self.client)
        )


class _Hook(NamedTuple):
    """An entry that runs day1."""

    keys: Keys
    entry: dict[str, Any]
    own: bool
    """Whether `day1 setup` wrote it."""

    @property
    def event(self) -> str:
        """The client's event."""
        return str(self.keys[1])

    @property
    def place(self) -> str:
        """The place of the entry, as a person reads it."""
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.keys)[1:]


def _without_by_hand(entry: dict[str, Any], by_hand: Collection[str]) -> dict[str, Any] | None:
    """Return the part of an entry that no person wrote; None if there is no such part."""
    inner_hooks = entry.get(_KEY)
    if inner_hooks is None:
        return None if by_hand else entry
    hooks_to_write = [hook for hook in inner_hooks if hook["type"] not in by_hand]
    return {**entry, _KEY: hooks_to_write} if hooks_to_write else None


def _runs_day1(entry: Any) -> bool:
    """Whether an entry asks day1 for a hint, or somewhere in its command runs `day1 hook`."""
    if not isinstance(entry, dict):
        return False
    command = entry.get("command")
    command_words = _SHELL.split(command) if isinstance(command, str) else []
    runs_day1_hook = any(
        names_day1(word) and next_word == "hook" for word, next_word in pairwise(command_words)
    )
    return runs_day1_hook or entry.get("tool") == HINT


def _words(entry: dict[str, Any]) -> list[str]:
    command = entry.get("command")
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def _corrected(
    entry: dict[str, Any], new_entry: dict[str, Any], *, in_group: bool
) -> dict[str, Any]:
    """Return an entry with the command and input of day1's new entry; its other values stay.

    The client waits for the hook: an earlier day1 wrote `async`, and hooks were killed at the end.
    """
    if in_group and _KEY in new_entry:
        inner_hooks = new_entry[_KEY]
        new_entry = next(
            (hook for hook in inner_hooks if hook["type"] == entry.get("type")), inner_hooks[0]
        )
    if (_KEY in new_entry) != (_KEY in entry):
        return new_entry  # the client has another form of entries, and would not read that one
    if _KEY in new_entry:
        old_hook_by_type = {hook.get("type"): hook for hook in entry[_KEY]}
        inner_hooks = [
            _corrected(old_hook_by_type.get(hook["type"], hook), hook, in_group=False)
            for hook in new_entry[_KEY]
        ]
        return {**new_entry, **entry, _KEY: inner_hooks}
    if "command" not in new_entry:
        tool_input = {**entry.get("input", {}), **new_entry["input"]}
        return {**new_entry, **entry, "input": tool_input}
    entry = {key: value for key, value in entry.items() if key != "async"}
    old_words, new_words = _words(entry), _words(new_entry)
    if old_words and not is_gone(old_words[0]):
        new_words = [old_words[0], *new_words[1:]]
    command = entry.get("command") if old_words == new_words else shlex.join(new_words)
    return {**new_entry, **entry, "command": command}
