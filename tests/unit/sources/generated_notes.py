"""Notes as nobody writes them: repeated headings, stems and keys, and a mark in every line.

A mark is a word that stands once in all files, so that its line can be found again: in a row, or
among what is counted as left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

MARK = re.compile(r"m\d+q")

_HEADINGS = ("# A", "## A", "## B", "### A > B", "# ", "## m0q", "### m0q ###", "# keywords")
_LINES = (
    "plain m0q",
    "plain m0q and m0q",
    "- a point m0q",
    "  goes on m0q",
    "1. a step m0q",
    "> quoted m0q",
    "| a | m0q |",
    "    indented m0q",
    "- [limit] m0q #net (m0q)",
    "- [limit] the same words",
    "- [x] done m0q",
    "- #tag m0q",
    "- part_of [[m0q]]",
    "- [[A]] (m0q)",
    "- [[A|m0q]]",
    '- "part of" [[m0q]] (m0q)',
    "- [A](a.md): m0q",
    "see [[m0q]] and [[A]]",
    "applies_to: cwd=/elsewhere; m0q",
    "same words",
    "====",
    "----",
    "- - -",
    "```",
    "~~~ m0q",
    "\u2028m0q\x0b m0q",
    "[2024-05-01] - m0q",
    "thread_id: m0q",
    "",
    "",
)
_KEYS = (
    "title: A",
    "title: m0q",
    "name: m0q",
    "description: m0q",
    "description: >",
    "  folded m0q",
    "type: m0q",
    "permalink: a/b",
    "tags: [m0q, m0q]",
    "tags:",
    "- m0q",
    "metadata:",
    "  type: m0q",
    "  other: m0q",
    "created: 2024-05-01",
    "# a comment m0q",
    '"quoted": m0q',
    "",
)
_HEAD = ("thread_id: t", "thread_id: m0q", "updated_at: m0q", "cwd: /m0q", "git_branch: m0q", "")
_PLACES = ("a.md", "x/a.md", "y/a.md", "MEMORY.md", "x/MEMORY.md", "memory_summary.md", "b.md")
_SUMMARIES = ("rollout_summaries/a.md", "x/rollout_summaries/b.md", "raw_memories.md")

_body = st.lists(st.sampled_from((*_LINES, *_HEADINGS, *_HEADINGS)), max_size=24)
_front = st.lists(st.sampled_from(_KEYS), min_size=1, max_size=9)
_fences = st.sampled_from((("---", "---"), ("---", "..."), ("+++", "+++"), ("---", "no end")))


@st.composite
def _note(draw: st.DrawFn) -> list[str]:
    lines = draw(_body)
    if draw(st.booleans()):
        first, last = draw(_fences)
        lines = [first, *draw(_front), last, *lines]
    elif draw(st.booleans()):
        lines = [*draw(st.lists(st.sampled_from(_HEAD), max_size=4)), *lines]
    return lines


notes = st.dictionaries(st.sampled_from((*_PLACES, *_SUMMARIES)), _note(), min_size=1, max_size=4)
"""The lines of each note, by its place in a folder."""


class Line(NamedTuple):
    """A line with the marks in it."""

    file: Path
    number: int
    marks: frozenset[str]


def write(folder: Path, drawn: dict[str, list[str]]) -> list[Line]:
    """Write the notes, each mark with a number of its own."""
    count = 0

    def numbered(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"m{count}q"

    written = []
    for place, lines in drawn.items():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        marked = [re.sub("m0q", numbered, line) for line in lines]
        file.write_text("\n".join(marked), encoding="utf-8")
        written += list(_lines(file, marked))
    return written


def _lines(file: Path, lines: list[str]) -> Iterator[Line]:
    for number, line in enumerate(lines, start=1):
        if marks := frozenset(MARK.findall(line)):
            yield Line(file, number, marks)
