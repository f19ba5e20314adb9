"""Lines `[date] - text`, as chats print them when they are asked what they remember."""

import re
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.tools.tool import ToolSource, instant_of
from day1.ports.source import Draft

_LINE = re.compile(r"\s*(?:[-*+]\s+)?\[([^\]\n]{1,40})\]\s*[-\u2013\u2014:]\s*(\S.*)$")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_HEADING = re.compile(r"\s*(?:#{1,6}\s+|\*\*)(.+?)(?:\s*#*|:?\*\*:?)\s*$")


class DatedLines(ToolSource):
    """`ToolSource` over such a text; a line that begins with no date goes on with the one above."""

    name = "lines"

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        heading, date, text = "", "", ""
        for number, line in enumerate(self.text(path).split("\n"), start=1):
            found, title = _LINE.match(line), _HEADING.match(line)
            goes_on = text and line.strip() and not title and not _FENCE.match(line)
            if goes_on and not found:
                text += f"\n{line.strip()}"
                continue
            if text:
                yield [self._fact(heading, date, text)]
            date, text = (found[1], found[2].strip()) if found else ("", "")
            if title and not found:
                heading = title[1].strip()
            elif not found and line.strip() and not _FENCE.match(line):
                self.leave_out("lines without a date", f"line {number}")
        if text:
            yield [self._fact(heading, date, text)]

    def _fact(self, heading: str, date: str, text: str) -> Draft:
        at = instant_of(date)
        return self.fact((text,), text, heading.lower() or None, at)
