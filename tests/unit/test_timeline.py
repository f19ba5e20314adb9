"""Reading in order of time."""

from typing import Any

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from day1.services.rows.timeline import timeline


class Rows:
    """A reading that has the given facts, whatever is asked."""

    def __init__(self, *rows):
        self.rows = list(rows)

    def find(self, kind, _query):
        return self.rows if kind is FACT else []


def test_what_happened_at_the_first_instant_of_1970_stands_there():
    early = fact_row("fact_a", NewFact("a", happened_at=0), Origin(), 5_000_000)
    late = fact_row("fact_b", NewFact("b"), Origin(), 1_000_000)
    rows: Any = Rows(early, late)
    moments = timeline(rows, Query())
    assert [(m.row["id"], m.at) for m in moments] == [("fact_a", 0), ("fact_b", 1_000_000)]
