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
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    PromptArgument(
                        name=name,
                        description=description,
                        required=number == 0 and name not in prompt.defaults,
                    )
                    for number, (name, description) in enumerate(prompt.arguments.items())
                ],
            )
            for _, prompt in offered.values()
        ]
    )


def worded(offered: Offered, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
    """Fill a prompt with its arguments and with the answer of its operation, if it has one.

    Raises:
        MCPError: there is no such prompt, or an argument is missing.
        Day1Error: the prompt's operation failed.
    """
    name, arguments = params.name, params.arguments
    if name not in offered:
        names = ", ".join(offered) or "none"
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}; there are {names}.")
    toolset, prompt = offered[name]
    values = {
        key: (arguments or {}).get(key) or prompt.defaults.get(key) for key in prompt.arguments
    }
    missing = [key for key, value in values.items() if value is None]
    if missing:
        raise MCPError(INVALID_PARAMS, f"The prompt {name!r} needs: {', '.join(missing)}.")
    if prompt.operation is not None:
        filled = {key: value for key, value in values.items() if value}
        values["answer"] = str(TOOLSETS.of(toolset, prompt.operation).call(ctx, filled)["text"])
    text = TextContent(type="text", text=prompt.text.format(**values))
    message = PromptMessage(role="user", content=text)
    return GetPromptResult(description=prompt.description, messages=[message])
