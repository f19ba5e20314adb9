"""Texts of files: how they are shown, replaced in part, and inserted into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from anthropic.lib.tools import ToolError

_MOST_LINES: Final = 999_999
_WIDTH: Final = len(str(_MOST_LINES))
_AROUND: Final = 2
"""Lines before and after a change that an answer shows."""
_UNIT: Final = 1_024
_UNITS: Final = "BKMG"


def shown(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Show a file with the numbers of its lines: all of them, or a range from 1; -1 is its end.

    Raises:
        ToolError: it has more lines than numbers have digits.
    """
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = 1, len(lines)
    match view_range:
        case [start, end]:
            first, last = max(1, start), len(lines) if end == -1 else end
    numbered = _numbered(lines[first - 1 : last], first)
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def replaced(path: str, text: str, old: str, new: str) -> tuple[str, str]:
    """Replace a part of a text that occurs once.

    Returns:
        The new text, and the answer, which shows the lines around the change.

    Raises:
        ToolError: the part does not occur, or more than once.
    """
    count = text.count(old)
    if count == 0:
        raise ToolError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        numbers = ", ".join(str(_line_of(text, place)) for place in _places(text, old))
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{numbers}. Please ensure it is unique"
        )
    line = _line_of(text, text.index(old))
    new_text = text.replace(old, new)
    first = max(1, line - _AROUND)
    around = _numbered(new_text.split("\n")[first - 1 : line + _AROUND], first)
    return new_text, (
        "The memory file has been edited. Here is the snippet showing the change (with line "
        f"numbers):\n{around}"
    )


def inserted(text: str, after_line: int, new: str) -> str:
    """Insert lines after a line of a text (0: before the first); the result ends with a line's end.

    Raises:
        ToolError: the text has no such line.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= after_line <= len(lines):
        raise ToolError(
            f"Invalid `insert_line` parameter: {after_line}. It should be within the range "
            f"[0, {len(lines)}]."
        )
    new_text = "\n".join([*lines[:after_line], new.rstrip("\n"), *lines[after_line:]])
    return new_text if new_text.endswith("\n") else f"{new_text}\n"


def size_of(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text.encode())


def shown_size(count: int) -> str:
    """Write a number of bytes for people, such as `1.5K`."""
    power = 0
    while power < len(_UNITS) - 1 and count >= _UNIT ** (power + 1):
        power += 1
    amount = count / _UNIT**power
    digits = str(int(amount)) if amount == int(amount) else f"{amount:.1f}"
    return f"{digits}{_UNITS[power]}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{first + at:>{_WIDTH}}\t{line}" for at, line in enumerate(lines))


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _places(text: str, part: str) -> Iterator[int]:
    """Yield where a part of a text begins, also inside another place of the part."""
    place = text.find(part)
    while place != -1:
        yield place
        place = text.find(part, place + 1)
