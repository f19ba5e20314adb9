"""The request and the answer of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from day1.model.rows.change import CommitId, Pending
from day1.model.rows.kind import Cell, Kind, Row
from day1.model.search.passages import FoundText
from day1.model.search.ranking import Mode

if TYPE_CHECKING:
    from day1.model.values.parts import Part
    from day1.ports.index import Vector


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The request of a search. Instants are in microseconds UTC; both ends are included."""

    query: str
    mode: Mode = "hybrid"
    kinds: tuple[str, ...] = ("facts",)
    """Tables to search: facts, observations, messages."""
    category: str | None = None
    after: int | None = None
    before: int | None = None
    limit: int = 10
    include_inactive: bool = False
    """Whether superseded, archived, invalidated and no longer valid facts are found too."""
    as_of_event: int | None = None
    """Find only what was true at this instant, even if superseded since."""
    wait: bool = False
    """Whether to wait until all texts of the branch are indexed and embedded."""
    equal: Mapping[str, Cell] = field(default_factory=dict)
    """Values of further columns (facets, `SCOPES`): conversation_id, role, task_id."""
    among: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """By facet, values of which a row must have one."""
    spaces: tuple[str | None, ...] = ()
    """The spaces whose rows may be found (None: rows without a space); empty: all spaces.

    Rows of all of them are ranked in one list. Messages have no space column: `messages` says
    which of them may be found.
    """
    messages: frozenset[str] | None = None
    """With `spaces`, the ids of the messages that may be found beside the rows of these spaces
    (`services.rows.spaces.newest_messages`), whatever the other conditions; None: no messages."""
    only: frozenset[str] | None = None
    """Ids of the rows that may be found; None: any."""
    vector: Vector | None = None
    """A vector to use for the query in place of its own: of length 1, by the same embedder."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row with its scores, which are from 0 to 1."""

    row: Row
    kind: Kind
    score: float
    cosine: float | None
    keyword: float
    text: FoundText
    """The whole text of the row."""
    part: Part | None = None
    """The place of the row in a longer text that is stored in parts."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a search, and the state that it was read from."""

    hits: list[Hit]
    mode_used: Mode
    pending_vectors: int
    """The number of texts that have no vector yet, so that only words find them."""
    notes: list[str]
    commit: CommitId
    pending: Pending
