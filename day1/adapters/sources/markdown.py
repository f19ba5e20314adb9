"""Markdown notes as memory: agent instruction files, memory banks, any folder of notes.

Each section becomes a fact, whose text is the headings above it and its body. Headings are ATX
(`##`) and setext (underlined); a line in a code fence is none. Front matter is left out.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import files_below
from day1.errors import InvalidRequest, NotFound
from day1.model.values.ids import derived_id
from day1.ports.source import PASSAGE, Draft, FactDraft, Source

log = logging.getLogger(__name__)

_MOST_CHARACTERS = 2_000
"""Of one note's body: about 500 tokens. A longer section is several notes."""

_SUFFIXES = frozenset((".md", ".markdown", ".mdc", ".mdx"))
_NAMES = frozenset((".cursorrules", ".windsurfrules", ".clinerules"))
_MOST_HEADING_LINES = 4

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_FRONT = re.compile(
    r"\A(---|\+\+\+)[ \t]*\n[^\n]*[:=][^\n]*\n(?:.*?\n)??(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
"""Front matter has a key in its first line; a note may as well open with a rule of dashes."""
_OTHER_BLOCK = re.compile(r" {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|\|)")
"""What opens a quote, a list or a table: its lines are no setext heading."""
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_POINT = re.compile(r" ?(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<text>\S.*)")
_KEY = re.compile(r"(?P<indent>[ \t]*)(?P<key>[\w-]+)[ \t]*[:=](?:[ \t]+(?P<value>.*))?$")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(?P<value>.+)$")


@dataclass(slots=True)
class Section:
    """A heading with the text below it, up to the next heading of any level."""

    headings: tuple[str, ...]
    """From the outermost to its own; empty for the text before the first heading."""
    lines: list[str] = field(default_factory=list)

    def pieces(self) -> list[str]:
        """The body in pieces of at most 2,000 characters, split between paragraphs if possible."""
        return [piece for piece in _packed(_paragraphs(self.lines), "\n\n") if piece.strip()]

    def points(self) -> list[str]:
        """The items of the body's outermost lists, and the paragraphs between them."""
        points: list[list[str]] = [[]]
        fence, ended = "", False
        for line in self.lines:
            fence, fenced = _fence_after(fence, line)
            point = None if fenced else _POINT.match(line)
            if point is not None:
                points.append([point["text"]])
            elif line.strip() or fenced:
                if ended and not fenced and not line.startswith(("  ", "\t")):
                    points.append([])
                points[-1].append(line)
            ended = not line.strip() and not fenced
        joined = ("\n".join(lines).strip() for lines in points)
        return [point for point in joined if point]


class MarkdownSource(Source):
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
        self._root = root.resolve()
        self._files = list({file: None for path in paths for file in _files(path)})
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
        for file in self._files:
            try:
                text = file.read_text(encoding="utf-8-sig")
            except (UnicodeDecodeError, OSError) as exc:
                raise InvalidRequest(
                    f"{file} cannot be read as UTF-8 text. The notes of the files before it are "
                    "stored: leave it out or mend it, and import again.",
                    path=str(file),
                ) from exc
            yield self._notes(file, text)

    def _notes(self, file: Path, text: str) -> list[Draft]:
        key = (file.relative_to(self._root) if file.is_relative_to(self._root) else file).as_posix()
        notes: list[Draft] = []
        ordinals: dict[tuple[str, ...], int] = {}
        for section in sections(text):
            for piece in section.pieces():
                ordinal = ordinals.get(section.headings, 0)
                ordinals[section.headings] = ordinal + 1
                where = (self.name, key, *section.headings, str(ordinal))
                title = " > ".join(section.headings) or file.stem
                fact_id = derived_id("fact", None, *where)
                notes.append(FactDraft(fact_id, f"{title}: {piece}", category=PASSAGE))
        return notes


def _files(path: Path) -> Iterator[Path]:
    """A file itself, whatever its name; of a folder the notes in it, in order of their names."""
    if path.is_file():
        yield path.resolve()
        return
    if not path.is_dir():
        raise NotFound(f"There is no {path}.", path=str(path))

    def warn(file: Path) -> None:
        log.warning("%s leads out of %s: it was left out; import it by name", file, path)

    yield from files_below(path, is_note, warn)


def is_note(file: Path) -> bool:
    """Whether a file of a folder is a note, by its name."""
    return file.suffix.lower() in _SUFFIXES or file.name in _NAMES


def front_matter(text: str) -> dict[str, list[str]]:
    """The keys of a note's front matter, with their values as far as they are plain.

    It is read leniently: a key below another one is `outer.inner`, a list has several values,
    and what is written in any other way of YAML's is left as it is.
    """
    found = _FRONT.match(text)
    values: dict[str, list[str]] = {}
    outer, last = "", ""
    for line in found[0].splitlines()[1:-1] if found else ():
        if last and (entry := _ENTRY.match(line)):
            values[last].append(_unquoted(entry["value"]))
        elif key := _KEY.match(line):
            last = f"{outer}.{key['key']}" if key["indent"] and outer else key["key"]
            outer = outer if key["indent"] else key["key"]
            values[last] = _listed(key["value"] or "")
    return values


def without_front_matter(text: str) -> str:
    """A note without its front matter."""
    return _FRONT.sub("", text, count=1)


def unfenced(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Lines, each with whether it is outside of a code fence."""
    fence = ""
    for line in lines:
        fence, fenced = _fence_after(fence, line)
        yield line, not fenced


def _listed(value: str) -> list[str]:
    """The values of `[a, b]`, or the one value; none for nothing."""
    value = value.strip()
    parts = value[1:-1].split(",") if value[:1] == "[" and value[-1:] == "]" else [value]
    return [_unquoted(part) for part in parts if part.strip()]


def _unquoted(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def sections(text: str) -> Iterator[Section]:
    """Split a Markdown text at its headings, without its front matter."""
    above: list[tuple[int, str]] = []
    current = Section(())
    lines = _FRONT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"), count=1).split("\n")
    fence = ""
    paragraph: list[str] | None = []  # what an underline would make a heading; None in a list
    for line in lines:
        fence, fenced = _fence_after(fence, line)
        heading = None if fenced else _heading(line, paragraph or ())
        if heading is None:
            current.lines.append(line)
            paragraph = _paragraph_after(paragraph, line) if not fenced else []
            continue
        if paragraph and _UNDERLINE.match(line):
            del current.lines[-len(paragraph) :]
        yield current
        above = [*((level, title) for level, title in above if level < heading[0]), heading]
        current, paragraph = Section(tuple(title for _, title in above if title)), []
    yield current


def _paragraph_after(paragraph: list[str] | None, line: str) -> list[str] | None:
    """The plain paragraph that goes on after a line; None inside another block of text."""
    if not line.strip() or _RULE.match(line):
        return []
    indented = not paragraph and line.startswith(("    ", "\t"))
    if paragraph is None or indented or _OTHER_BLOCK.match(line):
        return None
    if len(paragraph) == _MOST_HEADING_LINES:  # prose, whatever comes below it
        return None
    return [*paragraph, line]


def _fence_after(fence: str, line: str) -> tuple[str, bool]:
    """The open fence after a line ("" for none), and whether the line belongs to a fence."""
    found = _FENCE.match(line)
    if not fence:
        # A fence of backticks has none behind it; else it is code within a line.
        opens = found is not None and not (found[1][0] == "`" and "`" in found[2])
        return (found[1], True) if found and opens else ("", False)
    closes = found and found[1].startswith(fence) and not found[2].strip()
    return ("" if closes else fence), True


def _heading(line: str, paragraph: Sequence[str]) -> tuple[int, str] | None:
    """Level and title if `line` is a heading, or the underline of the `paragraph` before it."""
    if atx := _ATX.match(line):
        title = atx[2].strip()
        open_title = title.rstrip("#")  # "## Title ##" is closed, "## C#" is not
        closed = not open_title or open_title[-1] in " \t"
        return len(atx[1]), open_title.rstrip() if closed else title
    if paragraph and (underline := _UNDERLINE.match(line)):
        return (1 if underline[1][0] == "=" else 2), " ".join(part.strip() for part in paragraph)
    return None


def _paragraphs(lines: Iterable[str]) -> list[str]:
    """Join the lines between blank ones; a blank line in a fence does not end a paragraph."""
    paragraphs: list[list[str]] = [[]]
    fence = ""
    for line in lines:
        fence, fenced = _fence_after(fence, line)
        if line.strip() or fenced:
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    joined = ("\n".join(part).strip("\n") for part in paragraphs)
    return [part for part in joined if part.strip()]


def _packed(parts: Iterable[str], glue: str) -> list[str]:
    """Join neighbours while they fit; split a part that is too long by itself."""
    packed: list[str] = []
    for part in parts:
        if packed and len(packed[-1]) + len(glue) + len(part) <= _MOST_CHARACTERS:
            packed[-1] += glue + part
        elif len(part) <= _MOST_CHARACTERS:
            packed.append(part)
        else:
            packed.extend(_split(part, glue))
    return packed


def _split(part: str, glue: str) -> list[str]:
    """Split a paragraph at its lines, a line at its spaces, a word anywhere."""
    if glue == "\n\n":
        return _packed(part.split("\n"), "\n")
    if glue == "\n":
        return _packed(part.split(), " ")
    return [part[at : at + _MOST_CHARACTERS] for at in range(0, len(part), _MOST_CHARACTERS)]
