"""Lines `[date] - text`, as chats print them when they are asked what they remember."""

import re
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.tools.tool import ToolSource, instant_of
from day1.ports.source import Draft

_LINE = re.compile(r"\s*(?:[-*+]\s+)?\[([^\]\n]{1,40})\]\s*[-\u2013\u2014:]\s*(\S.*)$")
_FENCE = re.compile(r"\s*(?:`{3,}+|~{3,}+)(.*)")
_HEADING = re.compile(r"\s*+(?:#{1,6}\s+|\*\*)(.+)")


class DatedLines(ToolSource):
    """`ToolSource` over dated lines; a line without a date belongs to the one above."""

    name = "lines"

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        date, text_lines = "", list[str]()
        heading, line_of_heading = "", 0  # 0: no heading, or a row names it
        for line_number, line in enumerate([*self.text(path).split("\n"), ""], start=1):
            line_match, new_heading, fence_match = (
                _LINE.match(line),
                heading_of(line),
                _FENCE.match(line),
            )
            if (
                text_lines
                and line.strip()
                and line_match is None
                and new_heading is None
                and fence_match is None
            ):
                text_lines.append(line.strip())
                continue
            if text_lines:
                yield [self._fact(heading, date, "\n".join(text_lines))]
                line_of_heading = 0
            date, text_lines = (line_match[1], [line_match[2].strip()]) if line_match else ("", [])
            if line_match and instant_of(date) is None:
                self.leave_out("dates that do not exist", f"line {line_number}")
            elif new_heading is not None and line_match is None:
                self._leave_heading(line_of_heading)
                heading, line_of_heading = new_heading, line_number if new_heading else 0
            elif fence_match and fence_match[1].strip():
                self.leave_out("marks of code", f"line {line_number}")
            elif line_match is None and fence_match is None and line.strip():
                self.leave_out("lines without a date", f"line {line_number}")
        self._leave_heading(line_of_heading)

    def _leave_heading(self, line: int) -> None:
        if line:
            self.leave_out("headings without a text of their own", f"line {line}")

    def _fact(self, heading: str, date: str, text: str) -> Draft:
        return self.fact((text,), text, heading.lower() or None, instant_of(date))


def heading_of(line: str) -> str | None:
    """Return the title of a heading `# Title` or `**Title:**`; None for another line."""
    heading_match = _HEADING.match(line)
    if heading_match is None:
        return None
    heading_text = heading_match[1].rstrip()
    possible_titles = [heading_text.rstrip("#").rstrip() or heading_match[1][:1]]
    bold_text = heading_text.removesuffix(":")
    if bold_text.endswith("**") and (bold_title := bold_text[:-2]):
        possible_titles.append(bold_title[:1] + bold_title[1:].removesuffix(":"))
    return min(possible_titles, key=len).strip()
