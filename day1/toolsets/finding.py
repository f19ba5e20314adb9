"""Find the tool of an operation, loading as few toolsets as possible."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from day1.call.toolset import Tool, Toolset
from day1.errors import UnknownTool

_ELSEWHERE: Final = {
    "browse": ("memory_get", "memory_list", "memory_log"),
    "keyed": (
        "entry_find",
        "entry_get",
        "entry_put",
        "entry_remove",
        "entry_spaces",
        "entry_sweep",
        "message_append",
        "message_chain",
        "message_list",
        "message_remove",
    ),
    "library": ("branch_moment", "rows_apply"),
    "recall": ("memory_prime",),
    "review": (
        "memory_blame",
        "memory_branch_delete",
        "memory_branch_protect",
        "memory_held",
        "memory_history",
        "memory_merge_preview",
        "memory_redact",
        "memory_restore",
        "memory_retract_fact",
        "memory_revert",
        "memory_supersede_fact",
        "memory_update_fact",
        "review_approve",
        "review_close",
        "review_decide",
        "review_list",
        "review_merge",
        "review_open",
        "review_show",
    ),
}
"""The operations whose toolset is known; `tool_of` looks for others in several toolsets."""
_TOOLSET_BY_NAME: Final = {name: toolset for toolset, names in _ELSEWHERE.items() for name in names}


@cache
def tool_of(operation: str) -> Tool:
    """Return the tool of an operation, by its name or as TOOLSET.NAME.

    Raises:
        UnknownTool: there is none.
    """
    listed_toolset = _TOOLSET_BY_NAME.get(operation)
    likely_toolsets = ("core", "review") if listed_toolset is None else (listed_toolset,)
    found_tools = (_toolset(name).tools.get(operation) for name in likely_toolsets)
    tool = next(filter(None, found_tools), None)
    if tool is None:
        from day1.toolsets.over_http import TOOLSETS  # noqa: PLC0415 - it takes long to import

        tool = TOOLSETS.tool(operation)
    if tool is None:
        raise UnknownTool(
            f"There is no operation {operation[:80]!r}: the pages in docs/tools list them all.",
            operation=operation[:80],
        )
    return tool


def _toolset(name: str) -> Toolset:
    toolset: Toolset = getattr(import_module(f"day1.toolsets.day1.{name}"), name.upper())
    return toolset
