"""The list of a directory, made of the entries of a set of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from day1.integrations.anthropic.paths import is_below, marker_of
from day1.integrations.anthropic.texts import shown_size, size_of

_LEVELS: Final = 2
_UNREACHABLE: Final = frozenset({"", ".", ".."})
"""Names that no path leads to; only other programs put entries with them."""


@dataclass(slots=True)
class _Directory:
    """A directory: the sizes of its files, its directories, and the size of all below it."""

    files: dict[str, int] = field(default_factory=dict)
    directories: dict[str, _Directory] = field(default_factory=dict)
    size: int = 0


def listed(path: str, key: str, texts: Mapping[str, str]) -> str:
    """List a directory to two levels, without hidden files.

    Args:
        path: the directory, as it was asked for.
        key: its key.
        texts: the texts of all files by their keys, and the markers of directories.
    """
    top = _Directory()
    prefix = marker_of(key) if key else ""
    for each, text in texts.items():
        if is_below(each, key):
            _add(top, each.removeprefix(prefix).split("/"), size_of(text))
    lines = [f"{shown_size(size)}\t{path}{name}" for name, size in _lines(top, "", _LEVELS)]
    return "\n".join(
        [
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden "
            "items:",
            f"{shown_size(top.size)}\t{path}",
            *lines,
        ]
    )


def _add(top: _Directory, names: list[str], size: int) -> None:
    """Add a file, or a directory if the last name is empty."""
    *above, name = names
    if any(each in _UNREACHABLE for each in (*above, name or "-")):
        return
    top.size += size
    for each in above:
        top = top.directories.setdefault(each, _Directory())
        top.size += size
    if name:
        top.files[name] = size


def _lines(directory: _Directory, path: str, levels: int) -> Iterator[tuple[str, int]]:
    """Yield the paths in a directory with their sizes, by name; a directory's end with a slash."""
    names = {*directory.files, *directory.directories}
    for name in sorted(each for each in names if not each.startswith(".")):
        if name in directory.files:
            yield f"{path}/{name}", directory.files[name]
        below = directory.directories.get(name)
        if below is not None:
            yield f"{path}/{name}/", below.size
            if levels > 1:
                yield from _lines(below, f"{path}/{name}", levels - 1)
