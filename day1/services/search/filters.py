"""Which rows a search wants."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, Cell, Kind, Row, kind_of
from day1.model.values.space import EVERY
from day1.ports.reading import Reading

SCOPES = ("task_id", "agent_id", "space")
"""The columns by which a view itself is narrowed, so that a question about the few rows of a task
does not cost what all rows of the branch would."""


FilterKey = tuple[object, ...]


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
    among: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """Facet of the kind -> values, of which one is wanted."""
    superseded: bool = False
    """Also superseded facts, which were true once."""
    alive_at: int | None = None
    """Only rows that had not expired by then."""
    present_at: int | None = None
    """Only rows whose valid time had not ended by then."""
    only: frozenset[str] | None = None
    """Only rows of these ids."""

    @property
    def key(self) -> FilterKey:
        """Tells the filters of one state apart whose views hold different rows."""
        return (self.kind.table, self.inactive, self.superseded, *sorted(self.scope.items()))

    @property
    def few(self) -> bool:
        """Whether a view of its rows is held, however many the branch has."""
        return self.only is not None or any(cell is not None for cell in self.scope.values())

    def is_over(self, expires_at: int | None, ended_at: int | None) -> bool:
        """Whether a row with these ends is left out."""
        alive, present = self.alive_at, self.present_at
        return (expires_at is not None and alive is not None and expires_at <= alive) or (
            ended_at is not None and present is not None and ended_at <= present
        )

    def query(self, among: Mapping[str, Sequence[Cell]]) -> Query:
        """Ask SQL for what is wanted."""
        held = self.held
        return replace(
            held,
            equal={**held.equal, **self.equal},
            among={**self.among, **among},
            after=self.after,
            before=self.before,
            alive_at=self.alive_at,
            present_at=self.present_at,
        )

    @property
    def held(self) -> Query:
        """The rows that a view for this filter holds."""
        active = active_rows(self.kind, inactive=self.inactive, superseded=self.superseded)
        return replace(active, equal={**active.equal, **self.scope})


def active_rows(kind: Kind, *, inactive: bool, superseded: bool = False) -> Query:
    """The rows that search finds unless asked for more; no secret ones, whatever is asked."""
    if inactive or kind is not FACT:
        return Query(public=True)
    without: dict[str, Sequence[Cell]] = {"verification": ("invalidated",)}
    if superseded:
        return Query(without={**without, "status": ("archived",)}, public=True)
    return Query(equal={"status": "active"}, without=without, public=True)


def shown_rows(
    reading: Reading, filters: Sequence[Filter], row_ids: Iterable[str]
) -> dict[str, Row]:
    """Read found rows as they are shown, by id; without those that were made of hidden rows.

    Filters of one kind differ by their space alone, so their rows are read together.
    """
    ids, rows = list(row_ids), dict[str, Row]()
    spaces: dict[Kind, set[Cell]] = {}
    for wanted in filters:
        spaces.setdefault(wanted.kind, set()).add(wanted.scope.get("space", EVERY))
    alive_at = next((wanted.alive_at for wanted in filters), None)
    for kind, seen in spaces.items():
        mine = [row_id for row_id in ids if kind_of(row_id) is kind]
        query = Query(among={"id": mine}, alive_at=alive_at, public=True)
        tuples = reading.scan(kind, kind.columns, query) if mine else ()
        shown = (row for row in map(kind.row, tuples) if row["content_hash"] != REDACTED_HASH)
        rows |= {str(row["id"]): row for row in shown if seen & {EVERY, row.get("space")}}
    return rows
