"""Memory as data in a model's context: marked, on one line each, within a number of characters.

Whatever a text says, it cannot end the frame that it stands in, nor begin or end another one of the
client or of the model: it has no line breaks, no letters that are not seen, no angle brackets, and
not the word that begins and ends the frame.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from day1.formats.prime_file import FRAME
from day1.model.values.showing import JOINERS, changes_the_last, seen

_BRACKETS: Final = str.maketrans("<>\ufe64\ufe65\uff1c\uff1e", "\u2039\u203a" * 3)
"""The table that replaces angle brackets of every width, with which marks of clients begin and
end (`</system-reminder>`), and those of models."""
_MARK: Final = re.compile(
    f"[{JOINERS}]*".join([*"day1", r"\s*[-_\u2010-\u2015\u2212]+\s*", *"memory"]), re.IGNORECASE
)
_BEGINS, _ENDS = f"<{FRAME}", f"</{FRAME}>"
_CUT: Final = "\u2026"
_LONGEST_ATTRIBUTE: Final = 120


def size(text: str) -> int:
    """Count a text's UTF-16 units, as the strictest clients do: never fewer than its characters."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def one_line(text: str, max_size: int) -> str:
    """Write a text on one line of at most `max_size` characters; a cut one ends in an ellipsis."""
    line = text if text.isascii() and text.isprintable() else seen(text)
    if _MARK.search(unicodedata.normalize("NFKC", line)):
        line = _MARK.sub("memory of day1", unicodedata.normalize("NFKC", line))
    line = line.translate(_BRACKETS)
    if not line.isascii():  # behind a bracket a joiner is not seen any more
        line = seen(line)
    line = " ".join(line.split())
    return line if size(line) <= max_size else _shortened(line, max_size)


def _shortened(line: str, max_size: int) -> str:
    """Cut a text after its last whole word that fits, or in the first word if that is too long."""
    fitting_length, size_left = 0, max_size - size(_CUT)
    for fitting_length, letter in enumerate(line):  # noqa: B007 - where it ended is what is wanted
        size_left -= size(letter)
        if size_left < 0:
            break
    cut_line = line[:fitting_length]
    if not line[fitting_length].isspace() and " " in cut_line:
        cut_line = cut_line[: cut_line.rindex(" ")]
    while cut_line and changes_the_last(line[len(cut_line)]):
        cut_line = cut_line[:-1]  # a letter is not parted from its accents
    return f"{cut_line.rstrip()}{_CUT}"


def without_frames(text: str) -> str:
    """Cut the primes, hints and other frames of memory out of a text that quotes them."""
    kept_parts, search_start = [], 0
    while (frame_start := text.find(_BEGINS, search_start)) >= 0 and (
        frame_end := text.find(_ENDS, frame_start)
    ) >= 0:
        kept_parts.append(text[search_start:frame_start])
        search_start = frame_end + len(_ENDS)
    return "".join([*kept_parts, text[search_start:]])


class Frame:
    """Lines between two marks, with a limit on their characters together."""

    def __init__(self, attributes: Iterable[tuple[str, str]], notice: str, max_size: int) -> None:
        """Begin the frame: its opening mark, and a notice that explains the lines."""
        attribute_text = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes)
        self._lines, self._end = [f"<{FRAME}{attribute_text}>", notice], f"</{FRAME}>"
        marks_size = size("\n".join([*self._lines, self._end]))
        self._room = max_size - marks_size - 1  # for the line end that print adds
        self._reserved = 0

    def reserve(self, line: str) -> None:
        """Keep room for a line that is added later."""
        self._reserved = size(line) + 1

    def room(self) -> int:
        """Return the number of characters that the next line may have."""
        return self._room - self._reserved - 1

    def add(self, *lines: str) -> bool:
        """Add lines if all of them fit; returns whether they did."""
        needed_size = sum(size(line) + 1 for line in lines)
        if needed_size > self._room - self._reserved:
            return False
        self._room -= needed_size
        self._lines += lines
        return True

    def release(self) -> None:
        """Free the characters that `reserve` kept for a later line."""
        self._reserved = 0

    def text(self) -> str:
        """Return the lines as one text, without a line break at its end."""
        return "\n".join([*self._lines, self._end])


def _attribute(value: str) -> str:
    return one_line(value, _LONGEST_ATTRIBUTE).replace('"', "'")
