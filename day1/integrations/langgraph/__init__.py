"""LangGraph's long-term memory in day1: `Day1Store`, and checkpoints that point into it."""

try:
    import langgraph.store.base as _needed
except ImportError as exc:
    raise ImportError(
        "day1.integrations.langgraph needs LangGraph's base package: pip install 'day1[langgraph]'"
    ) from exc

from day1.integrations.langgraph.runs import Parallel, per_thread
from day1.integrations.langgraph.stamping import Stamped, forked, stamped
from day1.integrations.langgraph.store import Day1Store

__all__ = ["Day1Store", "Parallel", "Stamped", "forked", "per_thread", "stamped"]

del _needed
