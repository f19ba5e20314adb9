"""A chat model over HTTP, and the judge that asks it, against a small server of the protocol."""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from day1.adapters.chat.openai import OpenAiChat
from day1.adapters.judges.chat import INSTRUCTIONS, ChatJudge
from day1.errors import ChatUnavailable, InvalidRequest
from day1.model.records.judgement import Case, Evidence
from day1.ports.chat import Answer
from tests.fakes import chat_server
from tests.fakes.chat_server import ChatServer, document, judgement, said

KEY, SECRET_TEXT = "sk-very-secret", "Ada keeps the spare key under the blue pot."
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "number"}}}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer().serving() as server:
        yield server


def asking(server: ChatServer, **options: Any) -> tuple[OpenAiChat, list[float]]:
    """A chat over the server that notes its pauses instead of taking them."""
    chat = OpenAiChat(server.url, "fake/model", key=KEY, **options)
    pauses: list[float] = []
    chat._endpoint.pause = pauses.append
    return chat, pauses


def ask(chat: OpenAiChat) -> Answer:
    return chat.ask("Count.", {"text": SECRET_TEXT}, SCHEMA, "counting")


def test_instructions_data_and_schema_each_have_their_place(server: ChatServer) -> None:
    server.answer = lambda asked: said({"a": 1})
    chat, _ = asking(server)
    assert chat.name == "fake/model"
    tokens = (chat_server.PROMPT_TOKENS, chat_server.COMPLETION_TOKENS)
    assert ask(chat) == Answer({"a": 1}, *tokens)
    (asked,) = server.asked
    assert asked["path"] == "/v1/chat/completions"
    assert asked["model"] == "fake/model"
    assert [m["role"] for m in asked["messages"]] == ["system", "user"]
    assert asked["messages"][0]["content"] == "Count."
    assert document(asked) == {"text": SECRET_TEXT}
    form = asked["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"] == {"name": "counting", "strict": True, "schema": SCHEMA}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_the_address_may_name_the_path_and_must_be_http(server: ChatServer) -> None:
    server.answer = lambda asked: said({"a": 1})
    assert ask(OpenAiChat(f"{server.url}/chat/completions/", "m")).value == {"a": 1}
    assert server.asked[0]["path"] == "/v1/chat/completions"
    assert "Authorization" not in server.headers[0]
    for url in ("file:///etc/passwd", "http://host:99999/v1", "http://[::1/v1"):
        with pytest.raises(InvalidRequest):
            OpenAiChat(url, "m")


def test_the_proxy_of_the_environment_is_used_for_the_scheme_and_not_for_excepted_hosts(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer = lambda asked: said({"a": 1})
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    assert ask(OpenAiChat(server.url, "m")).value == {"a": 1}
    monkeypatch.setenv("http_proxy", server.url.removeprefix("http://").removesuffix("/v1"))
    assert ask(OpenAiChat("http://model.invalid/v1", "m")).value == {"a": 1}
    assert server.asked[-1]["path"] == "http://model.invalid/v1/chat/completions"
    for excepted, host in (("model.invalid", "model.invalid"), ("other.invalid:81",) * 2):
        monkeypatch.setenv("no_proxy", excepted)
        with pytest.raises(ChatUnavailable, match="cannot be reached"):
            ask(OpenAiChat(f"http://{host}/v1", "m"))
    assert ask(OpenAiChat("http://other.invalid/v1", "m")).value == {"a": 1}


def test_an_address_that_nobody_can_ask_is_an_endpoint_that_cannot_be_reached() -> None:
    with pytest.raises(ChatUnavailable, match="cannot be reached"):
        ask(OpenAiChat("http://model\0.invalid/v1", "m"))


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, (0, 0)),
        ({"prompt_tokens": 7}, (7, 0)),
        ({"prompt_tokens": -7, "completion_tokens": "9"}, (0, 0)),
        ({"prompt_tokens": True, "completion_tokens": 2**60}, (0, 0)),
    ],
)
def test_tokens_are_what_the_endpoint_soundly_states(
    server: ChatServer, usage: Any, tokens: tuple[int, int]
) -> None:
    message = {"choices": [{"message": {"content": '```json\n{"a": 1}\n```'}}], "usage": usage}
    server.answer = lambda asked: (200, {}, json.dumps(message).encode())
    answer = ask(asking(server)[0])
    assert (answer.value, answer.prompt_tokens, answer.completion_tokens) == ({"a": 1}, *tokens)


def test_a_busy_endpoint_is_asked_again_and_a_broken_one_given_up(server: ChatServer) -> None:
    answers = [(429, {"Retry-After": "3600"}, b""), (503, {}, b""), said({"a": 1})]
    server.answer = lambda asked: answers.pop(0)
    chat, pauses = asking(server)
    assert ask(chat).value == {"a": 1}
    assert pauses == [10.0, 1.0]
    server.answer = lambda asked: (500, {}, b"")
    chat, pauses = asking(server, tries=2)
    with pytest.raises(ChatUnavailable, match="status 500"):
        ask(chat)
    assert len(pauses) == 1


@pytest.mark.parametrize(
    "answer",
    [
        (401, {}, json.dumps([KEY, SECRET_TEXT]).encode()),
        (302, {"Location": "http://127.0.0.1:1/"}, b""),
        (200, {}, b"<html>" + SECRET_TEXT.encode()),
        (200, {}, b"\xff\xfe"),
        (200, {}, b"[" * 100_000),
        (200, {}, b"[]"),
        (200, {}, b'{"choices": []}'),
        (200, {}, b'{"choices": [{"message": {"content": null}}]}'),
        (200, {}, b'{"choices": [{"message": {"content": "[1]"}}], "usage": 3}'),
        (200, {}, said({"a": 1})[2] + b" " * (1024 * 1024)),
        said(f"Of course! {SECRET_TEXT}"),
        said("[" * 100_000),
        said([1]),
    ],
    ids=[
        "refusal", "redirect", "html", "no-text", "deep", "list", "no-choice", "null", "usage",
        "huge", "chatter", "deep-inside", "list-inside",
    ],
)  # fmt: skip
def test_a_useless_answer_is_an_error_that_quotes_nothing(
    server: ChatServer, answer: chat_server.Answer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda asked: answer
    chat, _ = asking(server)
    with caplog.at_level(logging.DEBUG), pytest.raises(ChatUnavailable) as caught:
        ask(chat)
    assert len(server.asked) == 1
    said_of_it = json.dumps(caught.value.body()) + caplog.text
    assert "127.0.0.1" in said_of_it
    assert not any(word in said_of_it for word in (KEY, "Ada", "pot", "html", "course"))


def test_an_endpoint_that_is_not_there_hangs_or_drips_is_left(server: ChatServer) -> None:
    go_on = threading.Event()

    def hang(_asked: Any) -> chat_server.Answer:
        go_on.wait(5)
        return said({"a": 1})

    server.answer = hang
    chat, _ = asking(server, timeout_s=0.1)
    with pytest.raises(ChatUnavailable, match="cannot be reached"):
        ask(chat)
    go_on.set()
    with pytest.raises(ChatUnavailable, match="cannot be reached"):
        ask(OpenAiChat("http://127.0.0.1:1/v1", "m"))


@pytest.mark.parametrize(
    ("first", "part"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b" "),
    ],
    ids=["header", "interim", "chunk", "body"],
)
def test_an_answer_that_drips_is_left_in_time(first: bytes, part: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            taken, _ = listening.accept()
            with taken, suppress(OSError):
                taken.sendall(first)
                for _ in range(60):
                    taken.sendall(part)
                    time.sleep(0.05)  # what drips is what is tried here

        dripping = threading.Thread(target=drip)
        dripping.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        started = time.monotonic()
        with pytest.raises(ChatUnavailable, match="cannot be reached"):
            ask(OpenAiChat(url, "m", timeout_s=0.2))
        assert time.monotonic() - started < 2
        dripping.join()


def test_a_key_may_end_in_a_newline_and_what_cannot_be_sent_is_refused(server: ChatServer) -> None:
    server.answer = lambda asked: said({"a": 1})
    ask(OpenAiChat(server.url, "m", key=f"{KEY}\n"))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    for key in ("sk-\nx", "sk-\u043a\u043b\u044e\u0447"):
        with pytest.raises(InvalidRequest, match="one line of ASCII") as caught:
            OpenAiChat(server.url, "m", key=key)
        assert key not in str(caught.value)


# The judge


def a_case(**more: Any) -> Case:
    evidence = Evidence("fact_2", "fact", f"They say: {SECRET_TEXT}", 5, "agent-007", cosine=0.9)
    return Case(SECRET_TEXT, at=3, now=10, agent_id="agent-006", evidence=(evidence,), **more)


def judge_over(server: ChatServer) -> ChatJudge:
    return ChatJudge(asking(server)[0])


def test_a_judgement_counts_names_its_judge_and_sends_no_name(server: ChatServer) -> None:
    judged = judge_over(server).judge(a_case(context="Where is the key?"))
    assert judged.judge == "chat:fake/model"
    assert (judged.verdict, judged.reason) == ("verified", "as told")
    assert [(s.dimension, s.score) for s in judged.scores] == [
        ("accuracy", 0.9),
        ("relevance", 0.9),
        ("specificity", 0.9),
    ]
    tokens = (chat_server.PROMPT_TOKENS, chat_server.COMPLETION_TOKENS)
    assert (judged.prompt_tokens, judged.completion_tokens) == tokens
    (asked,) = server.asked
    assert asked["messages"][0]["content"] == INSTRUCTIONS
    sent = asked["messages"][1]["content"]
    assert SECRET_TEXT in sent
    assert "agent-00" not in sent
    assert "fact_2" not in sent
    schema = asked["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["scores"]["required"] == ["accuracy", "relevance", "specificity"]


@pytest.mark.parametrize(("score", "verdict"), [(0.6, "verified"), (0.3, "unverified"), (0.29, "invalidated")])  # fmt: skip
def test_the_models_own_verdict_counts_for_nothing(
    server: ChatServer, score: float, verdict: str
) -> None:
    server.answer = lambda asked: judgement(asked, score, verdict="verified")
    assert judge_over(server).judge(a_case(dimensions=("accuracy", "safety"))).verdict == verdict


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda j: j["scores"].pop("accuracy"),
        lambda j: j["scores"].update(extra={"score": 1, "reason": "r"}),
        lambda j: j["scores"]["accuracy"].update(score=1.01),
        lambda j: j["scores"]["accuracy"].update(score=-0.01),
        lambda j: j["scores"]["accuracy"].update(score=float("nan")),
        lambda j: j["scores"]["accuracy"].update(score=float("inf")),
        lambda j: j["scores"]["accuracy"].update(score=10**400),
        lambda j: j["scores"]["accuracy"].update(score=True),
        lambda j: j["scores"]["accuracy"].update(score="1"),
        lambda j: j["scores"]["accuracy"].update(score=None),
        lambda j: j["scores"]["accuracy"].pop("reason"),
        lambda j: j["scores"]["accuracy"].update(reason=3),
        lambda j: j["scores"].update(accuracy=1.0),
        lambda j: j.update(scores=[0.9, 0.9, 0.9]),
        lambda j: j.update(scores="accuracy"),
        lambda j: j.pop("reason"),
        lambda j: j.pop("scores"),
    ],
)
def test_scores_that_do_not_fit_are_no_judgement(server: ChatServer, spoil: Change) -> None:
    def answer(asked: dict[str, Any]) -> chat_server.Answer:
        _, _, body = judgement(asked, 0.9)
        value = json.loads(json.loads(body)["choices"][0]["message"]["content"])
        spoil(value)
        return said(value)

    server.answer = answer
    with pytest.raises(ChatUnavailable, match="one score of 0 to 1"):
        judge_over(server).judge(a_case())


def test_a_reason_is_one_clean_short_line(server: ChatServer) -> None:
    wild = "two\nlines \ud800 \x1b[31m\u202e " + "x" * 5_000
    server.answer = lambda asked: said(
        {
            "scores": {"accuracy": {"score": 1, "reason": wild}},
            "reason": wild,
        }
    )
    judged = judge_over(server).judge(a_case(dimensions=("accuracy",)))
    for reason in (judged.reason, str(judged.scores[0].reason)):
        assert reason.startswith("two lines [31m xxx")
        assert reason.isprintable()
        assert len(reason) < 410


def test_long_texts_are_cut_before_they_are_sent(server: ChatServer) -> None:
    long = "Ada and Bo went to Graz with " + "many more people " * 1_800
    evidence = Evidence("fact_2", "fact", long, 5)
    judge_over(server).judge(Case(long, at=3, now=10, evidence=(evidence,) * 8))
    assert len(server.asked[0]["messages"][1]["content"]) < 20_000
