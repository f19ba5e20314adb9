"""The commands of the memory tool on the files of a memory; each sees the present state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from anthropic.lib.tools import ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

import day1
from day1 import errors
from day1.integrations.anthropic.entries import (
    BranchOfCall,
    Change,
    Entries,
    Entry,
    fits_one_commit,
    text_of,
)
from day1.integrations.anthropic.listing import listed
from day1.integrations.anthropic.paths import (
    ROOT,
    check_length,
    directories_above,
    is_below,
    key_of,
    marker_of,
    parent_of,
)
from day1.integrations.anthropic.refusals import refusals
from day1.integrations.anthropic.texts import inserted, replaced, shown, size_of
from day1.types import RowBlame

_WAIT_S: Final = 20
"""How long a command is tried again while other writers change its entries, in seconds."""
_PAUSES: Final = wait_random_exponential(multiplier=0.01, max=0.2)
"""Random pauses between the attempts, so that two writers do not meet again."""
T = TypeVar("T")


class Files:
    """A set of files on the branches of a memory, with the commands of the memory tool."""

    def __init__(self, memory: day1.Branch, name: str, branch: BranchOfCall) -> None:
        """Keep the memory, name and branch of the files; call nothing yet."""
        self._memory = memory
        self._name = name
        self._branch = branch

    @property
    def entries(self) -> Entries:
        """The entries on the branch of this call."""
        return Entries(self._memory, self._name, self._branch)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with the numbers of its lines, or list a directory."""
        path, key = command.path, key_of(command.path)

        def read(entries: Entries) -> str:
            entry = _file(entries, key)
            if entry is not None:
                return shown(path, text_of(entry), command.view_range)
            size_by_key = {entry["key"]: _size_of(entry) for entry in entries.each()}
            if not _is_directory(size_by_key, key):
                raise _missing(path)
            return listed(path, key, size_by_key)

        return self._repeat(path, read)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file, and the directories above it."""
        path, key, text = command.path, key_of(command.path), _storable(command.file_text)
        already_exists_error = ToolError(f"File {path} already exists")
        if not key:
            raise already_exists_error

        def write(entries: Entries) -> str:
            directory_keys, entry_by_key = _free_place(entries, key, already_exists_error)
            _require_directories(path, directory_keys, entry_by_key)
            entries.put(
                [entries.file(key, text), *_new_directories(entries, directory_keys, entry_by_key)]
            )
            return f"File created successfully at: {path}"

        return self._repeat(path, write)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a part of a file that occurs once."""
        replacement = _storable(command.new_str)
        return self._edit(
            command.path, lambda text: replaced(command.path, text, command.old_str, replacement)
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line of a file."""
        inserted_text, answer = (
            _storable(command.insert_text),
            f"The file {command.path} has been edited.",
        )
        return self._edit(
            command.path, lambda text: (inserted(text, command.insert_line, inserted_text), answer)
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Remove a file, or a directory with all below it, in one commit."""
        path, key = command.path, key_of(command.path)
        if not key:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")

        def write(entries: Entries) -> str:
            missing_error = ToolError(f"The path {path} does not exist")
            revision_by_key, _ = _moved(entries, key, missing_error, _revision_of)
            changes = [
                entries.gone(*key_and_revision) for key_and_revision in revision_by_key.items()
            ]
            changes += _new_directories(entries, *_parents(entries, key))
            _apply(entries, path, changes, f"deleted {path}")
            return f"Successfully deleted {path}"

        return self._repeat(path, write)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a directory with all below it, in one commit."""
        path, new_path = command.old_path, command.new_path
        key, new_key = key_of(path), key_of(new_path)
        if not key:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        taken_error = ToolError(f"The destination {new_path} already exists")
        if not new_key:
            raise taken_error

        def write(entries: Entries) -> str:
            directory_keys, entry_by_key = _free_place(entries, new_key, taken_error)
            entry_by_old_key, all_keys = _moved(
                entries, key, ToolError(f"The path {path} does not exist"), _whole
            )
            if _is_directory(all_keys, new_key):
                raise taken_error
            if is_below(new_key, key):
                raise ToolError(f"Cannot move {path} into itself: give a path outside it.")
            _require_directories(new_path, directory_keys, entry_by_key)
            changes = _new_directories(entries, directory_keys, entry_by_key)
            if all_keys:
                changes.append(entries.directory(new_key))
            for old_key, entry in entry_by_old_key.items():
                target_key = new_key + old_key.removeprefix(key)
                check_length(new_path, target_key.removesuffix("/"))
                changes += [entries.gone(old_key, entry["revision"])]
                changes += (
                    [] if target_key == marker_of(new_key) else [entries.copy(entry, target_key)]
                )
            changes += _new_directories(entries, *_parents(entries, key))
            _apply(entries, path, changes, f"renamed {path} to {new_path}")
            return f"Successfully renamed {path} to {new_path}"

        return self._repeat(path, write)

    def clear(self) -> str:
        """Remove all files and directories."""

        def write(entries: Entries) -> str:
            entries.clear()
            return "All memory cleared"

        return self._repeat(ROOT, write)

    def blame(self, path: str) -> RowBlame:
        """Tell who wrote each line of a file, and when.

        Raises:
            NotFound: there is no such file.
        """
        entries = self.entries
        entry = _file(entries, key_of(path))
        if entry is None:
            raise errors.NotFound(f"There is no file {path}.", path=path)
        return entries.on.blame(entry["id"], lines=True)

    def _edit(self, path: str, change: Callable[[str], tuple[str, str]]) -> str:
        """Replace a file's text by what `change` makes of it; return the answer of `change`."""
        key = key_of(path)

        def write(entries: Entries) -> str:
            entry = _file(entries, key)
            if entry is None:
                if _is_directory((each["key"] for each in entries.each()), key):
                    raise ToolError(f"The path {path} is not a file.")
                raise _missing(path)
            new_text, answer = change(text_of(entry))
            entries.put([entries.file(key, new_text, entry["revision"])])
            return answer

        return self._repeat(path, write)

    def _repeat(self, path: str, command: Callable[[Entries], T]) -> T:
        """Run a command, and retry it when another writer changed the same entries meanwhile.

        Raises:
            ToolError: the command or the memory refuses.
        """
        entries = self.entries
        with refusals(path, entries.on.name):
            return Retrying(
                retry=retry_if_exception_type(errors.RevisionChanged),
                stop=stop_after_delay(_WAIT_S),
                wait=_PAUSES,
                reraise=True,
            )(command, entries)


def _file(entries: Entries, key: str) -> Entry | None:
    return entries.at([key]).get(key) if key else None


def _size_of(entry: Entry) -> int:
    return 0 if entry["key"].endswith("/") else size_of(text_of(entry))


def _revision_of(entry: Entry) -> str:
    revision: str = entry["revision"]
    return revision


def _whole(entry: Entry) -> Entry:
    return entry


def _is_directory(all_keys: Iterable[str], key: str) -> bool:
    return not key or any(is_below(entry_key, key) for entry_key in all_keys)


def _free_place(entries: Entries, key: str, taken: ToolError) -> tuple[list[str], dict[str, Entry]]:
    """Check that a key is free; return the directories above it and the entries at these keys.

    Raises:
        ToolError: `taken`; a file or a directory has the key.
    """
    directory_keys = directories_above(key)
    entry_by_key = entries.at(
        [key, marker_of(key), *directory_keys, *map(marker_of, directory_keys)]
    )
    if key in entry_by_key or marker_of(key) in entry_by_key:
        raise taken
    return directory_keys, entry_by_key


def _moved(
    entries: Entries, key: str, missing: ToolError, part: Callable[[Entry], T]
) -> tuple[dict[str, T], set[str]]:
    """Return parts of the entries to move or delete: the file's own, or all below the directory.

    Args:
        entries: the entries of the branch.
        key: the key of the file or directory.
        missing: the error to raise if there is nothing.
        part: makes of an entry what is to be kept of it; texts may be long.

    Returns:
        The parts by the entries' keys, and for a directory the keys of all entries.

    Raises:
        ToolError: `missing`; there is nothing.
    """
    file_entry = _file(entries, key)
    if file_entry is not None:
        return {key: part(file_entry)}, set()
    part_by_key: dict[str, T] = {}
    all_keys = set()
    for entry in entries.each():
        all_keys.add(entry["key"])
        if is_below(entry["key"], key):
            part_by_key[entry["key"]] = part(entry)
    if not part_by_key:
        raise missing
    return part_by_key, all_keys


def _parents(entries: Entries, key: str) -> tuple[list[str], dict[str, Entry]]:
    """Return the directory of a path, unless it is the root, and its marker entry if there is one.

    A directory that only its files show, as after a merge, gets a marker before it loses one.
    """
    parent_key = parent_of(key)
    return ([parent_key], entries.at([marker_of(parent_key)])) if parent_key else ([], {})


def _new_directories(
    entries: Entries, directories: list[str], entry_by_key: dict[str, Entry]
) -> list[Change]:
    return [
        entries.directory(directory_key)
        for directory_key in directories
        if marker_of(directory_key) not in entry_by_key
    ]


def _require_directories(path: str, above: list[str], entry_by_key: dict[str, Entry]) -> None:
    """Refuse a path that leads through a file.

    Raises:
        ToolError: it does.
    """
    for directory_key in above:
        if directory_key in entry_by_key:
            raise ToolError(
                f"{ROOT}/{directory_key} is a file, so {path} cannot be in it: use another path."
            )


def _apply(entries: Entries, path: str, changes: list[Change], reason: str) -> None:
    if not fits_one_commit(changes):
        raise ToolError(
            f"The directory {path} has too many files for one commit, so nothing was changed: "
            "take its directories one by one."
        )
    entries.apply(changes, reason)


def _storable(text: str) -> str:
    """Return the text unchanged, or refuse it if a file cannot hold it.

    Raises:
        ToolError: it has a NUL or half a character.
    """
    if "\0" in text or (
        not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
    ):
        raise ToolError(
            "The text has a NUL or half a character, so nothing was changed: leave it out."
        )
    return text


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")
