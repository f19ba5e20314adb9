"""Prompts that a person picks in a client: start a task, review a branch, resume."""

from __future__ import annotations

from collections.abc import Mapping

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListPromptsResult,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from day1.call.toolset import Prompt


def listed(offered: Mapping[str, Prompt]) -> ListPromptsResult:
    """The prompts as MCP lists them."""
    return ListPromptsResult(
        prompts=[
            types.Prompt(
                name=one.name,
                title=one.title,
                description=one.description,
                arguments=[
                    PromptArgument(name=name, description=what, required=number == 0)
                    for number, (name, what) in enumerate(one.arguments.items())
                ],
            )
            for one in offered.values()
        ]
    )


def worded(
    offered: Mapping[str, Prompt], name: str, given: Mapping[str, str] | None
) -> GetPromptResult:
    """A prompt with its arguments put in.

    Raises:
        MCPError: there is no such prompt, or an argument is missing.
    """
    one = offered.get(name)
    if one is None:
        known = ", ".join(offered) or "none"
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}; there are {known}.")
    values = {key: (given or {}).get(key) or one.defaults.get(key) for key in one.arguments}
    missing = [key for key, value in values.items() if value is None]
    if missing:
        raise MCPError(INVALID_PARAMS, f"The prompt {name!r} needs: {', '.join(missing)}.")
    text = TextContent(type="text", text=one.text.format(**values))
    message = PromptMessage(role="user", content=text)
    return GetPromptResult(description=one.description, messages=[message])
