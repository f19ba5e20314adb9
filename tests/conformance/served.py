"""`day1 serve`, with the suite's fixtures on top of the tools, prompts and resources it has.

The app, what stands before it and how it is served are day1's own: only what makes a server is
wrapped, so that each answers to the names of the fixtures first.
"""

import logging
import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    EmptyResult,
    GetPromptRequestParams,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SetLevelRequestParams,
    Tool,
)

from day1.app.cli import main
from day1.interfaces.http import app
from day1.interfaces.mcp.server import build_server
from tests.conformance import fixtures

day1s_server = build_server


def with_fixtures(toolset: Any, make_context: Any, listening: Any) -> Server[Any]:
    server = day1s_server(toolset, make_context, listening)
    tools = fixtures.tools(listening)
    schemas = {name: fixtures.SCHEMAS.get(name, fixtures.NOTHING) for name in tools}
    day1s_schema = server.get_tool_input_schema
    assert day1s_schema is not None
    server.get_tool_input_schema = lambda name: schemas.get(name) or day1s_schema(name)

    def own(method: str) -> Any:
        entry = server.get_request_handler(method)
        assert entry is not None, method
        return entry.handler

    for method, add in (
        ("tools/list", lambda listed: _tools(listed, schemas)),
        ("prompts/list", _prompts),
        ("resources/list", _resources),
        ("resources/templates/list", _templates),
    ):
        listed = _longer(own(method), add)
        server.add_request_handler(method, PaginatedRequestParams, listed)

    call, prompt, read = own("tools/call"), own("prompts/get"), own("resources/read")

    async def call_tool(ctx: Any, params: Any) -> Any:
        return await tools.get(params.name, call)(ctx, params)

    async def get_prompt(ctx: Any, params: Any) -> Any:
        handler = fixtures.prompt if params.name in fixtures.PROMPTS else prompt
        return await handler(ctx, params)

    async def read_resource(ctx: Any, params: Any) -> Any:
        found = fixtures.resource(str(params.uri))
        if found is None:
            return await read(ctx, params)
        return ReadResourceResult.model_validate({"contents": [found]})

    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.add_request_handler("prompts/get", GetPromptRequestParams, get_prompt)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
    return server


def _longer(handler: Any, add: Any) -> Any:
    async def listed(ctx: Any, params: Any) -> Any:
        return add(await handler(ctx, params))

    return listed


def _tools(listed: ListToolsResult, schemas: dict[str, fixtures.Schema]) -> ListToolsResult:
    more = [
        Tool(name=name, description="A fixture.", input_schema=s) for name, s in schemas.items()
    ]
    return listed.model_copy(update={"tools": [*listed.tools, *more]})


def _prompts(listed: ListPromptsResult) -> ListPromptsResult:
    more = [
        Prompt(
            name=name,
            description="A fixture.",
            arguments=[PromptArgument(name=one, required=True) for one in needed],
        )
        for name, needed in fixtures.PROMPTS.items()
    ]
    return listed.model_copy(update={"prompts": [*listed.prompts, *more]})


def _resources(listed: ListResourcesResult) -> ListResourcesResult:
    more = [Resource(uri=u, name=u, mime_type=m) for u, m in fixtures.RESOURCES.items()]
    return listed.model_copy(update={"resources": [*listed.resources, *more]})


def _templates(listed: ListResourceTemplatesResult) -> ListResourceTemplatesResult:
    more = ResourceTemplate(uri_template=fixtures.TEMPLATE, name="test template")
    templates = [*listed.resource_templates, more]
    return listed.model_copy(update={"resource_templates": templates})


async def _set_level(_ctx: Any, _params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


if __name__ == "__main__":
    logging.captureWarnings(True)
    app.build_server = with_fixtures  # type: ignore[assignment,attr-defined]  # where the app looks it up
    sys.exit(main())
