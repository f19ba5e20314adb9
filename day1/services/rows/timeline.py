"""Memories in the order of time.

`read_timeline` is one reading of a branch; `timeline` works in an open reading.
"""

from dataclasses import dataclass, replace
from typing import Final

from day1.errors import InvalidRequest
from day1.model.rows.change import Query, ReadState, Ref, place_in_time
from day1.model.rows.kind import FACT, OBSERVATION, Kind, Row, when
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import empty_space

_COLUMNS: Final = ("id", "agent_id", "session_id", "task_id", "happened_at", "created_at")
"""The columns that timelines show, besides the text: reading all takes three times as long."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One row on a timeline."""

    kind: Kind
    row: Row
    """The row, with the columns that timelines show."""
    at: int
    """When it happened or, if that is unknown, when it was learned; microseconds UTC."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which memories a timeline shows: their columns, the time range and the number."""

    equal: Row
    """Columns and values that the rows must have, such as session or space."""
    after: int | None = None
    before: int | None = None
    true_at: int | None = None
    """Only memories that were true at this instant, or had happened by then; None: all."""
    limit: int = 50

    def query(self) -> Query:
        """Build the query for the rows of the window.

        Raises:
            InvalidRequest: the window ends before it begins.
        """
        if self.after is not None and self.before is not None and self.after > self.before:
            raise InvalidRequest("`after` is later than `before`: swap them.")
        end_times = [end for end in (self.before, self.true_at) if end is not None]
        return Query(
            equal=self.equal,
            after=self.after,
            before=min(end_times, default=None),
            present_at=self.true_at,
            limit=self.limit,
        )


@dataclass(frozen=True, slots=True)
class TimelineRead:
    """The moments of a window, the state they were read from, and notes."""

    moments: list[Moment]
    read: ReadState
    notes: list[str]


def read_timeline(repo: Repository, ref: Ref, window: Window) -> TimelineRead:
    """Read the newest facts and observations of a window, in ascending order of time.

    Raises:
        InvalidRequest: the window ends before it begins.
    """
    query = window.query()
    with repo.store.reading(repo.shown(ref)) as reading:
        moments = timeline(reading, query)
        notes = empty_space(reading, window.equal, moments)
        return TimelineRead(moments, reading.state, notes)


def timeline(reading: Reading, window: Query) -> list[Moment]:
    """Read the newest facts and observations of a window from an open reading, oldest first.

    Args:
        reading: a reading of the state.
        window: the conditions on rows, and at most how many (default 50).
    """
    limit = 50 if window.limit is None else window.limit
    newest_query = replace(window, descending=True, limit=limit)
    moments = [
        Moment(kind, row, when(row))
        for kind in (FACT, OBSERVATION)
        for row in reading.find(kind, newest_query, (*_COLUMNS, str(kind.text)))
    ]
    moments.sort(key=lambda moment: place_in_time(moment.row))
    return moments[-limit:]
