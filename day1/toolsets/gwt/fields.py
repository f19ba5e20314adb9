"""Types of arguments and answers that the tools of gwt share."""

from typing import Annotated, Any, Final

from pydantic import Field

from day1.model.collection.answers import OPERATIONS as QUERIES
from day1.model.workspace.item import MEMORY_TYPES
from day1.toolsets.gwt.errors import unsupported


def _listing(*values: str) -> Any:
    """Let the schema of a text list the values that it takes; the operation refuses others."""
    return Field(json_schema_extra={"enum": list(values)})


PLANNERS: Final = ("auto", "generic", "semantic", "structured", "graph", "hybrid")
TARGETS: Final = ("workspace", "buffer", "goals", "stats", "broadcast_bus")

MemoryTypeName = Annotated[str, _listing(*MEMORY_TYPES)]
"""A memory type; another text gets an error that lists those there are."""
QueryName = Annotated[str, _listing(*QUERIES)]
"""An operation on a collection."""
PlannerName = Annotated[str, _listing(*PLANNERS)]
TargetName = Annotated[str, _listing(*TARGETS)]
Most = Annotated[int, Field(ge=1, le=200)]
"""How many items to answer, at most."""


def checked_type(memory_type: str, argument: str = "memory_type") -> str:
    """Return a memory type as it is.

    Raises:
        InvalidRequest: there is no such type; `supported_memory_types` lists those there are.
    """
    if memory_type not in MEMORY_TYPES:
        raise unsupported(argument, memory_type, "supported_memory_types", MEMORY_TYPES)
    return memory_type
