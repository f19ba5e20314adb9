"""The notes of basic-memory: Markdown with observations and relations in its lists.

`- [category] text #tag (context)` is an observation, `- type [[Target]]` a relation; `[[Target]]`
in prose is a link. A type of several words stands in quotes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.markdown import Headings, Section, is_note, sections, unfenced
from day1.adapters.sources.tools.tool import ToolSource, instant_of
from day1.foreign_files import files_below
from day1.ports.source import PASSAGE, Draft, Machine

_OBSERVATION = re.compile(r"\s*[-*]\s+\[(?P<category>[^\[\]]*)\](?!\()\s+(?P<text>\S.*)$")
_NO_CATEGORY = re.compile(r"[ xX/-]?|\d{1,2}(?::\d\d){1,2}")
"""Text in brackets that is not a category: a check box, or a time of day."""
_TAGGED = re.compile(r"\s*[-*]\s+(?P<text>(?!\[)\S.*)$")
_TAG = re.compile(r"(?:^|\s)#\w")
_RELATION = re.compile(
    r"\s*[-*]\s+(?:\"(?P<quoted>[^\"]+)\"\s+|(?P<type>[^\s\[\]\"]+)\s+)?"
    r"\[\[(?P<target>[^\[\]]+)\]\]\s*+(?:(?P<context>\(.*\))\s*+)?$"
)
_LINK = re.compile(r"\[\[([^\[\]]+)\]\]")


class BasicMemory(ToolSource):
    """`ToolSource` over folders of basic-memory notes."""

    name = "basic-memory"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        folder = machine.place("BASIC_MEMORY_HOME", "basic-memory")
        return [folder] if folder.is_dir() else []

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        top_folder = path.resolve()
        if top_folder.is_file():
            yield self._note(top_folder, top_folder.name)
            return
        for file in files_below(top_folder, is_note, self.leave_out):
            yield self._note(file, file.relative_to(top_folder).as_posix())

    def _note(self, file: Path, place: str) -> list[Draft]:
        front_matter = FrontMatter(self.text(file))
        title = front_matter.joined("title") or file.stem
        note = _Note(self, front_matter.first("permalink") or place, title)
        note.at = instant_of(front_matter.first("created") or front_matter.first("date"))
        for note_type in front_matter.all("type"):
            note.relate("is_a", note_type)
        for section in sections(front_matter.body, front_matter.length):
            note.take(section)
        if not note.drafts:
            self.leave_out("empty notes", file)
        self.leave_out_lines(front_matter.unread, file)
        self.leave_out_headings(note.headings.left(title if note.drafts else ""), file)
        if note.beside:
            self.leave_out("aliases and contexts of relations", f"{file}: {note.beside}")
        return note.drafts


class _Note:
    """The drafts of one note."""

    def __init__(self, source: BasicMemory, key: str, title: str) -> None:
        self.drafts: list[Draft] = []
        self.headings = Headings()
        self.beside = 0
        """Number of relations with an alias or a context, which relations of day1 cannot have."""
        self.at: int | None = None
        self._source, self._key, self._title = source, key, title

    def take(self, section: Section) -> None:
        """Take the observations and relations out of a section; the rest is prose."""
        prose: list[str] = []
        for line, is_outside_fence in unfenced(section.lines):
            if not is_outside_fence or not self._take_line(line):
                prose.append(line)
        pieces = Section(section.headings, lines=prose).pieces()
        self.headings.take(section, section.places if pieces else ())
        for piece_number, piece in enumerate(pieces):
            for target in _LINK.findall(piece):
                self.relate("links_to", target)
            heading = " > ".join(dict.fromkeys((self._title, *section.headings)))
            self._say((*section.headings, str(piece_number)), f"{heading}: {piece}", PASSAGE)

    def _take_line(self, line: str) -> bool:
        if relation_match := _RELATION.match(line):
            self.relate(
                relation_match["quoted"] or relation_match["type"] or "relates_to",
                relation_match["target"],
            )
            self.beside += "|" in relation_match["target"] or bool(relation_match["context"])
            return True
        observation_match, category = _OBSERVATION.match(line), ""
        if observation_match:
            category = observation_match["category"].strip()
        if not category or _NO_CATEGORY.fullmatch(category):
            observation_match, category = _TAGGED.match(line), "Note"
        if not observation_match or (
            category == "Note" and not _TAG.search(observation_match["text"])
        ):
            return False
        text = observation_match["text"].strip()
        self._say(("observation", category, text), f"{self._title}: {text}", category)
        return True

    def relate(self, relation_type: str, target: str) -> None:
        """Relate the note to another one, which need not be there yet."""
        target = target.partition("|")[0].strip()
        triple = (self._title, relation_type.strip(), target)
        self.drafts.append(self._source.relation(triple, self.at))

    def _say(self, key: tuple[str, ...], text: str, category: str) -> None:
        self.drafts.append(self._source.fact((self._key, *key), text, category, self.at))
