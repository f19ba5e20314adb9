"""The core toolset: the tools that every agent needs, in the order in which clients list them."""

from day1.toolsets.day1.core import (
    branches,
    bundles,
    conversation_copies,
    conversations,
    curation,
    handoffs,
    memory,
    merges,
    search,
    snapshots,
    task_memory,
    tasks,
    templates,
    verification,
)
from day1.toolsets.day1.family import toolset

CORE = toolset(
    "core",
    (
        *memory.OPERATIONS,
        *search.OPERATIONS,
        branches.CREATE,
        branches.LIST,
        branches.SWITCH,
        merges.DIFF,
        merges.MERGE,
        *snapshots.OPERATIONS,
        *tasks.OPERATIONS,
        *task_memory.OPERATIONS,
        *conversations.OPERATIONS,
        *conversation_copies.OPERATIONS,
        *curation.OPERATIONS,
        branches.TOPOLOGY,
        branches.ENRICH,
        *templates.OPERATIONS,
        *verification.OPERATIONS,
        *handoffs.OPERATIONS,
        *bundles.OPERATIONS,
    ),
)
