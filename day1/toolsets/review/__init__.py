"""The review toolset: editing and deciding, beside the core's tools."""

from day1.operation import Toolset
from day1.toolsets.review import editing, merges, restoring

REVIEW: Toolset = (*editing.OPERATIONS, *restoring.OPERATIONS, *merges.OPERATIONS)
