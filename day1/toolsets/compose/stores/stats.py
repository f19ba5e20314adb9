"""Counts of what a wallet has stored."""

from collections import Counter
from typing import Final

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.call.operation import Effect, Operation
from day1.model.rows.change import Ref
from day1.services.access.calls import branch_of
from day1.services.items.counting import count_items
from day1.toolsets.compose.fields import ComposeRequest, Name, Whose, milliseconds
from day1.toolsets.compose.scope import owner_of
from day1.toolsets.compose.shown import source_of_category
from day1.toolsets.shared.answers import read_of

_DIGITS: Final = 6


class MemoryStatsRequest(ComposeRequest):
    """The arguments of `stats_get` (S2-040).

    Attributes:
        agentWallet: The agent; its users and their devices are counted with it.
    """

    agentWallet: Name


class MemoryStatsResponse(Response):
    """Counts of a wallet's memories; times are 0 without vectors (S2-106)."""

    totalVectors: int
    totalTranscripts: int
    avgDecayScore: float
    oldestVector: int
    newestVector: int
    byType: dict[str, int]
    read: Read


def stats_get(ctx: Context, request: MemoryStatsRequest) -> MemoryStatsResponse:
    """Count what an agent, its users and their devices have stored."""
    owner, branch = owner_of(ctx, Whose(agentWallet=request.agentWallet)), branch_of(ctx)
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        item_counts = count_items(ctx.search, reading, owner.space, ctx.clock())
        read_state = read_of(reading, branch.name)
    count_by_source: Counter[str] = Counter()
    for category, fact_count in item_counts.by_category.items():
        count_by_source[source_of_category(category)] += fact_count
    if item_counts.messages:
        count_by_source["session"] += item_counts.messages
    return MemoryStatsResponse(
        totalVectors=item_counts.vectors,
        totalTranscripts=item_counts.transcripts,
        avgDecayScore=round(item_counts.decay, _DIGITS),
        oldestVector=milliseconds(item_counts.oldest),
        newestVector=milliseconds(item_counts.newest),
        byType=dict(sorted(count_by_source.items())),
        read=read_state,
    )


OPERATIONS: Final = (Operation("stats_get", stats_get, Effect.READ),)
