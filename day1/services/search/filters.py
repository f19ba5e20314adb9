"""Filters: which rows a search may find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, Cell, Kind

SCOPES = ("task_id", "agent_id", "space")
"""Columns that restrict which rows a view holds, so that a query about the few rows of a task
does not read all rows of the branch."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The conditions on rows of one kind."""

    kind: Kind
    inactive: bool = False
    """Whether superseded, archived and invalidated facts count too."""
    equal: Mapping[str, Cell] = field(default_factory=dict)
    """Values that facets of the kind must have."""
    after: int | None = None
    before: int | None = None
    scope: Mapping[str, Cell] = field(default_factory=dict)
    """Values of `SCOPES` columns; each scope has a view of its own."""
    among: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """By facet, values of which a row must have one."""
    superseded: bool = False
    """Whether superseded facts count too, since they were true once."""
    alive_at: int | None = None
    """Only rows that had not expired at this instant."""
    present_at: int | None = None
    """Only rows whose valid time had not ended at this instant."""
    only: frozenset[str] | None = None
    """Ids of the rows that may be found; None: any."""

    def is_over(self, expires_at: int | None, ended_at: int | None) -> bool:
        """Whether a row has expired or ended, given its two end times."""
        alive_at, present_at = self.alive_at, self.present_at
        return (expires_at is not None and alive_at is not None and expires_at <= alive_at) or (
            ended_at is not None and present_at is not None and ended_at <= present_at
        )

    def query(self, among: Mapping[str, Sequence[Cell]]) -> Query:
        """Build the SQL query for the filter, with further conditions `among`."""
        view_query = self.view_query
        return replace(
            view_query,
            equal={**view_query.equal, **self.equal},
            among={**self.among, **among},
            after=self.after,
            before=self.before,
            alive_at=self.alive_at,
            present_at=self.present_at,
        )

    @property
    def view_query(self) -> Query:
        """The query for the rows that a view for this filter contains."""
        active_query = active_rows(self.kind, inactive=self.inactive, superseded=self.superseded)
        return replace(active_query, equal={**active_query.equal, **self.scope})


def active_rows(kind: Kind, *, inactive: bool, superseded: bool = False) -> Query:
    """Build the query for rows that search may find: active or all, never secret ones."""
    if inactive or kind is not FACT:
        return Query(public=True)
    excluded_values: dict[str, Sequence[Cell]] = {"verification": ("invalidated",)}
    if superseded:
        return Query(without={**excluded_values, "status": ("archived",)}, public=True)
    return Query(equal={"status": "active"}, without=excluded_values, public=True)
