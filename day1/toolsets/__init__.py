"""Toolsets by name, and named lists of their tools; an MCP server serves any choice of them."""

from collections.abc import Mapping
from typing import Any, Final

from day1.call.operation import Operation
from day1.call.toolset import Toolset
from day1.errors import NotFound
from day1.toolsets.day1.admin import ADMIN
from day1.toolsets.day1.browse import BROWSE
from day1.toolsets.day1.core import CORE
from day1.toolsets.day1.review import REVIEW

TOOLSETS: Final[Mapping[str, Toolset]] = {
    "core": CORE,
    "review": REVIEW,
    "browse": BROWSE,
    "admin": ADMIN,
}
LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "core14": (
        "memory_write_fact",
        "memory_write_observation",
        "memory_write_relation",
        "memory_search",
        "memory_timeline",
        "memory_branch_create",
        "memory_branch_switch",
        "memory_branch_diff",
        "memory_branch_merge",
        "memory_time_travel",
        "memory_task_join",
        "memory_task_update",
        "memory_search_task",
        "memory_session_context",
    )
}
"""What an agent needs daily, for clients that pay for each tool in their context (docs/tools)."""


def operations(names: str) -> Toolset:
    """The operations of toolsets, named lists or single tools, named with commas, in order.

    Raises:
        NotFound: there is no such toolset, list or tool.
    """
    every: dict[str, Operation[Any, Any]] = {o.name: o for s in TOOLSETS.values() for o in s}
    found: dict[str, Operation[Any, Any]] = {}
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name in TOOLSETS:
            found |= {operation.name: operation for operation in TOOLSETS[name]}
        elif name in LISTS or name in every:
            found |= {tool: every[tool] for tool in LISTS.get(name, (name,))}
        else:
            there = ", ".join((*TOOLSETS, *LISTS))
            raise NotFound(
                f"There is no toolset, list or tool {name[:80]!r}; there are {there}, and the "
                "tools that `day1 call` lists.",
                toolset=name[:80],
            )
    return tuple(found.values())
