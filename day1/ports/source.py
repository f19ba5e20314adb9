"""Sources of imported memory: another product's files, or a git history.

A source knows neither the store nor what was imported before. It derives ids
(`model.values.ids.derived_id`), so that the same item has the same id in every run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

PASSAGE: Final = "note"
"""The category of facts that are passages of a document, not notes of a person or an agent."""


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact from a source."""

    id: str
    text: str
    category: str | None = None
    happened_at: int | None = None
    """Microseconds UTC at which the fact was true at its source; never a file's time of change."""
    superseded_by: str | None = None
    """The id of the draft that replaces this one."""
    space: str | None = None


@dataclass(frozen=True, slots=True)
class ObservationDraft:
    """An observation from a source."""

    id: str
    observation_type: str
    summary: str
    tool_name: str | None = None
    raw_input: str | None = None
    happened_at: int | None = None


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation from a source."""

    id: str
    source_entity: str
    relation_type: str
    target_entity: str
    happened_at: int | None = None


Draft = FactDraft | ObservationDraft | RelationDraft

EventName = Literal["add", "change", "remove"]


@dataclass(frozen=True, slots=True)
class EventDraft:
    """Something that happened to a memory at its source: a commit of its own here."""

    id: str
    """The id of the edit that records the event; a later run recognises the event by it."""
    name: EventName
    fact: FactDraft
    """The fact after the event; of a removed fact only the id and the time count."""
    said: str
    """The event's name at its source."""
    by: str = ""
    """The author of the event at its source."""


Item = Draft | EventDraft


class Source(Protocol):
    """The items of one source: commits, files or lines."""

    @property
    def name(self) -> str:
        """The kind of source, such as `git`: part of each derived id."""

    def total(self) -> int | None:
        """Return the number of items; None if only reading them tells."""

    def items(self) -> Iterator[Sequence[Item]]:
        """Yield the drafts of each item; none for an item that is left out.

        Raises:
            NotFound: there is nothing at that path.
            InvalidRequest: what is there is another kind of source, or empty.
            ImportBroken: a line of a file cannot be read; the items before it were returned.
        """

    @property
    def left_out(self) -> Mapping[str, Sequence[str]]:
        """The places that the last reading of `items` left out, by reason."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The places where tools keep their memory, and which part to import."""

    home: Path
    environment: Mapping[str, str]
    projects: tuple[Path, ...] = ()
    """The folders whose memory to import, such as a repository and its worktree; () for all."""
    sensitive: bool = False
    """Whether to import what a tool calls sensitive, too."""
    stdin: bytes = b""
    """The text that the path `-` stands for."""

    def place(self, variable: str, *default: str) -> Path:
        """Return the folder that an environment variable names, else one below the home folder."""
        folder = self.environment.get(variable)
        return Path(folder).expanduser() if folder else self.home.joinpath(*default)


class ToolMemory(Source, Protocol):
    """Another tool's memory on this machine; it is surveyed before it is imported."""

    @property
    def paths(self) -> Sequence[Path]:
        """The files and folders that are read."""
