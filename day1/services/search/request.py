"""What is asked of a search, and what it answers."""

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
    """What is asked. Units: instants in microseconds UTC, both ends included."""

    query: str
    mode: Mode = "hybrid"
    kinds: tuple[str, ...] = ("facts",)
    """Tables whose rows are wanted: facts, observations, messages."""
    category: str | None = None
    after: int | None = None
    before: int | None = None
    limit: int = 10
    min_score: float = 0.0
    include_inactive: bool = False
    """Also facts that are superseded, archived or invalidated, or whose valid time is over."""
    as_of_event: int | None = None
    """Only what was true at this instant, superseded or not since then."""
    wait: bool = False
    """Wait until every text of the branch has its words and vectors."""
    equal: Mapping[str, Cell] = field(default_factory=dict)
    """Further columns (facets, `SCOPES`) and their values: conversation_id, role, task_id."""
    among: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """Facets and the values of which they have one."""
    spaces: tuple[str | None, ...] = ()
    """The spaces whose rows may be found (None: the rows that have none); empty: all.

    Rows of all of them are ranked as one list. Messages have no space: name the ids of those that
    may be found in `only` (`services.rows.spaces.newest_messages`).
    """
    only: frozenset[str] | None = None
    """Ids of the rows that may be found; None: any."""
    vector: Vector | None = None
    """Of length 1, by the embedder: looked for in place of the query's own."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row. `score`, `cosine` and `keyword` are in 0..1."""

    row: Row
    kind: Kind
    score: float
    cosine: float | None
    keyword: float
    text: FoundText
    """The whole text of the row."""
    part: Part | None = None
    """The place of the row in a text that is kept in parts."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search answers, and what it was read from."""

    hits: list[Hit]
    mode_used: Mode
    pending_vectors: int
    """Texts that have no vector yet, and so were found by words only."""
    notes: list[str]
    commit: CommitId
    pending: Pending
