"""Requests with values of 8 MiB: which paths take them, from whom, and how many at once."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

import day1
from day1.call.toolset import ErrorShape
from day1.interfaces.http import bodies, rest
from day1.interfaces.http.bodies import BodySizes, WholeBodies
from day1.toolsets.over_http import TOOLSETS
from tests.wires.http_server import HttpServer

LONG = "/api/v1/entry_put"
ESCAPED = "\N{LATIN SMALL LETTER E WITH ACUTE}" * ((8_388_608 - len('{"n":""}')) // 2)
"""The text of a value of 8 MiB whose JSON is three times as long where all but ASCII is escaped."""


def body_of(value: Any, key: str = "k") -> bytes:
    return json.dumps({"entries": [{"key": key, "value": value}]}).encode()


def test_only_the_calls_that_take_long_values_have_long_paths() -> None:
    assert rest.long_paths(TOOLSETS) == {
        "/api/v1/entry_put",
        "/api/v1/message_append",
        "/api/v1/rows_apply",
    }


def test_a_value_of_8_mib_fits_a_request_however_it_is_escaped(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        body = body_of({"n": ESCAPED})
        assert len(body) > 3 * 8_300_000
        assert server.ask("POST", LONG, content=body).status == 200
        with day1.connect(server.address) as memory:
            entry = memory.get("k")
            assert entry is not None
            assert entry.value["n"] == ESCAPED
        answer = server.ask("POST", LONG, content=body_of({"n": ESCAPED + "x"}))
        assert (answer.status, answer.code) == (400, "value_too_large")
        answer = server.ask("POST", LONG, content=b" " * 33_554_433)
        assert (answer.status, answer.code) == (413, "body_too_long")
        assert "DAY1_HTTP__VALUE_BODY_BYTES" in answer.body["error"]["message"]
        log = server.log.read_text(encoding="utf-8")
        assert "\\u00e9" not in log
        assert len(log) < 100_000


def test_values_that_are_too_large_for_one_answer_are_asked_for_in_parts(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store", DAY1_STORE__ANSWER_BYTES="8388608") as server:
        for key in ("a", "b"):
            assert (
                server.ask("POST", LONG, content=body_of({"n": "x" * 5_000_000}, key)).status == 200
            )
        answer = server.post("entry_find")
        assert (answer.status, answer.code) == (400, "answer_too_large")
        assert answer.body["error"]["details"]["limit"] == 8_388_608
        assert len(server.ok("entry_find", limit=1)["entries"]) == 1
        answer = server.post("entry_get", keys=[{"key": "a"}, {"key": "b"}])
        assert (answer.status, answer.code) == (400, "answer_too_large")


def test_other_calls_and_callers_without_a_token_send_less(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        answer = server.ask("POST", "/api/v1/memory_write_fact", content=b" " * 5_000_000)
        assert (answer.status, answer.code) == (413, "body_too_long")
        assert "DAY1_HTTP__BODY_BYTES" in answer.body["error"]["message"]
        server.token("first")
        answer = server.ask("POST", LONG, content=body_of({"n": "x" * 8_000_000}))
        assert (answer.status, answer.code) == (401, "unauthorized")
        answer = server.ask("POST", LONG, "day1_wrong", content=body_of({"n": "x" * 8_000_000}))
        assert (answer.status, answer.code) == (401, "unauthorized")


@pytest.mark.parametrize(("length", "at_once"), [(100, 9), (101, bodies._LONG_AT_ONCE)])
def test_a_few_long_bodies_are_handled_at_once_and_the_others_wait(
    length: int, at_once: int
) -> None:
    inside = most = 0
    go = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await go.wait()
        inside -= 1
        await PlainTextResponse("done")(scope, receive, send)

    limited = WholeBodies(app, BodySizes(100, 200, frozenset({"/long"})), lambda _: ErrorShape())
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * length, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {"type": "http", "headers": [], "method": "POST", "path": "/long"}
        tasks = [asyncio.create_task(limited(scope, receive, send)) for _ in range(9)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert inside == at_once
        go.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert most == at_once
    assert [message["status"] for message in sent if "status" in message] == [200] * 9


def test_two_programs_that_write_one_entry_at_once_leave_one_of_their_values(
    tmp_path: Path,
) -> None:
    texts = [letter * 8_000_000 for letter in "ab"]
    with HttpServer(tmp_path / "store") as server:

        def write(text: str) -> None:
            with day1.connect(server.address) as memory:
                memory.set("k", {"n": text})

        threads = [threading.Thread(target=write, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with day1.connect(server.address) as memory:
            entry = memory.get("k")
            assert entry is not None
            assert entry.value["n"] in texts
            versions = memory.history(entry.id).versions
            assert [version.how for version in versions] == ["changed", "added"]


def test_no_page_sends_a_long_value_to_a_browser(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        with day1.connect(server.address) as memory:
            memory.set("k", {"text": "The lathe.\n" * 600_000}, space="files:a")
            with memory.branch("side") as side:
                side.set("k", {"text": "The mill.\n" * 600_000}, space="files:a")
                review = side.review(into="main", title="Take it.")
            memory.set("k", {"text": "The forge.\n" * 600_000}, space="files:a")
            entry = memory.get("k", space="files:a")
            assert entry is not None
        paths = [
            f"/review/reviews/{review.id}",
            f"/review/rows/{entry.id}?branch=main",
            f"/review/rows/{entry.id}?branch=side",
            "/review/branches/side",
        ]
        for path in paths:
            answer = server.ask("GET", path)
            assert (path, answer.status) == (path, 200)
            assert len(answer.body) < 600_000, path
