"""The processes that stay, on one store: an agent's server, the HTTP server, and a worker.

agent    `day1 mcp`, which an agent calls
server   `day1 serve`, called over MCP and over REST, with a page that listens
worker   `day1 mcp` that nobody calls: what it does, it does by itself
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from mcp.shared.exceptions import MCPError

from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Session

LIMIT_S = 30.0
"""Every call is answered within this time, whatever is wrong."""
_WINDOW_S = 3.0
OK = "ok"
CALLS = {
    "list": ("memory_timeline", {}),
    "search": ("memory_search", {"query": "one"}),
    "write": ("memory_write_fact", {}),
}


class ServerProcesses:
    """All of them; each call says `ok` or the code of its error."""

    def __init__(self, store: Path, command: list[str], settings: dict[str, Any]) -> None:
        self.store, self._command, self._settings = store, command, settings
        self._leaving = ExitStack()
        self.written: list[str] = []
        """What was acknowledged."""
        self.said: dict[str, str] = {}
        """The newest message or note of each call."""
        self._moved = threading.Event()

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            self.worker = entered.enter_context(self._session("worker"))
            self._called = entered.enter_context(ExitStack())
            self.agent = self._called.enter_context(self._session("agent"))
            server = HttpServer(self.store.parent / "server", **self._settings)
            server.command = self._command
            self.server = self._called.enter_context(server)
            self.client = self._called.enter_context(HttpSession(self.server))
            threading.Thread(target=self._listen, daemon=True).start()
            self._leaving = entered.pop_all()
        return self

    def _session(self, name: str) -> Session:
        """It writes down its number, which the client does not tell."""
        session = Session(self.store.parent / name, **self._settings)
        session.command = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._pid(name))]
        session.command += self._command
        return session

    def _pid(self, name: str) -> Path:
        return self.store.parent / f"{name}.pid"

    def leave_the_worker(self) -> None:
        """End all that is called."""
        self._called.close()

    def __exit__(self, *failure: Any) -> None:
        self._leaving.__exit__(*failure)

    def _listen(self) -> None:
        """As a page does: when the stream ends, it is opened again."""
        while self.server.process.poll() is None:
            try:
                with self.server.http.stream("GET", "/review/events") as stream:
                    for line in stream.iter_lines():
                        if line == "event: moved":
                            self._moved.set()
            except Exception:  # whatever it is, a page connects again
                time.sleep(0.2)  # as a page waits before it connects again

    # What they answer

    def ask_all(self) -> dict[str, dict[str, str]]:
        """Ask every wire for everything at once: by call and wire, what it answers."""
        wires: dict[str, Callable[[str, dict[str, Any]], str]] = {
            "agent": lambda tool, given: self._over_mcp(self.agent, tool, given),
            "client": lambda tool, given: self._over_mcp(self.client, tool, given),
            "rest": self._over_rest,
        }
        with ThreadPoolExecutor(len(CALLS) * len(wires)) as pool:
            asked = {
                name: {
                    wire: pool.submit(ask, tool, self._given(name, wire, given))
                    for wire, ask in wires.items()
                }
                for name, (tool, given) in CALLS.items()
            }
            started = time.monotonic()
            return {
                name: {
                    wire: answer.result(max(0.0, started + LIMIT_S - time.monotonic()))
                    for wire, answer in answers.items()
                }
                for name, answers in asked.items()
            }

    def _given(self, name: str, wire: str, given: dict[str, Any]) -> dict[str, Any]:
        if name != "write":
            return given
        return {"fact_text": f"one more by {wire}, number {time.monotonic_ns()}"}

    def _over_mcp(self, session: Session, tool: str, given: dict[str, Any]) -> str:
        try:
            answer = session.call(tool, given)
        except MCPError as error:  # refused before any tool runs
            return str(error.error.data["code"])
        return self._outcome(tool, given, answer.structured)

    def _over_rest(self, tool: str, given: dict[str, Any]) -> str:
        return self._outcome(tool, given, self.server.post(tool, **given).body)

    def _outcome(self, tool: str, given: dict[str, Any], answer: dict[str, Any]) -> str:
        if "error" in answer:
            self.said[tool] = answer["error"]["message"]
            return str(answer["error"]["code"])
        self.said[tool] = " ".join((answer.get("read") or answer["written"])["notes"])
        if "fact_text" in given:
            self.written.append(given["fact_text"])
        return OK

    def ready(self) -> tuple[int, set[str]]:
        """What `/ready` answers: its status, and the codes of what it says is wrong."""
        answer = self.server.ask("GET", "/ready")
        if answer.status != 200:
            return answer.status, {answer.code}
        return 200, {wrong["code"] for wrong in answer.body.get("wrong", ())}

    def lives(self) -> bool:
        return self.server.ask("GET", "/health").status == 200

    # What they do by themselves

    def processes(self) -> dict[str, int]:
        sessions = {name: int(self._pid(name).read_text()) for name in ("agent", "worker")}
        return {**sessions, "server": self.server.process.pid}

    def busy(self) -> dict[str, float]:
        """The share of one processor that each process takes while nobody calls."""
        before = {name: _seconds(pid) for name, pid in self.processes().items()}
        time.sleep(_WINDOW_S)  # what they do in that time is what is measured
        after = {name: _seconds(pid) for name, pid in self.processes().items()}
        return {name: (after[name] - before[name]) / _WINDOW_S for name in before}

    @contextmanager
    def page_hears(self) -> Iterator[threading.Event]:
        self._moved.clear()
        yield self._moved

    def logs(self) -> str:
        files = [self.agent.log, self.worker.log, self.server.log]
        return "".join(file.read_text(encoding="utf-8") for file in files)


def _seconds(pid: int) -> float:
    """Processor time that a process has taken, of its own and of the system's."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
