"""The registered toolsets; an MCP server serves any choice of their tools.

They are loaded when one of these names is first used: who needs one toolset loads no other.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from day1.toolsets.all_toolsets import LISTS, TOOLSETS, operations, registered

__all__ = ["LISTS", "TOOLSETS", "operations", "registered"]


def __getattr__(name: str) -> Any:
    """Load all toolsets when one of their names is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from day1.toolsets import all_toolsets  # noqa: PLC0415 - it loads every toolset

    return getattr(all_toolsets, name)
