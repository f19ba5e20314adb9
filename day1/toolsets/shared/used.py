"""Notes which facts an answer shows to an agent: what is used has a place in the prime."""

from collections.abc import Iterable

from day1.call.context import Context
from day1.model.rows.kind import FACT, kind_of


def note_shown(ctx: Context, row_ids: Iterable[object], branch_id: str) -> None:
    """Note the facts among the rows that an answer shows together, best first.

    A list, a timeline or a prime shows what nobody asked for by its words: those are not noted.
    """
    facts = [str(row_id) for row_id in row_ids if kind_of(str(row_id)) is FACT]
    ctx.search.uses.shown(facts, ctx.clock(), branch_id)
