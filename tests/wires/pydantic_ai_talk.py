"""What the tests of Pydantic AI's store say, and how they save and read it."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

from pydantic_ai import Agent, Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from day1.integrations.pydantic_ai import Day1ConversationStore

T = TypeVar("T")
numbers = itertools.count(1)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def say(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def texts(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for message in messages for part in message.parts]  # type: ignore[union-attr]  # every part here has content


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """A stand-in for a model: it counts what it was told."""
    return ModelResponse(parts=[TextPart(f"I was told {len(messages)} messages.")])


AGENT = Agent(FunctionModel(answer))


async def turn(store: Day1ConversationStore, of: str, text: str, scope: str | None = None) -> Any:
    """One turn of an agent, as the framework's documentation has it."""
    conversation = await store.load(of, scope=scope) or Conversation(conversation_id=of)
    result = await AGENT.run(text, conversation=conversation)
    await store.save(result, scope=scope)
    return result.output


async def add(store: Day1ConversationStore, of: str, *added: ModelMessage) -> Any:
    conversation = await store.load(of) or Conversation(conversation_id=of)
    conversation.messages += added
    return await store.save(conversation)


async def said(store: Day1ConversationStore, of: str, **more: Any) -> list[str]:
    conversation = await store.load(of, **more)
    assert conversation is not None
    return texts(conversation.messages)


async def insist(store: Day1ConversationStore, of: str, text: str) -> None:
    """Add a message, again after each conflict."""
    while True:
        try:
            return await add(store, of, say(text))
        except ConversationConflict:
            continue
