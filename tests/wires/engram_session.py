"""Clients of engram's toolset, and lessons to store."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Session

LESSON = {
    "context": "Uploads failed at night",
    "action": "Raised the client timeout to 30 seconds",
    "result": "Uploads pass",
}


@contextmanager
def served(wire: str, folder: Path, embedder: str = "none", **settings: Any) -> Iterator[Session]:
    """A client of the toolset alone, over stdio or HTTP."""
    settings["DAY1_EMBEDDER__KIND"] = embedder
    with ExitStack() as entered:
        if wire == "stdio":
            client = Session(folder, toolsets="engram", **settings)
            yield entered.enter_context(client)
        else:
            server = entered.enter_context(HttpServer(folder, **settings))
            yield entered.enter_context(HttpSession(server, path="/mcp/engram"))


def store(session: Session, /, **more: Any) -> dict[str, Any]:
    """Store a lesson, the usual one but for what is given."""
    return session.ok("memory_store", **{**LESSON, **more})


def lesson(number: int, **more: Any) -> dict[str, Any]:
    """A lesson like no other."""
    return {
        "context": f"Case {number} of the parser",
        "action": f"Tried variant number {number}",
        "result": f"Outcome {number}",
        **more,
    }
