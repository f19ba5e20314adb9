"""The review toolset: editing and deciding, beside the core's tools."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.review import (
    approving,
    branches,
    editing,
    merges,
    protection,
    redacting,
    restoring,
    reverting,
    reviews,
    shelves,
    tracing,
)

REVIEW = toolset(
    "review",
    (
        *editing.OPERATIONS,
        *restoring.OPERATIONS,
        *redacting.OPERATIONS,
        *merges.OPERATIONS,
        *approving.OPERATIONS,
        *reviews.OPERATIONS,
        *protection.OPERATIONS,
        *tracing.OPERATIONS,
        *reverting.OPERATIONS,
        *branches.OPERATIONS,
        *shelves.OPERATIONS,
    ),
)
