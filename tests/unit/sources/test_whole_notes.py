"""Every line of a note is in a row, or is counted as left out with its place."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings

from day1.adapters.sources.markdown import MarkdownSource
from day1.adapters.sources.tools.basic_memory import BasicMemory
from day1.adapters.sources.tools.claude_code import ClaudeCode
from day1.adapters.sources.tools.codex import Codex
from day1.adapters.sources.tools.dated_lines import DatedLines
from day1.adapters.sources.tools.letta import Letta
from day1.ports.source import Machine, Source
from tests.sampling import cases
from tests.unit.sources.generated_notes import MARK, Line, notes, write
from tests.unit.sources.imported_rows import rows_of, text_of

MACHINE = Machine(Path("/nowhere"), {})
SOURCES: Mapping[str, Callable[[Path], Source]] = {
    "markdown": lambda folder: MarkdownSource([folder], folder),
    "claude-code": lambda folder: ClaudeCode([folder], MACHINE),
    "codex": lambda folder: Codex([folder], MACHINE),
    "basic-memory": lambda folder: BasicMemory([folder], MACHINE),
    "letta": lambda folder: Letta([folder], MACHINE),
    "lines": lambda folder: DatedLines(sorted(folder.rglob("*.md")), MACHINE),
}
_COUNT = re.compile(r"(?:, |: |, lines: )(\d+)(?: lines?)?$")
_LINE = re.compile(r"(?:(.*), )?line (\d+)$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
_HEADING_LINES = 4
"""The most lines that a heading above an underline has."""
_TO_THE_NEXT_HEADING = "sources of points"


def uncounted(lost: Sequence[Line], left_out: Mapping[str, Sequence[str]]) -> list[Line]:
    """The lines that no place names; a place is a file, a line, or a number of lines of a file."""
    places = [place for places in left_out.values() for place in places]
    numbered = {place for place in places if _LINE.search(place)}
    below = [_LINE.fullmatch(place) for place in left_out.get(_TO_THE_NEXT_HEADING, ())]
    counts: Counter[str] = Counter()
    for place in set(places) - numbered:
        if count := _COUNT.search(place):
            counts[place[: count.start()]] += int(count[1])
    rest = []
    for line in lost:
        own = {f"{line.file}, line {line.number}", f"line {line.number}", str(line.file)}
        own |= {f"{line.file}, line {start}" for start in beginnings(line)}
        after = any(at and at[1] == str(line.file) and int(at[2]) < line.number for at in below)
        if own & set(places) or after:
            continue
        if counts[str(line.file)] > 0:
            counts[str(line.file)] -= 1
        else:
            rest.append(line)
    return rest


def beginnings(line: Line) -> list[int]:
    """The lines at which a heading of several lines may begin that has this line in it."""
    lines = line.file.read_text(encoding="utf-8").split("\n")
    underlined = any(map(_UNDERLINE.match, lines[line.number : line.number + _HEADING_LINES]))
    before = lines[max(0, line.number - _HEADING_LINES) : line.number]
    paragraph = list(takewhile(lambda text: text.strip() and text[0] != "#", reversed(before)))
    return [line.number - back for back in range(len(paragraph))] if underlined else []


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=cases(25))
@given(drawn=notes)
@example(drawn={"a.md": ["---", "description: >", "  folded m0q", "  folded m0q", "---"]})
@example(drawn={"a.md": ["plain m0q", "# A", "plain m0q", "plain m0q", "===="]})
@example(drawn={"a.md": ["====", "plain m0q", "====", "# A", "plain m0q"]})
def test_every_line_is_in_a_row_or_counted(name: str, drawn: dict[str, list[str]]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place).resolve() / "memory"
        lines = write(folder, drawn)
        source = SOURCES[name](folder)
        rows = rows_of(source)
        told = set(MARK.findall("\n".join(map(text_of, rows.values()))))
        lost = [line for line in lines if not line.marks <= told]
        assert uncounted(lost, source.left_out) == []
        assert rows_of(source) == rows
