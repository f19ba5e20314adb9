"""Embeddings from an endpoint over HTTP: what is asked, asked again, and refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from day1.adapters.embedders.openai import OpenAiEmbedder
from day1.errors import EmbedderUnavailable, InvalidRequest

Answer = tuple[int, dict[str, str], bytes]


class Endpoint:
    """A small server that answers what `answer` says and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda asked: good(asked["input"])
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append({"path": self.path, **body})
                endpoint.headers.append(dict(self.headers))
                status, headers, answer = endpoint.answer(body)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the standard library
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


def good(texts: list[str], *, backwards: bool = True) -> Answer:
    """Vectors of length other than 1, listed in another order than asked."""
    rows = [
        {"index": index, "embedding": [float(len(text)), 1.0, 2.0]}
        for index, text in enumerate(texts)
    ]
    return 200, {}, json.dumps({"data": rows[::-1] if backwards else rows}).encode()


def vectors(*rows: Any) -> Answer:
    data = [{"index": index, "embedding": row} for index, row in enumerate(rows)]
    return 200, {}, json.dumps({"data": data}).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    thread = threading.Thread(target=endpoint.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()


def asking(endpoint: Endpoint, **options: Any) -> tuple[OpenAiEmbedder, list[float]]:
    """An embedder over the endpoint that notes its pauses instead of taking them."""
    pauses: list[float] = []
    embedder = OpenAiEmbedder(endpoint.url, "some/model", **options)
    embedder._endpoint.pause = pauses.append
    return embedder, pauses


def test_rows_come_back_in_order_and_normalised(endpoint: Endpoint) -> None:
    embedder, _ = asking(endpoint, key="secret-key")
    texts = ["x" * length for length in range(1, 151)]
    found = embedder.embed(texts)
    expected = np.array([[length, 1, 2] for length in range(1, 151)], np.float64)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-6
    assert [len(asked["input"]) for asked in endpoint.asked] == [64, 64, 22]
    assert {asked["path"] for asked in endpoint.asked} == {"/v1/embeddings"}
    assert endpoint.headers[0]["Authorization"] == "Bearer secret-key"


def test_the_dimension_is_learned_once_and_names_the_space(endpoint: Endpoint) -> None:
    embedder, _ = asking(endpoint)
    assert embedder.dimension == 3
    assert embedder.name.startswith("some-model-")
    assert embedder.name.endswith("-3")
    assert embedder.embed([]).shape == (0, 3)
    assert len(endpoint.asked) == 1
    other = OpenAiEmbedder(endpoint.url, "some-model", dimension=3)
    assert other.name != embedder.name


def test_the_address_may_name_the_path_and_must_be_http(endpoint: Endpoint) -> None:
    OpenAiEmbedder(f"{endpoint.url}/embeddings/", "m").embed(["", "x"])
    assert endpoint.asked[0]["path"] == "/v1/embeddings"
    assert endpoint.asked[0]["input"] == [" ", "x"]
    assert "Authorization" not in endpoint.headers[0]
    for url in ("file:///etc/passwd", "localhost:8000", "ftp://host/v1"):
        with pytest.raises(InvalidRequest):
            OpenAiEmbedder(url, "m")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint, status: int) -> None:
    answers = [(status, {"Retry-After": "3600"}, b""), (status, {}, b"")]
    endpoint.answer = lambda asked: answers.pop(0) if answers else good(asked["input"])
    embedder, pauses = asking(endpoint)
    assert embedder.embed(["x"]).shape == (1, 3)
    assert pauses == [10.0, 1.0]


def test_an_endpoint_that_stays_broken_is_given_up(endpoint: Endpoint) -> None:
    endpoint.answer = lambda asked: (500, {}, b"")
    embedder, pauses = asking(endpoint)
    with pytest.raises(EmbedderUnavailable, match="status 500"):
        embedder.embed(["x"])
    assert len(endpoint.asked) == 3
    assert len(pauses) == 2


def test_a_refusal_is_final_and_quotes_neither_text_nor_key(endpoint: Endpoint) -> None:
    endpoint.answer = lambda asked: (401, {}, json.dumps(asked).encode())
    embedder, _ = asking(endpoint, key="secret-key")
    with pytest.raises(EmbedderUnavailable, match="status 401") as caught:
        embedder.embed(["a private memory"])
    assert len(endpoint.asked) == 1
    assert "private" not in json.dumps(caught.value.body())
    assert "secret-key" not in json.dumps(caught.value.body())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(endpoint: Endpoint, status: int) -> None:
    endpoint.answer = lambda asked: (status, {"Location": f"{endpoint.url}/embeddings"}, b"")
    embedder, _ = asking(endpoint, key="secret-key")
    with pytest.raises(EmbedderUnavailable, match=f"status {status}"):
        embedder.embed(["x"])
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        vectors([1.0, float("nan"), 2.0], [1.0, 2.0, 3.0]),
        vectors([1.0, float("inf"), 2.0], [1.0, 2.0, 3.0]),
        vectors([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]),
        vectors([1.0, 2.0], [1.0, 2.0, 3.0]),
        vectors([1.0, 2.0], [1.0, 2.0]),
        vectors([1.0, 2.0, 3.0]),
        vectors(["a", "b", "c"], [1.0, 2.0, 3.0]),
        vectors([10**400, 2, 3], [1.0, 2.0, 3.0]),
        vectors(None, None),
        vectors([], []),
        (200, {}, b"<html>not json</html>"),
        (200, {}, b'{"error": "no"}'),
        (200, {}, b"[]"),
        (200, {}, b'{"data": [1, 2]}'),
    ],
    ids=[
        "nan", "infinite", "zero", "ragged", "other-dimension", "too-few", "words", "giant",
        "null", "empty", "html", "no-data", "list", "numbers",
    ],
)  # fmt: skip
def test_an_unsound_answer_is_refused(endpoint: Endpoint, answer: Answer) -> None:
    endpoint.answer = lambda asked: answer
    embedder, _ = asking(endpoint, dimension=3)
    with pytest.raises(EmbedderUnavailable):
        embedder.embed(["one", "two"])


def test_an_endpoint_that_is_not_there_or_hangs_says_so(endpoint: Endpoint) -> None:
    go_on = threading.Event()
    endpoint.answer = lambda asked: (go_on.wait(5), good(asked["input"]))[1]
    embedder, _ = asking(endpoint, timeout_s=0.05)
    with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
        embedder.embed(["x"])
    go_on.set()
    with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
        OpenAiEmbedder("http://127.0.0.1:1/v1", "m").embed(["x"])


def test_texts_are_cut_by_characters() -> None:
    embedder = OpenAiEmbedder("http://localhost/v1", "m")
    text = "".join(chr(0x4E00 + number) for number in range(2000))
    passages = embedder.passages(text)
    assert [len(passage) for passage in passages] == [800, 800, 720]
    assert passages[0] + passages[1][160:] + passages[2][160:] == text
    assert embedder.passages("x" * 800) == ["x" * 800]
    assert [len(passage) for passage in embedder.passages("x" * 801)] == [800, 161]
    assert len(embedder.passages("x" * 100_000)) == 64
