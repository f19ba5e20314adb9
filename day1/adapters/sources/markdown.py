"""Markdown notes as memory: agent instruction files, memory banks, any folder of notes.

Each section becomes a fact, whose text is the headings above it and its body. Headings are ATX
(`##`) and setext (underlined); a line in a code fence is none. Front matter is left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.counting import CountingSource
from day1.adapters.sources.files import text_of
from day1.adapters.sources.front_matter import FrontMatter
from day1.errors import InvalidRequest, NotFound
from day1.foreign_files import LeaveOut, broken, files_below, is_text, shown
from day1.model.values.ids import derived_id
from day1.ports.source import PASSAGE, Draft, FactDraft

_MOST_CHARACTERS = 2_000
"""Maximum length of a fact's body: about 500 tokens. A longer section becomes several facts."""

_SUFFIXES = frozenset((".md", ".markdown", ".mdc", ".mdx"))
_NAMES = frozenset((".cursorrules", ".windsurfrules", ".clinerules"))
_MOST_HEADING_LINES = 4

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)(.*)")
_OTHER_BLOCK = re.compile(r" {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|\|)")
"""The start of a quote, list or table; such a line is never part of a setext heading."""
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_POINT = re.compile(r" ?(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<text>\S.*)")


@dataclass(slots=True)
class Section:
    """A heading with the text below it, up to the next heading of any level."""

    headings: tuple[str, ...]
    """The section's heading and those above it, outermost first; empty before the first heading."""
    places: tuple[tuple[int, str], ...] = ()
    """The same headings, without empty ones, each with its line."""
    lines: list[str] = field(default_factory=list)

    def pieces(self) -> list[str]:
        """Split the body into pieces of up to 2,000 characters, between paragraphs if possible."""
        return [piece for piece in _packed(_paragraphs(self.lines), "\n\n") if piece.strip()]

    def points(self) -> list[str]:
        """Return the items of the body's outermost lists, and the paragraphs between them."""
        lines_by_point: list[list[str]] = [[]]
        open_fence, was_blank = "", False
        for line in self.lines:
            open_fence, is_fenced = _fence_after(open_fence, line)
            item_match = None if is_fenced else _POINT.match(line)
            if item_match is not None:
                lines_by_point.append([item_match["text"]])
            elif line.strip() or is_fenced:
                if was_blank and not is_fenced and not line.startswith(("  ", "\t")):
                    lines_by_point.append([])
                lines_by_point[-1].append(line)
            was_blank = not line.strip() and not is_fenced
        point_texts = ("\n".join(point_lines).strip() for point_lines in lines_by_point)
        return [point for point in point_texts if point]


class MarkdownSource(CountingSource):
    """`ports.source.Source` over files, and the notes in folders."""

    name = "markdown"

    def __init__(self, paths: Sequence[Path], root: Path) -> None:
        """Find the files.

        A note's id comes from its file's path relative to `root`, so the same folder should be
        given each time; files outside it count with their whole path. A file that is found
        twice (`CLAUDE.md` as a link to `AGENTS.md`) is read once.

        Raises:
            NotFound: a path does not exist.
            InvalidRequest: there is no Markdown file in any of them.
        """
        super().__init__()
        self._root = root.resolve()
        files = (file for path in paths for file in _files(path, self.leave_out))
        self._files = list(dict.fromkeys(files))
        self._passed = {reason: list(places) for reason, places in self._left_out.items()}
        if not self._files:
            raise InvalidRequest(
                "There is no Markdown file (.md, .markdown, .mdc, .mdx) in "
                f"{', '.join(map(str, paths)) or 'an empty list of paths'}.",
                paths=[str(path) for path in paths],
            )

    @override
    def total(self) -> int:
        return len(self._files)

    @override
    def items(self) -> Iterator[list[Draft]]:
        self._left_out = {reason: list(places) for reason, places in self._passed.items()}
        for file in self._files:
            yield self._notes(file, FrontMatter(text_of(file)))

    def _notes(self, file: Path, front: FrontMatter) -> list[Draft]:
        file_key = (
            file.relative_to(self._root) if file.is_relative_to(self._root) else file
        ).as_posix()
        drafts: list[Draft] = []
        next_ordinal_by_headings: dict[tuple[str, ...], int] = {}
        named_headings = Headings()
        for section in sections(front.body, front.length):
            pieces = section.pieces()
            named_headings.take(section, section.places if pieces else ())
            for piece in pieces:
                ordinal = next_ordinal_by_headings.get(section.headings, 0)
                next_ordinal_by_headings[section.headings] = ordinal + 1
                id_parts = (self.name, file_key, *section.headings, str(ordinal))
                title = " > ".join(section.headings) or file.stem
                fact_id = derived_id("fact", None, *id_parts)
                drafts.append(FactDraft(fact_id, f"{title}: {piece}", category=PASSAGE))
        self.leave_out_lines(front.unread, file)
        self.leave_out_headings(named_headings.left(), file)
        return drafts


class Headings:
    """The headings of a text, to tell which of them no row names."""

    def __init__(self) -> None:
        """Begin without headings."""
        self._all: dict[tuple[int, str], None] = {}
        self._named: set[tuple[int, str]] = set()

    def take(self, section: Section, lines: Iterable[tuple[int, str]]) -> None:
        """Take a section's own heading, and those that rows of the section name."""
        self._all.update(dict.fromkeys(section.places[-1:]))
        self._named.update(lines)

    def left(self, name: str = "") -> list[tuple[int, str]]:
        """Return the headings that no row names; `name` is a title that each row names."""
        return [
            line_and_title
            for line_and_title in self._all
            if line_and_title not in self._named and line_and_title[1] != name
        ]


def _files(path: Path, leave_out: LeaveOut) -> Iterator[Path]:
    """Yield a file itself, whatever its name; of a folder the notes in it, ordered by name."""
    if path.is_file():
        if not is_text(path):
            raise broken(path, 1, "its name is not UTF-8: rename it")
        yield path.resolve()
    elif path.is_dir():
        yield from files_below(path, is_note, leave_out)
    elif path.exists():
        raise broken(path, 1, "it is not an ordinary file")
    else:
        raise NotFound(f"There is no {shown(path)}.", path=shown(path))


def is_note(file: Path) -> bool:
    """Whether a file of a folder is a note, by its name."""
    return file.suffix.lower() in _SUFFIXES or file.name in _NAMES


def unfenced(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it is outside of a code fence."""
    open_fence = ""
    for line in lines:
        open_fence, is_fenced = _fence_after(open_fence, line)
        yield line, not is_fenced


def sections(text: str, lines_before: int = 0) -> Iterator[Section]:
    """Split a Markdown text at its headings.

    Args:
        text: without front matter.
        lines_before: how many lines that has.
    """
    headings_above: list[tuple[int, str, int]] = []
    current_section = Section(())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    open_fence = ""
    paragraph: list[str] | None = []  # an underline below makes it a heading; None in a list
    for line_number, line in enumerate(lines, start=lines_before + 1):
        open_fence, is_fenced = _fence_after(open_fence, line)
        level_and_title = None if is_fenced else _heading(line, paragraph or ())
        if level_and_title is None:
            current_section.lines.append(line)
            paragraph = _paragraph_after(paragraph, line) if not is_fenced else []
            continue
        first_line = line_number
        if paragraph and _UNDERLINE.match(line):
            del current_section.lines[-len(paragraph) :]
            first_line = line_number - len(paragraph)
        yield current_section
        headings_above = [
            *(
                heading_above
                for heading_above in headings_above
                if heading_above[0] < level_and_title[0]
            ),
            (*level_and_title, first_line),
        ]
        titles = tuple(title for _, title, _ in headings_above if title)
        places = tuple((heading_line, title) for _, title, heading_line in headings_above if title)
        current_section, paragraph = Section(titles, places), []
    yield current_section


def _paragraph_after(paragraph: list[str] | None, line: str) -> list[str] | None:
    """Return the plain paragraph that goes on after a line; None inside another block of text."""
    if not line.strip() or _RULE.match(line):
        return []
    is_indented = not paragraph and line.startswith(("    ", "\t"))
    if paragraph is None or is_indented or _OTHER_BLOCK.match(line):
        return None
    if len(paragraph) == _MOST_HEADING_LINES:  # prose, whatever comes below it
        return None
    return [*paragraph, line]


def _fence_after(fence: str, line: str) -> tuple[str, bool]:
    """Return the open fence after a line ("" for none), and whether the line is part of a fence."""
    fence_match = _FENCE.match(line)
    if not fence:
        # A fence of backticks has none behind it; else it is code within a line.
        is_opening = fence_match is not None and not (
            fence_match[1][0] == "`" and "`" in fence_match[2]
        )
        return (fence_match[1], True) if fence_match and is_opening else ("", False)
    is_closing = fence_match and fence_match[1].startswith(fence) and not fence_match[2].strip()
    return ("" if is_closing else fence), True


def _heading(line: str, paragraph: Sequence[str]) -> tuple[int, str] | None:
    """Return level and title if `line` is a heading, or underlines the `paragraph` before it."""
    if atx_match := _ATX.match(line):
        title = atx_match[2].strip()
        open_title = title.rstrip("#")  # "## Title ##" is closed, "## C#" is not
        is_closed = not open_title or open_title[-1] in " \t"
        return len(atx_match[1]), open_title.rstrip() if is_closed else title
    if paragraph and (underline_match := _UNDERLINE.match(line)):
        return (1 if underline_match[1][0] == "=" else 2), " ".join(
            paragraph_line.strip() for paragraph_line in paragraph
        )
    return None


def _paragraphs(lines: Iterable[str]) -> list[str]:
    """Join the lines between blank ones; a blank line in a fence does not end a paragraph."""
    paragraphs: list[list[str]] = [[]]
    open_fence = ""
    for line in lines:
        open_fence, is_fenced = _fence_after(open_fence, line)
        if line.strip() or is_fenced:
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    paragraph_texts = ("\n".join(part_lines).strip("\n") for part_lines in paragraphs)
    return [text for text in paragraph_texts if text.strip()]


def _packed(parts: Iterable[str], glue: str) -> list[str]:
    """Join neighbours while they fit; split a part that is too long by itself."""
    packed_texts: list[str] = []
    for part in parts:
        if packed_texts and len(packed_texts[-1]) + len(glue) + len(part) <= _MOST_CHARACTERS:
            packed_texts[-1] += glue + part
        elif len(part) <= _MOST_CHARACTERS:
            packed_texts.append(part)
        else:
            packed_texts.extend(_split(part, glue))
    return packed_texts


def _split(part: str, glue: str) -> list[str]:
    """Split a paragraph at its lines, a line at its spaces, a word anywhere."""
    if glue == "\n\n":
        return _packed(part.split("\n"), "\n")
    if glue == "\n":
        return _packed(part.split(), " ")
    return [
        part[start : start + _MOST_CHARACTERS] for start in range(0, len(part), _MOST_CHARACTERS)
    ]
