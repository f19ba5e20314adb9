"""The story by an agent of pydantic-ai whose model is a script, and one that only knows schemas."""

import sys
from typing import Any

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from story import run, story


async def client(server: Any) -> dict[str, Any]:
    if "url" in server:
        wire: Any = StreamableHttpTransport(server["url"], auth=server["token"])
    else:
        wire = StdioTransport(server["command"], server["args"], server["env"])
    steps = story(sys.argv[2])
    seen: dict[str, Any] = {}

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        """Say the next call of the story, as a language model would after the last answer."""
        last = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        try:
            tool, arguments = steps.send(last[0].content if last else None)
        except StopIteration as end:
            seen.update(end.value)
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])

    async with MCPToolset(wire, init_timeout=60, read_timeout=60) as tools:
        agent = Agent(FunctionModel(model), toolsets=[tools])
        await agent.run("Keep what is said of tea.")
        schemas = TestModel(call_tools=["memory_write_fact", "memory_timeline"])
        made = await Agent(schemas, toolsets=[tools]).run("Call tools by their schemas.")
    return {**seen, "by_schema": made.output}


run(client)
