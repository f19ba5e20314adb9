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
        date, text = "", list[str]()
        heading, line_of_heading = "", 0  # 0: no heading, or a row names it
        for number, line in enumerate([*self.text(path).split("\n"), ""], start=1):
            match, title, fence = _LINE.match(line), heading_of(line), _FENCE.match(line)
            if text and line.strip() and match is None and title is None and fence is None:
                text.append(line.strip())
                continue
            if text:
                yield [self._fact(heading, date, "\n".join(text))]
                line_of_heading = 0
            date, text = (match[1], [match[2].strip()]) if match else ("", [])
            if match and instant_of(date) is None:
                self.leave_out("dates that do not exist", f"line {number}")
            elif title is not None and match is None:
                self._leave_heading(line_of_heading)
                heading, line_of_heading = title, number if title else 0
            elif fence and fence[1].strip():
                self.leave_out("marks of code", f"line {number}")
            elif match is None and fence is None and line.strip():
                self.leave_out("lines without a date", f"line {number}")
        self._leave_heading(line_of_heading)

    def _leave_heading(self, line: int) -> None:
        if line:
            self.leave_out("headings without a text of their own", f"line {line}")

    def _fact(self, heading: str, date: str, text: str) -> Draft:
        return self.fact((text,), text, heading.lower() or None, instant_of(date))


def heading_of(line: str) -> str | None:
    """Return the title of a heading `# Title` or `**Title:**`; None for another line."""
    heading = _HEADING.match(line)
    if heading is None:
        return None
    text = heading[1].rstrip()
    titles = [text.rstrip("#").rstrip() or heading[1][:1]]
    bold_text = text.removesuffix(":")
    if bold_text.endswith("**") and (title := bold_text[:-2]):
        titles.append(title[:1] + title[1:].removesuffix(":"))
    return min(titles, key=len).strip()
