"""An MCP server for toolsets: schemas come from the models, results from the operations."""

from __future__ import annotations

import json
import logging
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from anyio import from_thread, to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

from day1.call.context import Context
from day1.call.operation import Effect, Operation
from day1.call.toolset import ErrorShape, Tool
from day1.errors import Day1Error, Step, UnknownTool
from day1.interfaces.mcp import apps, prompts, resources
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.schemas import listed_schema, output_schema
from day1.interfaces.mcp.skills import FRESH_MS, add_skills, contents
from day1.toolsets import TOOLSETS
from day1.version import __version__

log = logging.getLogger(__name__)

_CONFIRMED: Final = {"anthropic/requiresUserInteraction": True}
"""The `_meta` of a tool whose every call a person must confirm."""


def instructions(tools: Sequence[Tool]) -> str:
    """Write the server's instructions: the hints of the toolsets of these tools."""
    tool_by_name = {tool.name: tool for tool in tools}
    hints_by_id = {id(tool.toolset.hints): tool.toolset.hints for tool in tools}
    return "\n".join(line for hint in hints_by_id.values() for line in hint.told(tool_by_name))


MakeContext = Callable[[Mapping[str, Any] | None, Any], Context]
"""A function that builds a call's context from its `_meta` and HTTP request (or None)."""


def build_server(
    tools: Sequence[Tool], make_context: MakeContext, listening: Listening
) -> Server[Any]:
    """Build an MCP server with tools, resources, subscriptions and prompts."""
    tool_by_name = {tool.name: tool for tool in tools}
    tool_by_called_name = _unlisted(tools) | tool_by_name | _dotted(tools)
    prompt_by_name = {
        prompt.name: (prompting_tool.toolset, prompt)
        for prompting_tool in tools
        for prompt in prompting_tool.toolset.hints.prompts
    }
    skills = tuple(
        dict.fromkeys(skill_name for tool in tools for skill_name in tool.toolset.hints.skills)
    )
    document_by_uri = {**contents(skills), **apps.documents(tool_by_name)}

    async def list_tools(ctx: Any, _params: Any) -> ListToolsResult:
        listings = [listing(tool.operation) for tool in tools]
        return ListToolsResult(tools=apps.with_views(ctx, listings))

    async def list_prompts(_ctx: Any, _params: Any) -> ListPromptsResult:
        return prompts.listed(prompt_by_name)

    def schema(name: str) -> Mapping[str, Any] | None:
        tool = tool_by_called_name.get(name)
        if tool is None or tool.name not in tool_by_name:
            return None
        return listing(tool.operation).input_schema

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        def context() -> Context:
            tool_context = make_context(ctx.meta, ctx.request)
            return replace(tool_context, progress=partial(_report, ctx), stopped=_stopped)

        # A cancelled call runs on in its thread until it asks `stopped` or ends by itself.
        return await to_thread.run_sync(partial(_call, tool_by_called_name, context, params))

    server = Server[Any](
        "day1",
        version=__version__,
        instructions=instructions(tools),
        get_tool_input_schema=schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=_in_worker(resources.listed, make_context),
        on_list_resource_templates=_list_templates,
        on_read_resource=_reading(document_by_uri, _in_worker(resources.read, make_context)),
        on_list_prompts=list_prompts,
        on_get_prompt=_in_worker(partial(prompts.worded, prompt_by_name), make_context),
        on_completion=_in_worker(resources.completed, make_context),
        on_subscriptions_listen=listening.listen,
        on_subscribe_resource=listening.subscribe,
        on_unsubscribe_resource=listening.unsubscribe,
    )
    add_skills(server, skills)
    apps.add_views(server, tool_by_name)
    return server


def _dotted(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Return tools by their dotted names (`PREFIX.tool`) if several toolsets are served."""
    if len({tool.toolset.name for tool in tools}) == 1:
        return {}
    return {name: tool for tool in tools if (name := tool.dotted_name) is not None}


def _unlisted(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Return the unlisted tools of these tools' toolsets, by name."""
    toolsets = {tool.toolset.name: tool.toolset for tool in tools}.values()
    return {
        operation.name: Tool(toolset, operation)
        for toolset in toolsets
        for operation in toolset.unlisted
    }


def _in_worker(
    answer: Callable[[Context, Any], Any], make_context: MakeContext
) -> Callable[..., Any]:
    """Build a handler that runs `answer` in a worker thread and reports its errors."""

    def run(ctx: Any, params: Any) -> Any:
        try:
            return answer(make_context(ctx.meta, ctx.request), params)
        except Day1Error as exc:
            raise MCPError(INVALID_PARAMS, str(exc), exc.body()["error"]) from exc

    async def handle(ctx: Any, params: Any) -> Any:
        return await to_thread.run_sync(run, ctx, params)

    return handle


def _reading(
    fixed: Mapping[str, TextResourceContents], read: Callable[..., Any]
) -> Callable[..., Any]:
    """Build a handler that returns resources shipped with day1, and reads others with `read`."""

    async def handle(ctx: Any, params: ReadResourceRequestParams) -> Any:
        if params.uri not in fixed:
            return await read(ctx, params)
        documents = [fixed[params.uri]]
        return ReadResourceResult(contents=documents, ttl_ms=FRESH_MS, cache_scope="public")

    return handle


async def _list_templates(_ctx: Any, _params: Any) -> ListResourceTemplatesResult:
    return resources.TEMPLATES


@cache
def listing(operation: Operation[Any, Any]) -> types.Tool:
    """Build MCP's listing of an operation, once and when it is needed: it takes some 10 ms."""
    is_read = operation.effect is Effect.READ
    return types.Tool(
        name=operation.name,
        description=operation.description,
        input_schema=listed_schema(operation),
        output_schema=output_schema(operation.response),
        annotations=ToolAnnotations(
            # Hints at their default, and hints that mean nothing for a reading tool, are left
            # out: agents pay for their tokens.
            read_only_hint=is_read or None,
            destructive_hint=None if is_read or operation.effect is Effect.DESTROY else False,
            idempotent_hint=None if is_read else operation.idempotent or None,
            open_world_hint=False,
        ),
        meta=_CONFIRMED if operation.asks else None,
    )


def _call(
    by_name: Mapping[str, Tool], context: Callable[[], Context], params: CallToolRequestParams
) -> CallToolResult:
    tool = by_name.get(params.name)
    if tool is None:
        error_shape = next(
            (served_tool.toolset.errors for served_tool in by_name.values()), ErrorShape()
        )
        message = f"There is no tool {params.name[:80]!r} here."
        listed_tools = (
            served_tool
            for served_tool in by_name.values()
            if served_tool.name in served_tool.toolset.tools
        )
        tool_names = sorted({served_tool.name for served_tool in listed_tools})
        return result(error_shape.body(UnknownTool(message, tools=tool_names), str), is_error=True)
    error_shape, word_step = tool.toolset.errors, partial(_named, by_name)
    try:
        answer = tool.call(replace(context(), say=word_step), params.arguments or {})
    except Day1Error as exc:
        return result(error_shape.body(exc, word_step), is_error=True)
    except Exception:
        log.exception("%s failed", params.name[:80])
        error = Day1Error("day1 failed on this call; its log on stderr says more.")
        return result(error_shape.body(error, word_step), is_error=True)
    return result(answer, text=tool.operation.text)


def _named(served: Mapping[str, Tool], step: Step) -> str:
    """Return a step of advice in words for a client of these tools.

    A tool has its plain name here, and its qualified name in another namespace. A step with
    arguments keeps the words of MCP.
    """
    if step.arguments or step.operation in served:
        return str(step)
    tool, called_toolset = TOOLSETS.meant(step), TOOLSETS.get(step.toolset)
    is_same_namespace = called_toolset is None or called_toolset.namespace is tool.toolset.namespace
    return tool.name if is_same_namespace else tool.qualified_name


def _stopped() -> bool:
    """Whether the client cancelled this thread's call or left."""
    try:
        from_thread.check_cancelled()
    except CancelledError:
        return True
    return False


def _report(ctx: Any, done: int, total: int | None) -> None:
    """Report progress to the client if it asked for it; a client that has left is no error."""
    if not _stopped():
        with suppress(Exception):
            from_thread.run(ctx.session.report_progress, done, total)


def result(
    structured: Mapping[str, Any],
    *,
    text: Callable[[Mapping[str, Any]], Any] = lambda answer: answer,
    is_error: bool = False,
) -> CallToolResult:
    """Build the result of a call: a block of text, a second block for notes, and the answer.

    `text` returns the part of the answer that the first block holds: a text, or data for JSON.
    """
    structured, text_json = _sendable(structured)
    answer_text = text(structured)
    if isinstance(answer_text, str):
        blocks = [_block(answer_text)] if answer_text else []
    else:
        blocks = [_block(text_json if answer_text is structured else _json(answer_text))]
    branch_state = structured.get("read") or structured.get("written") or {}
    if branch_state.get("notes"):
        blocks.append(_block("Note: " + " ".join(branch_state["notes"])))
    return CallToolResult(
        content=list(blocks), structured_content=dict(structured), is_error=is_error
    )


def _sendable(answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the answer and its JSON, both without lone surrogates.

    An error may quote a lone surrogate, which would end the session.
    """
    text = _json(answer)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
        clean_answer: dict[str, Any] = json.loads(text)
        return clean_answer, text
    return answer, text


def _block(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
