"""What the conformance suite calls by name: tools, prompts and resources, on top of day1's own.

The suite tests a server's protocol with fixtures that every server under test must have; what
each of them does is told in the suite's descriptions of its scenarios.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ContentBlock,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    PromptMessage,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
"""One red pixel."""
SILENCE = base64.b64encode(
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\2\0\0\0\0\0"
).decode()
PAUSE_S = 0.05
"""The suite asks for a delay between what a tool says while it works."""
KEY = b"of this test"
Schema = dict[str, Any]
Round = dict[str, InputRequest]
Tool = Callable[[Any, Any], Awaitable[CallToolResult | InputRequiredResult]]


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, mime_type: str, words: str) -> EmbeddedResource:
    content = TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return EmbeddedResource(type="resource", resource=content)


def answer(*blocks: ContentBlock) -> CallToolResult:
    return CallToolResult(content=list(blocks))


CONTENTS: dict[str, tuple[ContentBlock, ...]] = {
    "test_simple_text": (text("This is a simple text response for testing."),),
    "test_image_content": (image(),),
    "test_audio_content": (AudioContent(type="audio", data=SILENCE, mime_type="audio/wav"),),
    "test_embedded_resource": (
        embedded("test://embedded", "text/plain", "This is an embedded resource content."),
    ),
    "test_multiple_content_types": (
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed", "application/json", '{"test":"data","value":123}'),
    ),
    "test_with_header": (text("The header said the same."),),
    "json_schema_2020_12_tool": (text("Fits."),),
    # A stream may be left and taken up again only where events are kept, as day1 does not.
    "test_reconnection": (text("Answered at once."),),
}
"""Tools that always answer the same."""


def elicited(message: str, name: str, **schema: Any) -> ElicitRequest:
    wanted = {"type": "object", "properties": {name: schema}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=wanted))


def sampled(words: str, tokens: int = 100) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=text(words))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[message], max_tokens=tokens)
    )


NAME: Round = {"user_name": elicited("What is your name?", "name", type="string")}
ROOTS: Round = {"client_roots": ListRootsRequest()}
CONFIRM: Round = {"confirm": elicited("Please confirm", "ok", type="boolean")}
ASKING: dict[str, tuple[Round, ...]] = {
    "test_input_required_result_elicitation": (NAME,),
    "test_streaming_elicitation": (NAME,),
    "test_input_required_result_sampling": (
        {"capital_question": sampled("What is the capital of France?")},
    ),
    "test_input_required_result_list_roots": (ROOTS,),
    "test_input_required_result_request_state": (CONFIRM,),
    "test_input_required_result_tampered_state": (CONFIRM,),
    "test_input_required_result_multiple_inputs": (
        {**NAME, "greeting": sampled("Generate a greeting", 50), **ROOTS},
    ),
    "test_input_required_result_multi_round": (
        {"step1": elicited("Step 1: What is your name?", "name", type="string")},
        {"step2": elicited("Step 2: What is your favorite color?", "color", type="string")},
    ),
    "test_input_required_result_capabilities": ({**NAME, "greeting": sampled("Say hello")},),
}
"""Tools that ask the client before they answer, round by round (2026)."""
STATELESS = {
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
}
CONTEXT: Round = {
    "user_context": elicited("What context should the prompt use?", "context", type="string")
}


def sealed(number: int) -> str:
    """A state that nobody can alter unnoticed."""
    return f"{number}.{hmac.new(KEY, str(number).encode(), hashlib.sha256).hexdigest()}"


def opened(state: str | None) -> int:
    """The round that a state is of.

    Raises:
        MCPError: somebody altered it.
    """
    if state is None:
        return 0
    number = state.partition(".")[0]
    if not number.isdigit() or not hmac.compare_digest(sealed(int(number)), state):
        raise MCPError(INVALID_PARAMS, "This state is not one that was given out.")
    return int(number)


def supported(ctx: Any, request: InputRequest) -> bool:
    capabilities = ctx.session.client_capabilities
    part = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling"}
    return getattr(capabilities, part.get(request.method, "roots"), None) is not None


async def ask(name: str, ctx: Any, params: Any) -> CallToolResult | InputRequiredResult:
    number = opened(params.request_state)
    rounds = ASKING[name]
    responses = params.input_responses or {}
    if rounds[number].keys() <= responses.keys():
        number += 1
    if number == len(rounds):
        said = {key: response.model_dump(mode="json") for key, response in responses.items()}
        return answer(text(f"state-ok {json.dumps(said)}"))
    wanted = rounds[number]
    if name.endswith("capabilities"):
        wanted = {key: request for key, request in wanted.items() if supported(ctx, request)}
    state = None if name in STATELESS else sealed(number)
    return InputRequiredResult(input_requests=wanted, request_state=state)


async def fail(_ctx: Any, _params: Any) -> CallToolResult:
    wrong = text("This tool intentionally returns an error for testing")
    return CallToolResult(content=[wrong], is_error=True)


async def log(ctx: Any, _params: Any) -> CallToolResult:
    for words in ("started", "processing data", "completed"):
        await ctx.session.send_log_message(
            "info", f"Tool execution {words}", related_request_id=ctx.request_id
        )
        await anyio.sleep(PAUSE_S)
    return answer(text("Logged."))


async def progress(ctx: Any, _params: Any) -> CallToolResult:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(PAUSE_S)
    return answer(text("Done."))


async def sample(ctx: Any, params: Any) -> CallToolResult:
    messages = [SamplingMessage(role="user", content=text(params.arguments["prompt"]))]
    made = await ctx.session.create_message(
        messages, max_tokens=100, related_request_id=ctx.request_id
    )
    return answer(text(f"LLM response: {made.content.text}"))


async def elicit(message: str | None, schema: Schema, ctx: Any, params: Any) -> CallToolResult:
    wanted = {"type": "object", **schema}
    asked = message or params.arguments["message"]
    said = await ctx.session.elicit_form(asked, wanted, related_request_id=ctx.request_id)
    return answer(text(f"User response: action={said.action}, content={json.dumps(said.content)}"))


async def need_sampling(ctx: Any, _params: Any) -> CallToolResult:
    if not supported(ctx, sampled("")):
        missing: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        message = "This tool needs a client that samples."
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, missing)
    return answer(text("This client samples."))


def titled(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in pairs]


TITLED = titled(("value1", "First"), ("value2", "Second"), ("value3", "Third"))
USER: Schema = {
    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
    "required": ["username", "email"],
}
DEFAULTS: Schema = {
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
}
OPTIONS = ["option1", "option2", "option3"]
ENUMS: Schema = {
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    }
}


def tools(listening: Any) -> dict[str, Tool]:
    """All fixture tools; the lists of a server are changed through what listens to it."""

    async def change(event: Any, _ctx: Any, _params: Any) -> CallToolResult:
        for listeners in listening._listeners.values():
            await listeners.bus.publish(event)
        return answer(text("Changed."))

    async def same(blocks: tuple[ContentBlock, ...], _ctx: Any, _params: Any) -> CallToolResult:
        return answer(*blocks)

    return {
        **{name: partial(same, blocks) for name, blocks in CONTENTS.items()},
        **{name: partial(ask, name) for name in ASKING},
        "test_error_handling": fail,
        "test_tool_with_logging": log,
        "test_logging_tool": log,
        "test_tool_with_progress": progress,
        "test_sampling": sample,
        "test_missing_capability": need_sampling,
        "test_elicitation": partial(elicit, None, USER),
        "test_elicitation_sep1034_defaults": partial(elicit, "Who are you?", DEFAULTS),
        "test_elicitation_sep1330_enums": partial(elicit, "Choose.", ENUMS),
        "test_trigger_tool_change": partial(change, ToolsListChanged()),
        "test_trigger_prompt_change": partial(change, PromptsListChanged()),
    }


NOTHING: Schema = {"type": "object", "properties": {}}
SCHEMAS: dict[str, Schema] = {
    "test_sampling": {
        "type": "object",
        "properties": {"prompt": {"type": "string"}},
        "required": ["prompt"],
    },
    "test_elicitation": {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
    "test_with_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"city": {"type": "string"}},
            }
        },
        "properties": {
            "address": {"$ref": "#/$defs/address"},
            "way": {"enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"way": {"const": "phone"}}, "required": ["way"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}
"""Of the tools that take something."""


def said(*blocks: ContentBlock) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=b) for b in blocks])


PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
"""Prompts, and the arguments that each needs."""


async def prompt(_ctx: Any, params: Any) -> GetPromptResult | InputRequiredResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return said(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            both = ", ".join(f"{name}='{given[name]}'" for name in ("arg1", "arg2"))
            return said(text(f"Prompt with arguments: {both}"))
        case "test_prompt_with_embedded_resource":
            words = "Embedded resource content for testing."
            resource = embedded(given["resourceUri"], "text/plain", words)
            return said(resource, text("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return said(image(), text("Please analyze the image above."))
    if CONTEXT.keys() <= (params.input_responses or {}).keys():
        return said(text("With the context that was given."))
    return InputRequiredResult(input_requests=CONTEXT)


RESOURCES = {
    "test://static-text": "text/plain",
    "test://static-binary": "image/png",
    "test://watched-resource": "text/plain",
}
TEMPLATE = "test://template/{id}/data"


def resource(uri: str) -> dict[str, str] | None:
    """The content of a fixture resource; None where there is none."""
    templated = re.fullmatch(r"test://template/([^/]+)/data", uri)
    if templated:
        data = {"id": templated[1], "templateTest": True, "data": f"Data for ID: {templated[1]}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}
    if uri not in RESOURCES:
        return None
    content = {"uri": uri, "mimeType": RESOURCES[uri]}
    if uri == "test://static-binary":
        return {**content, "blob": PIXEL}
    return {**content, "text": "This is the content of the static text resource."}
