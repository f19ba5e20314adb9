"""What memory is imported from: another product's files, or a git history.

A source knows neither the store nor what was imported before. It derives ids
(`model.values.ids.derived_id`), so that the same item has the same id in every run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact from a source."""

    id: str
    text: str
    category: str | None = None
    happened_at: int | None = None
    """Microseconds UTC at which it was true there; never a file's time of change."""
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


class Source(Protocol):
    """The items of one source: commits, files or lines."""

    @property
    def name(self) -> str:
        """The kind of source, such as `git`: part of each derived id."""

    def total(self) -> int | None:
        """The number of items; None if only reading them tells."""

    def items(self) -> Iterator[Sequence[Draft]]:
        """The drafts of each item; none for an item that is left out.

        Raises:
            NotFound: there is nothing at that path.
            InvalidRequest: what is there is another kind of source, or empty.
            ImportBroken: a line of a file cannot be read; the items before it were returned.
        """
