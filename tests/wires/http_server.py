"""A `day1 serve` process, and clients of it for plain test functions."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp.client.streamable_http import streamable_http_client

from tests.forkserver import python
from tests.sampling import sampled
from tests.wires.mcp_session import WAIT_S, Session, environment

WIRES = ("stdio", "http")
STDIO_DAILY = sampled(WIRES, {"stdio"})
"""For tests whose rule is the same on both wires: the other one is for the run of the week."""
HTTP_DAILY = sampled(WIRES, {"http"})
"""What a client of a toolset speaks over."""
_ADDRESS = re.compile(r"(http://[^\s/]+)/review\s")


class Response(NamedTuple):
    """What a script receives."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code of an error; in JSON-RPC's it is among its data."""
        error = self.body["error"]
        code: str = error["data"]["code"] if "jsonrpc" in self.body else error["code"]
        return code


class HttpServer:
    """One server process on a store; its log is beside the store."""

    module = "day1"
    """What is run."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0, **settings: str) -> None:
        """Name the store's folder, further arguments and environment."""
        self.folder = folder
        self.log = folder.with_suffix(".http.log")
        self._arguments = ("--port", str(port), *arguments)
        self._settings = settings
        self.command = python()
        """What runs Python."""
        self.address = ""

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [*self.command, "-m", self.module, "serve", *self._arguments],
            env={**os.environ, **environment(self.folder, **self._settings)},
            cwd=self.folder.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._ready.wait(WAIT_S), self.log.read_text(encoding="utf-8")
        assert self.address, self.log.read_text(encoding="utf-8")
        self.http = httpx2.Client(base_url=self.address, timeout=WAIT_S, verify=False)
        return self

    def _read(self) -> None:
        """Keep the log, and find the address in it."""
        assert self.process.stderr is not None
        with self.log.open("ab", buffering=0) as log:
            for line in self.process.stderr:
                with suppress(OSError):  # on a full disk the server still needs a reader
                    log.write(line.encode())
                found = _ADDRESS.match(line)
                if found is not None:
                    self.address = found[1]
                    self._ready.set()
        self._ready.set()

    def __exit__(self, *_: object) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(WAIT_S)
        finally:
            self.process.kill()
        self._reader.join(WAIT_S)
        with self.process:  # closes its pipes
            assert self.process.stdout is not None
            assert self.process.stdout.read() == "", "stdout belongs to nobody here"

    def post(self, operation: str, token: str | None = None, /, **arguments: Any) -> Response:
        """Call an operation over REST."""
        return self.ask("POST", f"/api/v1/{operation}", token, json=arguments)

    def ask(self, method: str, path: str, token: str | None = None, /, **what: Any) -> Response:
        """Ask anything."""
        headers = dict(what.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        answer = self.http.request(method, path, headers=headers, **what)
        try:
            body = answer.json()
        except json.JSONDecodeError:
            body = answer.text
        return Response(answer.status_code, body, answer.headers)

    def ok(self, operation: str, token: str | None = None, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation that must succeed."""
        answer = self.post(operation, token, **arguments)
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.body
        return found

    def token(self, name: str, scope: str = "admin", by: str | None = None, /, **more: Any) -> str:
        """Make a token; from the first one on, every call needs one."""
        secret: str = self.ok("token_create", by, name=name, scope=scope, **more)["secret"]
        return secret


class HttpSession(Session):
    """The official client over streamable HTTP, checked as over stdio."""

    def __init__(
        self,
        server: HttpServer,
        *,
        path: str = "/mcp/all",
        mode: str = "auto",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Name the server, the path of the tools, the protocol era and what goes with requests."""
        super().__init__(server.folder, mode=mode)
        self.url = server.address + path
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._headers = {**bearer, **(headers or {})}

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            self._portal = entered.enter_context(start_blocking_portal())
            http = httpx2.AsyncClient(headers=self._headers, timeout=WAIT_S, verify=False)
            entered.enter_context(self._portal.wrap_async_context_manager(http))
            wire = streamable_http_client(self.url, http_client=http)
            client = self._made(wire)
            self._client = entered.enter_context(self._portal.wrap_async_context_manager(client))
            self._leaving = entered.pop_all()
        self._introduce()
        return self
