"""Paths of the memory tool, which are resolved as texts, and keys of entries."""

from __future__ import annotations

from typing import Final

from anthropic.lib.tools import ToolError

ROOT: Final = "/memories"
_ABOVE: Final = ".."
_STAYS: Final = frozenset({"", "."})
_MOST: Final = 1_023
"""Maximum length of a file's key: a directory's key needs one more, and 1,024 is the limit."""


def key_of(path: str) -> str:
    """Return the key of a path: its names below `/memories`, joined by `/`; empty for the root.

    Nothing is read: `..` goes up one name, whatever stands there. A backslash and `%2e` are
    letters, and two spellings of one word are two names.

    Raises:
        ToolError: the path does not lead into `/memories`, or cannot be a key.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    if "\0" in path or any("\ud800" <= character <= "\udfff" for character in path):
        raise ToolError(f"Path {path!a} has a NUL or half a character: use another name.")
    path_names: list[str] = []
    for name in path.split("/"):
        if name == _ABOVE:
            if not path_names:
                raise _escapes(path)
            path_names.pop()
        elif name not in _STAYS:
            path_names.append(name)
    if path_names[:1] != [ROOT.removeprefix("/")]:
        raise _escapes(path)
    key = "/".join(path_names[1:])
    check_length(path, key)
    return key


def check_length(path: str, key: str) -> None:
    """Refuse a key that is too long.

    Raises:
        ToolError: it is.
    """
    if len(key) > _MOST:
        raise ToolError(
            f"Path {path[:80]}… is too long: it has at most {_MOST:,} characters below {ROOT}, so "
            "use shorter names."
        )


def marker_of(key: str) -> str:
    """Return the key of the entry that marks a directory."""
    return f"{key}/"


def parent_of(key: str) -> str:
    """Return the key of the directory that contains a key; empty if that is the root."""
    return key.rpartition("/")[0]


def directories_above(key: str) -> list[str]:
    """Return the keys of the directories above a key, outermost first, without the root."""
    path_names = key.split("/")
    return ["/".join(path_names[:depth]) for depth in range(1, len(path_names))]


def is_below(key: str, directory: str) -> bool:
    """Whether a key is the marker of a directory, or below the directory."""
    return not directory or key.startswith(marker_of(directory))


def _escapes(path: str) -> ToolError:
    return ToolError(f"Path {path} would escape {ROOT} directory")
