"""Microsoft Agent Framework with day1: `Day1History` keeps sessions, `Day1Context` recalls."""

try:
    import agent_framework as _needed
except ImportError as exc:
    raise ImportError(
        "day1.integrations.agent_framework needs Microsoft Agent Framework: "
        "pip install 'day1[agent-framework]'"
    ) from exc

from day1.integrations.agent_framework.context import Day1Context
from day1.integrations.agent_framework.history import Day1History

__all__ = ["Day1Context", "Day1History"]

del _needed
