"""Claude's memory tool in day1: `Day1MemoryTool`, whose files are entries with history."""

try:
    import anthropic.lib.tools as _needed
except ImportError as exc:
    raise ImportError(
        "day1.integrations.anthropic needs the Anthropic SDK: pip install 'day1[anthropic]'"
    ) from exc

from day1.integrations.anthropic.tool import Day1AsyncMemoryTool, Day1MemoryTool

__all__ = ["Day1AsyncMemoryTool", "Day1MemoryTool"]

del _needed
