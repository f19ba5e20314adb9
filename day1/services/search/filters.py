"""Which rows a search wants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, Cell, Kind

SCOPES = ("task_id", "agent_id")
"""The columns by which a view itself is narrowed, so that a question about the few rows of a task
does not cost what all rows of the branch would."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of one kind are wanted."""

    kind: Kind
    inactive: bool = False
    """Also facts that are superseded, archived or invalidated."""
    equal: Mapping[str, Cell] = field(default_factory=dict)
    """Facet of the kind -> value."""
    after: int | None = None
    before: int | None = None
    scope: Mapping[str, Cell] = field(default_factory=dict)
    """Column of `SCOPES` -> value: what a view is held of."""

    def query(self, among: Mapping[str, Sequence[Cell]]) -> Query:
        """Ask SQL for what is wanted."""
        held = self.held
        return replace(
            held,
            equal={**held.equal, **self.equal},
            among=among,
            after=self.after,
            before=self.before,
        )

    @property
    def held(self) -> Query:
        """The rows that a view for this filter holds."""
        active = active_rows(self.kind, inactive=self.inactive)
        return replace(active, equal={**active.equal, **self.scope})


def active_rows(kind: Kind, *, inactive: bool) -> Query:
    """The rows that search finds unless asked for more."""
    if inactive or kind is not FACT:
        return Query()
    return Query(equal={"status": "active"}, without={"verification": ("invalidated",)})
