"""Reading in order of time."""

from typing import Any

import pytest

from day1.errors import InvalidRequest
from day1.model.rows.change import Query
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from day1.services.rows.timeline import Window, timeline


class Rows:
    """A reading that has the given facts, whatever is asked."""

    def __init__(self, *rows):
        self.rows = list(rows)

    def find(self, kind, _query, _columns):
        return self.rows if kind is FACT else []


def test_what_happened_at_the_first_instant_of_1970_stands_there():
    early = fact_row("fact_a", NewFact("a", happened_at=0), Origin(), 5_000_000)
    late = fact_row("fact_b", NewFact("b"), Origin(), 1_000_000)
    rows: Any = Rows(early, late)
    moments = timeline(rows, Query())
    assert [(m.row["id"], m.at) for m in moments] == [("fact_a", 0), ("fact_b", 1_000_000)]


@pytest.mark.parametrize(
    ("before", "true_at", "end"),
    [(None, None, None), (5, None, 5), (None, 3, 3), (5, 3, 3), (2, 3, 2)],
)
def test_a_window_ends_at_its_end_or_at_the_instant_as_of_which_things_were_true(
    before: int | None, true_at: int | None, end: int | None
) -> None:
    query = Window({}, before=before, true_at=true_at).query()
    assert (query.before, query.present_at) == (end, true_at)


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    assert Window({}, after=5, before=5).query().after == 5
    with pytest.raises(InvalidRequest, match="swap them"):
        Window({}, after=6, before=5).query()
