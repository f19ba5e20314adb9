"""Agents of Agent Framework whose model is a stand-in, and what the tests say to them."""

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

T = TypeVar("T")
numbers = itertools.count(1)


class StandIn(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A stand-in for a model: it counts what it was told; told to oil, it calls a tool first."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[Message]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **_: Any
    ) -> Any:
        self.calls.append(list(messages))
        if messages[-1].role == "user" and messages[-1].text.startswith("Oil"):
            contents = [Content.from_function_call("c1", "oil", arguments={"machine": "lathe"})]
        else:
            contents = [Content.from_text(f"I was told {len(messages)} messages.")]

        async def whole() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", contents)])

        async def parts() -> Any:
            yield ChatResponseUpdate(contents=contents, role="assistant")

        def joined(updates: Sequence[ChatResponseUpdate]) -> ChatResponse:
            return ChatResponse.from_updates(updates)

        return ResponseStream(parts(), finalizer=joined) if stream else whole()


def oil(machine: str) -> str:
    """Oil a machine."""
    return f"Oiled the {machine}."


def run(work: Awaitable[T]) -> T:
    async def done() -> T:
        return await work

    return asyncio.run(done())


def say(text: str, role: str = "user", **more: Any) -> Message:
    return Message(role, [text], **more)


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]
