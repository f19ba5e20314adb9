"""The list of a directory, made of the entries of a set of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from day1.integrations.anthropic.paths import is_below, marker_of
from day1.integrations.anthropic.texts import shown_size

_LEVELS: Final = 2
_UNREACHABLE: Final = frozenset({"", ".", ".."})
"""Names that the tool's paths cannot contain; only other programs write entries with them."""


@dataclass(slots=True)
class _Directory:
    """A directory: the sizes of its files, its directories, and the size of all below it."""

    files: dict[str, int] = field(default_factory=dict)
    directories: dict[str, _Directory] = field(default_factory=dict)
    size: int = 0


def listed(path: str, key: str, size_by_key: Mapping[str, int]) -> str:
    """List a directory to two levels, without hidden files.

    Args:
        path: the directory, as it was asked for.
        key: its key.
        size_by_key: the bytes of all files by their keys, and the markers of directories.
    """
    listed_directory = _Directory()
    prefix = marker_of(key) if key else ""
    for file_key, size in size_by_key.items():
        if is_below(file_key, key):
            _add(listed_directory, file_key.removeprefix(prefix).split("/"), size)
    lines = [
        f"{shown_size(size)}\t{path}{name}" for name, size in _lines(listed_directory, "", _LEVELS)
    ]
    return "\n".join(
        [
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden "
            "items:",
            f"{shown_size(listed_directory.size)}\t{path}",
            *lines,
        ]
    )


def _add(top: _Directory, names: list[str], size: int) -> None:
    """Add a file, or a directory if the last name is empty."""
    *directory_names, last_name = names
    if any(name in _UNREACHABLE for name in (*directory_names, last_name or "-")):
        return
    top.size += size
    for name in directory_names:
        top = top.directories.setdefault(name, _Directory())
        top.size += size
    if last_name:
        top.files[last_name] = size


def _lines(directory: _Directory, path: str, levels: int) -> Iterator[tuple[str, int]]:
    """Yield the paths in a directory with their sizes, by name; a directory's end with a slash."""
    names = {*directory.files, *directory.directories}
    for name in sorted(entry_name for entry_name in names if not entry_name.startswith(".")):
        if name in directory.files:
            yield f"{path}/{name}", directory.files[name]
        subdirectory = directory.directories.get(name)
        if subdirectory is not None:
            yield f"{path}/{name}/", subdirectory.size
            if levels > 1:
                yield from _lines(subdirectory, f"{path}/{name}", levels - 1)
