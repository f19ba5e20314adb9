"""Clients of gwt's toolset, whose errors are flat and whose broadcast is plain text."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from tests.engine import FOLDER, engine
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Answer, Session


class GwtSession(Session):
    """A client of gwt: what holds for all of its answers is checked with each call."""

    def parsed(self, blocks: list[str], structured: dict[str, Any], *, is_error: bool) -> Answer:
        """Parse an answer: the text of a broadcast stands there as it is."""
        if blocks[0] == structured.get("text"):
            return Answer(structured, structured, is_error, blocks[1:])
        return super().parsed(blocks, structured, is_error=is_error)

    def check_success(self, answer: Answer, _tool: str) -> None:
        """Check that both forms say the same, with the notes of the state beside them."""
        whole = answer.structured
        assert answer.document == whole.get("result", whole)
        states = [state for key in ("read", "written") if (state := whole.get(key))]
        assert len(states) <= 1
        notes = [note for state in states for note in state["notes"]]
        assert answer.notes == (["Note: " + " ".join(notes)] if notes else [])

    def check_error(self, answer: Answer) -> None:
        """Check that an error is flat, and the same in both forms."""
        assert answer.document == answer.structured
        assert isinstance(answer.structured["error"], str)
        assert answer.structured["error"]
        assert {"error", "code", "details"} <= set(answer.structured)
        assert answer.notes == []

    def refused(self, tool: str, code: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse with `code` and change nothing; gives the whole error."""
        before = self.everything(arguments.values())
        answer = self.call(tool, arguments)
        assert answer.is_error, answer.structured
        assert answer.structured["code"] == code, answer.structured
        assert self.everything(arguments.values()) == before
        return answer.structured

    def store(self, content: str, **more: Any) -> str:
        """Store an item; gives its id."""
        row_id: str = self.ok("gwt_store", content=content, **more)["id"]
        return row_id

    def lines(self, **arguments: Any) -> list[dict[str, Any]]:
        """Export the items; gives the parsed lines."""
        jsonl: str = self.ok("gwt_export_memory", **arguments)["jsonl"]
        return [json.loads(line) for line in jsonl.splitlines()]


class HttpGwtSession(GwtSession, HttpSession):
    """The same over streamable HTTP."""

    def __enter__(self) -> Self:
        HttpSession.__enter__(self)
        return self


@contextmanager
def served(
    wire: str, folder: Path, embedder: str = "none", **settings: Any
) -> Iterator[GwtSession]:
    """A client of the toolset alone, over stdio or HTTP."""
    settings["DAY1_EMBEDDER__KIND"] = embedder
    with ExitStack() as entered:
        if wire == "stdio":
            yield entered.enter_context(GwtSession(folder, toolsets="gwt", **settings))
        else:
            server = entered.enter_context(HttpServer(folder, **settings))
            yield entered.enter_context(HttpGwtSession(server, path="/mcp/gwt"))


def is_place(data_dir: str, folder: Path) -> bool:
    """Whether an answer says where a store is: in its folder, or as a database on a server."""
    if engine() == FOLDER:
        return data_dir == str(folder)
    return re.fullmatch(r"[\w.-]+:\d+/\w+", data_dir) is not None
