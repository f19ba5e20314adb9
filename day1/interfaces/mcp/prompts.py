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
                        required=index == 0 and name not in prompt.defaults,
                    )
                    for index, (name, description) in enumerate(prompt.arguments.items())
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
    prompt_name, arguments = params.name, params.arguments
    if prompt_name not in offered:
        prompt_names = ", ".join(offered) or "none"
        raise MCPError(
            INVALID_PARAMS, f"There is no prompt {prompt_name[:80]!r}; there are {prompt_names}."
        )
    toolset, prompt = offered[prompt_name]
    value_by_argument = {
        argument_name: (arguments or {}).get(argument_name) or prompt.defaults.get(argument_name)
        for argument_name in prompt.arguments
    }
    missing_arguments = [
        argument_name for argument_name, value in value_by_argument.items() if value is None
    ]
    if missing_arguments:
        raise MCPError(
            INVALID_PARAMS, f"The prompt {prompt_name!r} needs: {', '.join(missing_arguments)}."
        )
    if prompt.operation is not None:
        filled_arguments = {
            argument_name: value for argument_name, value in value_by_argument.items() if value
        }
        value_by_argument["answer"] = str(
            TOOLSETS.of(toolset, prompt.operation).call(ctx, filled_arguments)["text"]
        )
    content = TextContent(type="text", text=prompt.text.format(**value_by_argument))
    message = PromptMessage(role="user", content=content)
    return GetPromptResult(description=prompt.description, messages=[message])
