"""A stand-in for a model, for clients that were set up: it speaks the HTTP APIs that they speak.

It calls `memory_write_fact` once where that is offered, then says one sentence. It keeps what it
was sent. Of each API it has what a client needs to go on, and no more.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FACT = "Swallows sleep in reeds."
SAYS = "It is written down."
TOOL = "memory_write_fact"
CALL_ID = "call_1"

Json = dict[str, Any]


def anthropic(body: Json, tool: str | None) -> list[Json]:
    """Of Claude Code."""
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": SAYS}
    if tool:
        block = {"type": "tool_use", "id": CALL_ID, "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"fact_text": FACT})}
    usage = {"input_tokens": 9, "output_tokens": 9}
    message: Json = {"id": "m", "type": "message", "role": "assistant", "model": body["model"]}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    stop = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def responses(body: Json, tool: str | None) -> list[Json]:
    """Of Codex; a server's tools are in a namespace."""
    said = [{"type": "output_text", "text": SAYS, "annotations": []}]
    item: Json = {"type": "message", "role": "assistant", "id": "m", "content": said}
    if tool:
        item = {"type": "function_call", "id": "f", "call_id": CALL_ID, "name": tool}
        item |= {"arguments": json.dumps({"fact_text": FACT})}
        item |= {"namespace": next(t["name"] for t in body["tools"] if tool in names(t))}
    answer: Json = {"id": "r", "object": "response", "status": "completed", "output": [item]}
    answer |= {"usage": {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}}
    return [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer},
    ]


def gemini(_body: Json, tool: str | None) -> list[Json]:
    """Of Gemini CLI."""
    call = {"functionCall": {"name": tool, "args": {"fact_text": FACT}}}
    content = {"role": "model", "parts": [call if tool else {"text": SAYS}]}
    return [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}]


def chat(_body: Json, tool: str | None) -> list[Json]:
    """Of opencode, which has a provider for whatever speaks as OpenAI did first."""
    function = {"name": tool, "arguments": json.dumps({"fact_text": FACT})}
    call = {"index": 0, "id": CALL_ID, "type": "function", "function": function}
    delta: Json = {"role": "assistant", **({"tool_calls": [call]} if tool else {"content": SAYS})}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if tool else "stop"}
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [end]},
    ]


APIS = {
    "/v1/messages": anthropic,
    "/responses": responses,
    "enerateContent": gemini,
    "/chat/completions": chat,
}
"""Each by what its path has in it."""


def names(tool: Json) -> list[str]:
    """The names of the functions in an entry of a request's tools."""
    inner = [*tool.get("tools", ()), *tool.get("functionDeclarations", ())]
    inner += [tool["function"]] if "function" in tool else []
    return [str(each.get("name")) for each in inner or [tool]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "StandIn"

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        speaks = next((api for part, api in APIS.items() if part in self.path), None)
        if speaks is None or "ountTokens" in self.path or "count_tokens" in self.path:
            return self._answer(b'{"input_tokens": 9, "totalTokens": 9}')
        self.server.asked.append(body)
        offered = [name for tool in body.get("tools") or () for name in names(tool)]
        tool = next((name for name in offered if name.endswith(TOOL)), None)
        said = json.dumps({key: body.get(key) for key in ("messages", "input", "contents")})
        called = said.count(TOOL) and any(mark in said for mark in (CALL_ID, "functionCall"))
        events = speaks(body, None if called else tool)
        lines = "".join(
            (f"event: {event['type']}\n" if "type" in event else "")
            + f"data: {json.dumps(event)}\n\n"
            for event in events
        )
        return self._answer(lines.encode(), "text/event-stream")

    def _answer(self, data: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class StandIn(ThreadingHTTPServer):
    """The server; `asked` has the bodies of the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Json] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """A stand-in that serves."""
    with StandIn() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
