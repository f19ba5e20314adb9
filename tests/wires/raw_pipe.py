"""A server spoken to by hand, line by line, for what the official client cannot or will not say."""

import json
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any, Self

from tests.forkserver import python
from tests.wires.mcp_session import WAIT_S, environment, server_arguments

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by-hand", "version": "1"},
}


class RawPipe:
    """One server process on a store of its own; every line it says on stdout is kept."""

    def __init__(self, folder: Path, toolsets: str = "core,review", **settings: str) -> None:
        self.folder = folder
        self.log = folder.with_suffix(".log")
        self.said: list[str] = []
        self._toolsets, self._settings = toolsets, settings
        self._leaving, self._asked = ExitStack(), 0
        self._read = b""

    def __enter__(self) -> Self:
        errors = self._leaving.enter_context(self.log.open("w", encoding="utf-8"))
        self.process = subprocess.Popen(
            [*python(), *server_arguments(self._toolsets)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(self.folder, **self._settings),
            cwd=self.folder.parent,
            encoding="utf-8",
        )
        self.ask("initialize", json.dumps(HELLO))
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate()
        self._leaving.close()

    def send(self, line: str) -> None:
        """Write one line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: str) -> dict[str, Any]:
        """Send a request with `params` as JSON text, and read its answer."""
        self._asked += 1
        self.send(f'{{"jsonrpc":"2.0","id":{self._asked},"method":"{method}","params":{params}}}')
        self.said.append(self.line())
        answer: dict[str, Any] = json.loads(self.said[-1])
        assert answer["id"] == self._asked
        return answer

    def line(self) -> str:
        """The next line on stdout: several may come at once, so what is read is kept here."""
        assert self.process.stdout is not None
        while b"\n" not in self._read:
            assert select([self.process.stdout], [], [], WAIT_S)[0], "no answer"
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            assert part, "no more answers"
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return f"{line.decode()}\n"

    def call(self, tool: str, arguments: str) -> dict[str, Any]:
        """Call a tool with arguments as JSON text; gives the result."""
        answer = self.ask("tools/call", f'{{"name":"{tool}","arguments":{arguments}}}')
        result: dict[str, Any] = answer["result"]
        return result

    def leave(self) -> int:
        """End stdin; gives the exit code. What is left on stdout is kept."""
        rest, _ = self.process.communicate(timeout=60)
        self.said += (self._read.decode() + rest).splitlines(keepends=True)
        return self.process.returncode
