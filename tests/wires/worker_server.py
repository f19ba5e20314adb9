"""A `day1 serve --workers N`, and calls that a chosen one of its workers answers."""

import json
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from day1.app.http import SERVED
from tests.waiting import until
from tests.wires.http_server import HttpServer, Response
from tests.wires.mcp_session import WAIT_S

WORKERS = 2


class WorkerServer(HttpServer):
    """A server with several workers, which are processes of Python itself."""

    workers = WORKERS
    """How many."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0, **settings: str) -> None:
        """Name the store's folder, further arguments and environment."""
        super().__init__(folder, "--workers", str(self.workers), *arguments, port=port, **settings)
        self.supervisor = 0
        """The process that started the workers; `process` may stand for it: see tests/forkserver."""

    def __enter__(self) -> Self:
        super().__enter__()
        said = (self.folder / SERVED).read_text(encoding="utf-8")
        self.supervisor = int(said.rpartition("process ")[2].rstrip(")"))
        return self

    @property
    def pids(self) -> list[int]:
        """The living workers, by age."""
        parent = fork_server(self.supervisor)
        return [] if parent is None else children(parent)

    def all_ready(self, but: int | None = None) -> list[int]:
        """Wait until all workers answer; `but` is one that was killed."""

        def ready() -> list[int]:
            pids = self.pids
            return pids if len(pids) == self.workers and but not in pids else []

        while True:
            pids = until(ready, "as many workers as before", WAIT_S)
            # The supervisor replaces a worker that was stopped for five seconds: see `connected`.
            with suppress(ProcessLookupError):
                for pid in pids:
                    assert self.at(pid).status == 200
                return pids

    def shared_folder(self, pid: int) -> Path:
        """The folder that the workers share: one of them has its number's lock open there."""
        return next(file.parent for file in open_files(pid) if file.name in {"0.lock", "1.lock"})

    @contextmanager
    def connected(self, pid: int) -> Iterator[HTTPConnection]:
        """A connection that this worker accepted: the others were stopped meanwhile."""
        others = [other for other in self.pids if other != pid]
        url = urlsplit(self.address)
        connection = HTTPConnection(url.hostname or "", url.port, timeout=WAIT_S)
        try:
            for other in others:
                os.kill(other, signal.SIGSTOP)
            try:
                connection.request("GET", "/health")
                connection.getresponse().read()
            finally:
                for other in others:
                    os.kill(other, signal.SIGCONT)
            yield connection
        finally:
            connection.close()

    def at(
        self,
        pid: int,
        method: str = "GET",
        path: str = "/health",
        body: Any = None,
        **headers: str,
    ) -> Response:
        """Let this worker answer a request."""
        with self.connected(pid) as connection:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            content = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, path, content, given)
            answer = connection.getresponse()
            return Response(answer.status, _parsed(answer), dict(answer.headers.items()))

    def call(self, pid: int, operation: str, key: str | None = None, **arguments: Any) -> Any:
        """Let this worker answer an operation, which must succeed."""
        headers = {} if key is None else {"Idempotency_Key": key}
        answer = self.at(pid, "POST", f"/api/v1/{operation}", arguments, **headers)
        assert answer.status == 200, answer
        return answer.body


class OldSession:
    """A session of MCP's 2025 protocol, each request of which a chosen worker gets."""

    def __init__(
        self,
        server: WorkerServer,
        pid: int,
        path: str = "/mcp",
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin a session at a worker."""
        self._server, self._path, self._count = server, path, 0
        self.headers = {
            "Accept": "application/json, text/event-stream",
            "Content_Type": "application/json",
        }
        client = {"name": "test", "version": "1"}
        begun = self.ask(
            pid,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities=capabilities or {},
            clientInfo=client,
        )
        assert begun.status == 200, begun
        self.id = begun.headers["mcp-session-id"]
        self.headers |= {"Mcp_Session_Id": self.id, "MCP_Protocol_Version": "2025-06-18"}
        assert self.ask(pid, "notifications/initialized").status == 202

    def ask(self, pid: int, method: str, **params: Any) -> Response:
        """Send a message by a worker."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            self._count += 1
            message["id"] = self._count
        return self._server.at(pid, "POST", self._path, message, **self.headers)

    def call(self, pid: int, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool by a worker; it must succeed."""
        answer = self.ask(pid, "tools/call", name=tool, arguments=arguments)
        assert answer.status == 200, answer
        result: dict[str, Any] = answer.body["result"]
        assert not result.get("isError"), result
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def end(self, pid: int) -> int:
        """End the session by a worker; answers the status."""
        return self._server.at(pid, "DELETE", self._path, None, **self.headers).status


class EventStream:
    """A stream of events that a worker sends, read line by line."""

    def __init__(self, server: WorkerServer, pid: int, path: str, **headers: str) -> None:
        """Name the worker and the path."""
        self._connecting = server.connected(pid)
        self._path, self._headers = path, headers

    def __enter__(self) -> Self:
        connection = self._connecting.__enter__()
        given = {name.replace("_", "-"): value for name, value in self._headers.items()}
        connection.request("GET", self._path, headers=given)
        self.answer: HTTPResponse = connection.getresponse()
        return self

    def __exit__(self, *failure: Any) -> None:
        if isinstance(self.answer.fp, socket.SocketIO):
            self.answer.fp.close()
        self._connecting.__exit__(*failure)

    def data(self, wanted: str) -> dict[str, Any]:
        """Wait for an event whose data has a text."""
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream ended"
            if line.startswith("data:") and wanted in line:
                data: dict[str, Any] = json.loads(line.removeprefix("data:"))
                return data


def fork_server(supervisor: int) -> int | None:
    """The process from which the workers of a supervisor are forked."""
    for pid in children(supervisor):
        with suppress(FileNotFoundError, ProcessLookupError):
            command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
            if b"multiprocessing.forkserver" in command:
                return pid
    return None


def children(parent: int) -> list[int]:
    """The living child processes of a process, by age."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[1] == str(parent) and fields[0] != "Z":
            pids.append((int(fields[19]), int(process.name)))
    return [pid for _, pid in sorted(pids)]


def open_files(pid: int) -> list[Path]:
    """The files that a process has open; none if it has ended."""
    files = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for handle in (Path("/proc") / str(pid) / "fd").iterdir():
            with suppress(FileNotFoundError):
                files.append(handle.readlink())
    return files


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended with all its threads and was not waited for does not."""
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    state, thread_count = fields[0], int(fields[17])
    return state != "Z" or thread_count > 1  # its files are open until the last thread has ended


def _parsed(answer: HTTPResponse) -> Any:
    text = answer.read().decode()
    if answer.headers.get_content_type() == "text/event-stream":
        text = next((line[5:] for line in text.splitlines() if line.startswith("data:")), text)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
