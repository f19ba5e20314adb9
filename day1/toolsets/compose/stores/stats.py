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
        counts = count_items(ctx.search, reading, owner.space, ctx.clock())
        state = read_of(reading, branch.name)
    by_type: Counter[str] = Counter()
    for category, number in counts.by_category.items():
        by_type[source_of_category(category)] += number
    if counts.messages:
        by_type["session"] += counts.messages
    return MemoryStatsResponse(
        totalVectors=counts.vectors,
        totalTranscripts=counts.transcripts,
        avgDecayScore=round(counts.decay, _DIGITS),
        oldestVector=milliseconds(counts.oldest),
        newestVector=milliseconds(counts.newest),
        byType=dict(sorted(by_type.items())),
        read=state,
    )


OPERATIONS: Final = (Operation("stats_get", stats_get, Effect.READ),)
