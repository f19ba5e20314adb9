"""Prompts that a person picks in a client: start a task, review a branch, resume, the prime."""

from __future__ import annotations

from collections.abc import Mapping

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from day1.call.context import Context
from day1.call.toolset import Prompt, Toolset
from day1.toolsets import TOOLSETS

Offered = Mapping[str, tuple[Toolset, Prompt]]
"""Prompts by name, each with its toolset."""


def listed(offered: Offered) -> ListPromptsResult:
    """Build MCP's list of the prompts."""
    return ListPromptsResult(
        prompts=[
            types.Prompt(
                name=one.name,
                title=one.title,
                description=one.description,
                arguments=[
                    PromptArgument(
                        name=name,
                        description=what,
                        required=number == 0 and name not in one.defaults,
                    )
                    for number, (name, what) in enumerate(one.arguments.items())
                ],
            )
            for _, one in offered.values()
        ]
    )


def worded(offered: Offered, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
    """Fill a prompt with its arguments and with the answer of its operation, if it has one.

    Raises:
        MCPError: there is no such prompt, or an argument is missing.
        Day1Error: the prompt's operation failed.
    """
    name, given = params.name, params.arguments
    if name not in offered:
        known = ", ".join(offered) or "none"
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}; there are {known}.")
    toolset, one = offered[name]
    values = {key: (given or {}).get(key) or one.defaults.get(key) for key in one.arguments}
    missing = [key for key, value in values.items() if value is None]
    if missing:
        raise MCPError(INVALID_PARAMS, f"The prompt {name!r} needs: {', '.join(missing)}.")
    if one.operation is not None:
        asked = {key: value for key, value in values.items() if value}
        values["answer"] = str(TOOLSETS.of(toolset, one.operation).call(ctx, asked)["text"])
    text = TextContent(type="text", text=one.text.format(**values))
    message = PromptMessage(role="user", content=text)
    return GetPromptResult(description=one.description, messages=[message])
