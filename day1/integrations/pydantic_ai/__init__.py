"""Conversations of Pydantic AI in day1: `Day1ConversationStore`, with branches and merges."""

try:
    import pydantic_ai.conversation_store as _needed
except ImportError as exc:
    raise ImportError(
        "day1.integrations.pydantic_ai needs Pydantic AI 2.68 or later: "
        "pip install 'day1[pydantic-ai]'"
    ) from exc

from day1.integrations.pydantic_ai.store import Day1ConversationStore

__all__ = ["Day1ConversationStore"]

del _needed
