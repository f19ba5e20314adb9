"""The role of a place that memory is imported from: another product's files, or a git history.

A source reads and names; it knows neither the store nor what was imported before. Its ids are
derived (`model.values.ids.derived_id`), so that the same item has the same id in every run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact as a source has it."""

    id: str
    text: str
    category: str | None = None
    happened_at: int | None = None
    """Microseconds UTC at which it was true there; never a file's time of change."""


@dataclass(frozen=True, slots=True)
class ObservationDraft:
    """An observation as a source has it."""

    id: str
    observation_type: str
    summary: str
    tool_name: str | None = None
    raw_input: str | None = None
    happened_at: int | None = None


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation as a source has it."""

    id: str
    source_entity: str
    relation_type: str
    target_entity: str
    happened_at: int | None = None


Draft = FactDraft | ObservationDraft | RelationDraft


class Source(Protocol):
    """Items of one foreign place: commits, files, lines."""

    @property
    def name(self) -> str:
        """What kind of place it is, such as `git`: part of each derived id."""

    def total(self) -> int | None:
        """How many items there are, None if only reading them tells."""

    def items(self) -> Iterator[Sequence[Draft]]:
        """Every item as the drafts it becomes, none for an item that is left out.

        Raises:
            NotFound: there is nothing at that path.
            InvalidRequest: what is there is not such a source, or an empty one.
            ImportBroken: a line of a file cannot be read; the items before it were given.
        """
