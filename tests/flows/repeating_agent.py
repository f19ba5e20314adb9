"""Clients of MCP that make a call again when they are told to try again, as agents do.

Each call has a `request_id`, by which day1 knows that it was made before.
"""

import threading
import time
from collections import Counter
from typing import Any

import httpx2

from tests.wires.tool_call import post_call

WAIT_S = 120
AGAIN = {"store_busy", "store_unavailable"}
"""What a call may be refused with while a server is away."""


class Progress:
    """What all have done together, to be waited for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.done = self.refused = 0
        self.failed: list[Exception] = []

    def fail(self, failed: Exception) -> None:
        with self._changed:
            self.failed.append(failed)
            self._changed.notify_all()

    def note(self, *, refused: bool) -> None:
        with self._changed:
            self.done += not refused
            self.refused += refused
            self._changed.notify_all()

    def wait(self, *, done: int = 0, refused: int = 0) -> None:
        """Wait until so many calls are done, and so many were refused."""
        with self._changed:
            enough = self._changed.wait_for(
                lambda: self.failed or (self.done >= done and self.refused >= refused), WAIT_S
            )
            assert enough, (self.done, self.refused)
            assert not self.failed, self.failed


class Agent:
    """One client, which writes on a branch of its own and on one that all share."""

    def __init__(self, address: str, name: str, progress: Progress) -> None:
        self._http = httpx2.Client(base_url=address, timeout=WAIT_S, verify=False)
        self._progress = progress
        self.name, self.own = name, f"own/{name}"
        self.facts: list[str] = []
        self.messages: list[str] = []
        self.codes: Counter[str] = Counter()

    def run(self, rounds: int) -> None:
        try:
            self._work(rounds)
        except Exception as exc:
            self._progress.fail(exc)
        finally:
            self._http.close()

    def _work(self, rounds: int) -> None:
        self._insist("branch", "memory_branch_create", branch_name=self.own)
        talk = None
        for number in range(rounds):
            text = f"{self.name} says {number}"
            self._insist(f"{number}-own", "memory_write_fact", fact_text=text, branch=self.own)
            text = f"{self.name} tells all {number}"
            self._insist(f"{number}-all", "memory_write_fact", fact_text=text, branch="shared")
            self.facts.append(text)
            said = {"role": "user", "content": f"{self.name} asks {number}", "branch": "shared"}
            said |= {} if talk is None else {"conversation_id": talk}
            talk = self._insist(f"{number}-talk", "memory_log_message", **said)["conversation_id"]
            self.messages.append(said["content"])
            both = {"source_branch": self.own, "target_branch": "shared", "strategy": "auto"}
            self._insist(f"{number}-merge", "memory_branch_merge", **both)
            self.facts.append(f"{self.name} says {number}")

    def _insist(self, request: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Make one call, again and again with one id, until it is answered with what it did."""
        arguments["request_id"] = f"{self.name}-{request}"
        until = time.monotonic() + WAIT_S
        while True:
            code, body = self._call(tool, arguments)
            self._progress.note(refused=bool(code))
            if not code:
                return body
            self.codes[code] += 1
            assert code in AGAIN, (code, tool, arguments, body)
            assert time.monotonic() < until, self.codes
            time.sleep(0.05)  # as a client waits before it tries again

    def _call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Call once; says the code of a refusal, or nothing, and the answer."""
        answer = post_call(self._http, tool, arguments)
        body: dict[str, Any] = answer.json()
        if "error" in body:
            return _code(body["error"]), body
        structured: dict[str, Any] = body["result"]["structuredContent"]
        if body["result"].get("isError"):
            return _code(structured["error"]), structured
        return "", structured


def _code(error: dict[str, Any]) -> str:
    """The code of an error, which in one of JSON-RPC's stands in its data."""
    code = error["code"]
    return str(error["data"]["code"] if isinstance(code, int) else code)
