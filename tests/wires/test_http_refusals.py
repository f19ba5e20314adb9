"""What a client of MCP is told when the middleware refuses: day1's code, not that there was an error."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from day1.call.toolset import ErrorShape
from day1.errors import (
    BodyTooLong,
    Day1Error,
    NotAStore,
    Refused,
    StoreUnavailable,
    TooManyRequests,
    Unauthorized,
)
from day1.interfaces.http.bodies import BodySizes
from day1.interfaces.http.middleware import AccessMiddleware, AccessRules
from day1.interfaces.http.probes import Metrics
from day1.services.access.authentication import without_place
from tests.wires.http_server import HttpServer

LISTED = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


def causes(error: BaseException) -> list[BaseException]:
    """An error, or those of a group of tasks."""
    inner = getattr(error, "exceptions", None)
    return [error] if inner is None else [e for one in inner for e in causes(one)]


def told(make: Callable[[], Any], mode: str) -> dict[str, Any]:
    """The `data` of the error that the official client raises."""

    async def run() -> None:
        async with make() as wire, Client(wire, mode=mode) as client:
            await client.list_tools()

    with pytest.raises(BaseException) as raised:
        anyio.run(run)
    (found,) = [error for error in causes(raised.value) if isinstance(error, MCPError)]
    data: dict[str, Any] = found.error.data
    assert found.error.message == data["message"]
    return data


def wire(url: str, app: ASGIApp | None = None, **headers: str) -> Callable[[], Any]:
    @asynccontextmanager
    async def open_wire() -> AsyncIterator[Any]:
        transport = None if app is None else httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, headers=headers, timeout=60) as http:
            yield streamable_http_client(url, http_client=http)

    return open_wire


class Refusing:
    """Stands for an `Authenticator` that admits nobody."""

    def __init__(self, error: Day1Error) -> None:
        self._error = error

    def admit(self, *_: object) -> None:
        raise self._error

    admit_browser = admit


def refusing_app(error: Day1Error) -> ASGIApp:
    rules = AccessRules(
        names=(),
        rate=0,
        bodies=BodySizes(100_000),
        public=lambda _: False,
        page=lambda _: False,
        cookie=lambda _: None,
        refused=lambda _error, _request: PlainTextResponse("a page"),
    )
    return AccessMiddleware(
        PlainTextResponse("inside"), cast("Any", Refusing(error)), rules, Metrics(), lambda: 0
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailable("The database does not answer: try again.", server="dolt"),
        TooManyRequests("Wait, then go on.", retry_after=0.25),
        Unauthorized("This token opens nothing."),
    ],
    ids=lambda error: error.code,
)
def test_a_client_of_mcp_is_told_why_it_is_refused(error: Day1Error, mode: str) -> None:
    """F3: the server is away, the client too quick, or its token wrong: the exception says it."""
    data = told(wire("http://localhost/mcp", refusing_app(error)), mode)
    assert data == without_place(error).body()["error"]


@pytest.mark.parametrize(
    "error",
    [Refused("The server does not let this user in."), NotAStore("The server has no database.")],
    ids=lambda error: error.code,
)
def test_a_caller_is_not_told_that_it_may_not_what_day1_may_not(error: Day1Error) -> None:
    """A database that turned day1 away, as after a change of the password, was a 403 or a 404."""
    answer = TestClient(refusing_app(error), "http://localhost").post("/api/v1/memory_branch_list")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_wrong_token_is_named_by_a_served_day1(tmp_path: Path, mode: str) -> None:
    """F3: the same over a socket."""
    with HttpServer(tmp_path / "store") as server:
        server.token("first")
        url = f"{server.address}/mcp/all"
        assert told(wire(url, Authorization="Bearer day1_wrong"), mode)["code"] == "unauthorized"


def sent(body: bytes, path: str = "/mcp", method: str = "POST", **headers: str) -> httpx2.Response:
    async def run() -> httpx2.Response:
        transport = httpx2.ASGITransport(refusing_app(Unauthorized("This token opens nothing.")))
        async with httpx2.AsyncClient(transport=transport) as http:
            return await http.request(
                method, f"http://localhost{path}", content=body, headers=headers
            )

    return anyio.run(run)


@pytest.mark.parametrize(
    ("body", "request_id"),
    [
        (json.dumps(LISTED).encode(), 7),
        (json.dumps({**LISTED, "id": "a"}).encode(), "a"),
        (json.dumps({**LISTED, "id": True}).encode(), None),
        (json.dumps({**LISTED, "id": {"a": 1}}).encode(), None),
        (json.dumps([LISTED, LISTED]).encode(), None),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', None),
        (b'{"jsonrpc":"2.0","id":7,"result":{}}', None),
        (json.dumps({**LISTED, "params": {"a": "x" * 20_000}}).encode(), None),
        (b"", None),
        (b"{", None),
        (b"\xff", None),
        (b"[" * 16_000, None),
        (b"9" * 5_000, None),
    ],
)
def test_a_refusal_is_a_json_rpc_error_of_the_request(body: bytes, request_id: object) -> None:
    """F3: with the id of the one request that a body is, in the same status, with its headers."""
    answer = sent(body)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    document = answer.json()
    assert (document["jsonrpc"], document["id"]) == ("2.0", request_id)
    assert document["error"]["code"] == -32600
    assert document["error"]["data"]["code"] == "unauthorized"


@pytest.mark.parametrize(("path", "method"), [("/mcp", "GET"), ("/mcpx", "POST"), ("/api", "POST")])
def test_what_is_no_message_is_refused_as_elsewhere(path: str, method: str) -> None:
    """F3: REST and streams keep their shape."""
    assert sent(b"{}", path, method).json()["error"]["code"] == "unauthorized"


def test_a_host_that_is_not_ours_and_a_path_that_is_not_there_are_told_too(tmp_path: Path) -> None:
    """F3: whatever refuses before a tool runs does it in one shape for each kind of client."""
    with HttpServer(tmp_path / "store", DAY1_HTTP__BODY_BYTES="20000") as server:
        hosted = {"json": LISTED, "headers": {"Host": "rebound.example"}}
        answers = {
            "host_unknown": server.ask("POST", "/mcp", **hosted),
            "not_found": server.ask("POST", "/mcp/nothing", json=LISTED),
            "body_too_long": server.ask("POST", "/mcp", content=b"x" * 20_001),
        }
    for code, answer in answers.items():
        assert answer.code == code
        assert answer.body["id"] == (None if code == "body_too_long" else 7)


@pytest.mark.parametrize(("gone", "status"), [("ledger.db", 503), ("lock", 200)])
def test_who_has_no_token_is_not_told_where_the_store_is(
    tmp_path: Path, gone: str, status: int
) -> None:
    """F3: the code says that it is away; its path or server is for those who run it."""
    store = tmp_path / "store"
    with HttpServer(store) as server:
        server.token("first")
        (store / gone).rename(tmp_path / gone)
        (store / gone).mkdir()
        ready = server.ask("GET", "/ready")
        answers = [
            ready,
            server.ask("POST", "/mcp", json=LISTED),
            server.post("memory_search", query="noon"),
            server.ask("GET", "/review"),
            server.ask("GET", "/review/login"),
        ]
        (store / gone).rmdir()
        (tmp_path / gone).rename(store / gone)
    assert not [answer for answer in answers if str(tmp_path) in str(answer.body)]
    assert ready.status == status
    (error,) = ready.body.get("wrong") or [ready.body["error"]]
    assert (error["code"], "`day1 doctor`" in error["message"]) == ("store_unavailable", True)


@pytest.mark.parametrize(
    ("origin", "forwarded", "status"),
    [
        ("http", None, 200),
        ("https", None, 403),
        ("https", "https", 200),
        ("http", "https", 403),
        ("ftp", None, 403),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_page_of_this_server_has_its_scheme_too(
    tmp_path: Path, origin: str, forwarded: str | None, status: int, *, named: bool
) -> None:
    """Behind a proxy that adds TLS it is that of the proxy, if the proxy is named."""
    if forwarded and not named:
        status = 200 if origin == "http" else 403
    trusted = ("127.0.0.1",) if named else ()

    async def run() -> tuple[int, str]:
        inner: Any = refusing_app(Unauthorized("No."))
        app: Any = ProxyHeadersMiddleware(inner, trusted_hosts=[*trusted])
        transport = httpx2.ASGITransport(app, client=("127.0.0.1", 1))
        headers = {"Origin": f"{origin}://localhost"}
        headers |= {"X-Forwarded-Proto": forwarded} if forwarded else {}
        async with httpx2.AsyncClient(transport=transport) as http:
            answer = await http.get("http://localhost/x", headers=headers)
            return answer.status_code, answer.text

    code, text = anyio.run(run)
    assert code == (401 if status == 200 else 403)
    assert ("DAY1_HTTP__TRUSTED_PROXIES" in text) == (status == 403)


def test_what_is_refused_before_a_tool_has_the_form_of_its_path() -> None:
    """Whoever has the contract of a product reads its errors, whatever stops the request."""

    def body(error: Day1Error, _: object) -> dict[str, Any]:
        return {"fault": error.code}

    shape = ErrorShape(body, {}, {BodyTooLong: 499})
    rules = AccessRules(
        names=(),
        rate=0,
        bodies=BodySizes(10),
        public=lambda _: True,
        page=lambda _: False,
        cookie=lambda _: None,
        refused=lambda _error, _request: PlainTextResponse("a page"),
        shape=lambda path: shape if path.startswith("/api/other") else ErrorShape(),
    )
    app = AccessMiddleware(
        PlainTextResponse("inside"), cast("Any", None), rules, Metrics(), lambda: 0
    )

    async def run(path: str, **request: Any) -> tuple[int, Any]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
            answer = await http.post(f"http://localhost{path}", **request)
            return answer.status_code, answer.json()

    both = {"Content-Length": "1", "Transfer-Encoding": "chunked"}
    requests: dict[str, tuple[int, dict[str, Any]]] = {
        "body_too_long": (499, {"content": b"x" * 11}),
        "host_unknown": (421, {"headers": {"Host": "elsewhere"}}),
        "origin_forbidden": (403, {"headers": {"Origin": "http://elsewhere"}}),
        "body_ambiguous": (400, {"headers": both}),
    }
    for code, (status, request) in requests.items():
        assert anyio.run(partial(run, "/api/other/x", **request)) == (status, {"fault": code})
        own, document = anyio.run(partial(run, "/api/v1/x", **request))
        assert (own, document["error"]["code"]) == (413 if status == 499 else status, code)
