"""Sessions of the OpenAI Agents SDK in day1: `Day1Session`, whose branches share rows."""

try:
    import agents.memory as _needed
except ImportError as exc:
    raise ImportError(
        "day1.integrations.openai_agents needs the OpenAI Agents SDK: "
        "pip install 'day1[openai-agents]'"
    ) from exc

from day1.integrations.openai_agents.session import Day1Session

__all__ = ["Day1Session"]

del _needed
