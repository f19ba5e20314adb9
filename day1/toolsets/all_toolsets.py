"""All toolsets that MCP offers, registered, and the named lists of their tools."""

from collections.abc import Mapping
from typing import Any, Final

from day1.call.operation import Operation
from day1.call.registry import Registry
from day1.call.toolset import Tool, Toolset
from day1.toolsets.combined import COMBINED
from day1.toolsets.day1.admin import ADMIN
from day1.toolsets.day1.browse import BROWSE
from day1.toolsets.day1.core import CORE
from day1.toolsets.day1.recall import RECALL
from day1.toolsets.day1.review import REVIEW
from day1.toolsets.engram import ENGRAM
from day1.toolsets.gwt import GWT
from day1.toolsets.kompanion import KOMPANION

_DAILY: Final = (
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
LISTS: Final[Mapping[str, tuple[Tool, ...]]] = {
    "core14": tuple(CORE.tools[name] for name in _DAILY),
    "combined": COMBINED,
}
"""Name of a list -> its tools: `core14` has what an agent needs daily, for clients that pay for
each tool in their context (docs/tools); `combined` has the tools of all products."""
FORMER: Final[Mapping[str, str]] = {"seeds": "combined"}
"""Old name of a list (version 0.1) -> its present name; old names work until the next version."""
DEFAULT: Final = "core"
EVERYTHING: Final = "core,review,browse"
"""day1's own tools for agents. The tools for tokens are left out: they are an operator's work."""


def registered(*toolsets: Toolset) -> Registry:
    """Register day1's own toolsets and the further ones.

    Raises:
        ValueError: two toolsets clash.
    """
    registry = Registry(LISTS, DEFAULT, EVERYTHING, FORMER)
    for toolset in (CORE, REVIEW, BROWSE, ADMIN, RECALL, KOMPANION, ENGRAM, GWT, *toolsets):
        registry.register(toolset)
    return registry


TOOLSETS: Final = registered()


def operations(names: str) -> tuple[Operation[Any, Any], ...]:
    """Return the operations of comma-separated toolsets, lists or tools, in order.

    Raises:
        NotFound: there is no such toolset, list or tool.
    """
    return tuple(tool.operation for tool in TOOLSETS.choose(names))
