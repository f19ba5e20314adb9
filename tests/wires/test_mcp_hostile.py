"""Lines on stdin that are no message: each is answered, and the server goes on."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wires.mcp_session import WAIT_S
from tests.wires.raw_pipe import RawPipe

PARSE, INVALID = -32700, -32600
DEEP = "[" * 200_000


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawPipe]:
    with RawPipe(tmp_path_factory.mktemp("hostile") / "store", toolsets="core") as pipe:
        yield pipe


def answered(pipe: RawPipe, count: int) -> list[dict[str, Any]]:
    """The next lines on stdout."""
    return [json.loads(pipe.line()) for _ in range(count)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param(DEEP, PARSE, id="deep and cut off"),
        pytest.param(DEEP + "]" * len(DEEP), PARSE, id="deep"),
        pytest.param('{"a":' * 50_000 + "1" + "}" * 50_000, PARSE, id="deep objects"),
        pytest.param("no JSON", PARSE, id="no JSON"),
        pytest.param("{", PARSE, id="half"),
        pytest.param("[]", INVALID, id="a batch"),
        pytest.param("7", INVALID, id="a number"),
        pytest.param('{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID, id="another protocol"),
        pytest.param('{"jsonrpc":"2.0","id":1,"method":7}', INVALID, id="no method"),
    ],
)
def test_a_line_that_is_no_message_is_answered(pipe: RawPipe, line: str, code: int) -> None:
    """B8: a line that cannot be read gets an error of JSON-RPC, and ends nothing."""
    pipe.send(line)
    (answer,) = answered(pipe, 1)
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert pipe.ask("ping", "{}")["result"] == {}


def test_calls_around_a_broken_line_are_answered(tmp_path: Path) -> None:
    """B8: calls before and after such a line are answered as ever."""
    with RawPipe(tmp_path / "store", toolsets="core") as pipe:
        calls = [
            f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":'
            f'"memory_write_fact","arguments":{{"fact_text":"Fact {number}."}}}}}}'
            for number in (901, 902)
        ]
        pipe.send("\n".join((calls[0], DEEP, calls[1])))
        found = {answer["id"]: answer for answer in answered(pipe, 3)}
        assert found[None]["error"]["code"] == PARSE
        assert not any(found[number]["result"].get("isError") for number in (901, 902))
        assert pipe.leave() == 0


def test_an_empty_line_on_stdin_is_not_answered(pipe: RawPipe) -> None:
    """B8: nor is it answered."""
    pipe.send("\n\r\n")
    assert pipe.ask("ping", "{}")["result"] == {}


LISTED = '{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{}}}}'
MANY = 200
"""Lists of tools: more than the pipe and the server hold for a client that reads nothing."""
LATE_S = 2.0
"""How long a client reads nothing; a server that is slower only makes the test find less."""


def test_a_client_that_reads_late_gets_every_answer_in_turn(tmp_path: Path) -> None:
    with RawPipe(tmp_path / "store", toolsets="core") as pipe:
        pipe.send("\n".join(LISTED.format(id=number) for number in range(MANY)))
        time.sleep(LATE_S)
        found = answered(pipe, MANY)
        assert sorted(answer["id"] for answer in found) == list(range(MANY))
        assert pipe.leave() == 0


def test_calls_before_the_end_of_stdin_are_answered(tmp_path: Path) -> None:
    """More than the pipe holds; a call that still runs then is told that the connection ends."""
    with RawPipe(tmp_path / "store", toolsets="core") as pipe:
        assert pipe.process.stdin is not None
        assert pipe.process.stdout is not None
        pipe.send("\n".join(LISTED.format(id=number) for number in range(20)))
        pipe.process.stdin.close()
        pipe.process.stdin = None
        time.sleep(LATE_S)
        assert pipe.process.poll() is None
        answers = [json.loads(line) for line in pipe.process.stdout]
        assert sorted(answer["id"] for answer in answers) == list(range(20))
        assert pipe.process.wait(WAIT_S) == 0


def test_a_client_that_reads_nothing_does_not_keep_the_server_from_leaving(tmp_path: Path) -> None:
    with RawPipe(tmp_path / "store", toolsets="core") as pipe:
        pipe.send("\n".join(LISTED.format(id=number) for number in range(MANY)))
        pipe.process.send_signal(signal.SIGTERM)
        assert pipe.process.wait(WAIT_S) == 128 + signal.SIGTERM


def test_a_client_that_closes_its_end_is_served_no_longer(tmp_path: Path) -> None:
    with RawPipe(tmp_path / "store", toolsets="core") as pipe:
        assert pipe.process.stdout is not None
        pipe.process.stdout.close()
        pipe.send(LISTED.format(id=1))
        assert pipe.process.wait(WAIT_S) == 0
