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
    first_line, last_line = 1, len(lines)
    match view_range:
        case [range_start, range_end]:
            first_line, last_line = (
                max(1, range_start),
                len(lines) if range_end == -1 else range_end,
            )
    numbered_lines = _numbered(lines[first_line - 1 : last_line], first_line)
    return f"Here's the content of {path} with line numbers:\n{numbered_lines}"


def replaced(path: str, text: str, old: str, new: str) -> tuple[str, str]:
    """Replace a part of a text that occurs once.

    Returns:
        The new text, and the answer, which shows the lines around the change.

    Raises:
        ToolError: the part does not occur, or more than once.
    """
    occurrence_count = text.count(old)
    if occurrence_count == 0:
        raise ToolError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if occurrence_count > 1:
        line_numbers = ", ".join(str(_line_of(text, position)) for position in _places(text, old))
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{line_numbers}. Please ensure it is unique"
        )
    line_number = _line_of(text, text.index(old))
    new_text = text.replace(old, new)
    first_shown_line = max(1, line_number - _AROUND)
    snippet = _numbered(
        new_text.split("\n")[first_shown_line - 1 : line_number + _AROUND], first_shown_line
    )
    return new_text, (
        "The memory file has been edited. Here is the snippet showing the change (with line "
        f"numbers):\n{snippet}"
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
    amount_text = str(int(amount)) if amount == int(amount) else f"{amount:.1f}"
    return f"{amount_text}{_UNITS[power]}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{first + index:>{_WIDTH}}\t{line}" for index, line in enumerate(lines))


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _places(text: str, part: str) -> Iterator[int]:
    """Yield each index at which a part occurs in a text, also where occurrences overlap."""
    position = text.find(part)
    while position != -1:
        yield position
        position = text.find(part, position + 1)
