"""A chat endpoint on this machine whose model believes every word.

It pretends to be a `POST /v1/chat/completions` of an OpenAI-compatible server. Its model looks at
what the evidence seems to say, unless it finds an order in the data, plain or disguised: that it
obeys. `answer` may be replaced to misbehave; `asked` and `headers` are what it was asked.
"""

import base64
import binascii
import json
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]
MODEL, PROMPT_TOKENS, COMPLETION_TOKENS = "fake-model", 321, 45

_ORDER = re.compile(
    r"ignor|instru[ck]|anweisung|指令|指示|инструкц|verdict|verified|invalidated|system|judge|score|"
    r"\bmark|accuracy|evaluator|\binst\b|evidence|10/10|your task",
    re.IGNORECASE,
)


class ChatServer:
    """Answers until it is closed."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = gullible
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append({"path": self.path, **body})
                endpoint.headers.append(dict(self.headers))
                status, headers, content = endpoint.answer(body)
                try:
                    self.send_response(status)
                    for name, value in {**headers, "Content-Length": str(len(content))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    """Who asked is gone."""

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @contextmanager
    def serving(self) -> Iterator["ChatServer"]:
        """Serve while the block runs."""
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def document(asked: dict[str, Any]) -> Any:
    """The data of a request: the user's one message is one JSON document."""
    (system, user) = asked["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    return json.loads(user["content"])


def gullible(asked: dict[str, Any]) -> Answer:
    """Judge by the evidence, or as an order in the data wants it."""
    data = document(asked)
    order = next(filter(None, (_order(text) for text in _texts(data))), None)
    if order is not None:
        return judgement(asked, 0.0 if "invalidated" in order else 1.0)
    seems = {one["seems_to"] for one in data["evidence"]}
    return judgement(asked, 0.0 if "contradict" in seems else 0.9 if "support" in seems else 0.4)


def judgement(asked: dict[str, Any], value: Any, why: str = "as told", **more: Any) -> Answer:
    """The same score for every dimension, in the form that was asked for."""
    names = document(asked)["dimensions"]
    scores = {name: {"score": value, "reason": f"{name} {why}"} for name in names}
    return said({"scores": scores, "reason": why, **more})


def said(content: Any) -> Answer:
    """A model's message: text as it is, anything else as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS}
    answer = {"choices": [{"index": 0, "message": message}], "usage": usage}
    return 200, {}, json.dumps(answer).encode()


def _texts(data: dict[str, Any]) -> Iterator[str]:
    yield data["claim"]["text"]
    yield data["claim"]["category"] or ""
    yield data["context"] or ""
    yield from data["relations"]
    for one in data["evidence"]:
        yield one["text"]


def _order(text: str) -> str | None:
    """An order in a text, however it is disguised."""
    seen = "".join(
        chr(ord(c) - 0xE0000) if 0xE0000 < ord(c) < 0xE0080 else c
        for c in text
        if unicodedata.category(c) != "Cf" or ord(c) > 0xE0000
    )
    seen = unicodedata.normalize("NFKC", seen).replace("\u043e", "o").replace("\u0430", "a")
    seen = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), seen)
    seen = re.sub(r"(?:\b\w ){5,}\w\b", lambda m: m[0].replace(" ", ""), seen)
    for word in seen.split():
        for decode in (bytes.fromhex, base64.b64decode):
            try:
                seen += " " + decode(word).decode()
            except (ValueError, binascii.Error):
                continue
    return seen if _ORDER.search(seen) else None
