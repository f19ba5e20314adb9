"""A `day1 mcp` child process and the official client, for plain test functions.

Every answer is held against what the design promises of all of them: see `Session.call`.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from anyio.from_thread import start_blocking_portal
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs
from mcp import Client
from mcp.client.extension import ClientExtension
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, Request, RequestParamsMeta, TextContent
from pydantic import RootModel

from day1.adapters.versioned.store import SqlStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import KINDS
from tests.engine import beside, ledger_rows, variables
from tests.forkserver import python

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0
"""An answer that takes longer never comes, however busy the machine."""
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
TIMES = {"created_at", "happened_at", "updated_at", "retracted_at", "restored_at", "held_at"}
TIMES |= {"timestamp", "started_at", "completed_at", "joined_at"}
BRIEF = {"memory_search", "memory_time_travel", "memory_search_task", "memory_search_messages"}
"""Tools whose text block has a part of what the structured form has of each row."""


class Answer(NamedTuple):
    """What a client receives of one call."""

    document: Any
    """The first text block, parsed."""
    structured: dict[str, Any]
    is_error: bool
    notes: list[str]
    """The text blocks after the first."""


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """The variables of a server on the store in `folder`, by keywords only and without Chroma."""
    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **variables(folder),
        "DAY1_EMBEDDER__KIND": "none",
        "DAY1_SEARCH__CHROMA": "false",
        "DAY1_LOG_LEVEL": "INFO",
        **settings,
    }


def server_arguments(toolsets: str) -> list[str]:
    """What follows `python` on the command line."""
    return ["-m", "day1", "mcp", "--toolsets", toolsets]


class Session:
    """One server process and one client of it; the event loop runs in a thread of its own."""

    def __init__(
        self, folder: Path, *, mode: str = "auto", toolsets: str = "core,review", **settings: str
    ) -> None:
        """Name the store's folder, the client's protocol era and further environment."""
        self.folder, self._mode, self._settings = folder, mode, settings
        self._toolsets = toolsets
        self.log = folder.with_suffix(".log")
        self.told: Any = None
        """Told of what the server says by itself."""
        self.extensions: list[ClientExtension] = []
        """What the client says that it knows besides the protocol."""
        self.meta: dict[str, Any] = {}
        """What it says with each call."""
        self.command = python()
        """What runs Python."""
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        server = StdioServerParameters(
            command=self.command[0],
            args=[*self.command[1:], *server_arguments(self._toolsets)],
            env=environment(self.folder, **self._settings),
            cwd=self.folder.parent,
        )
        with ExitStack() as entered:
            errors = entered.enter_context(self.log.open("a", encoding="utf-8"))
            self._portal = entered.enter_context(start_blocking_portal())
            wire = stdio_client(server, errlog=errors)
            client = self._made(wire)
            self._client = entered.enter_context(self._portal.wrap_async_context_manager(client))
            self._leaving = entered.pop_all()
        self._introduce()
        return self

    def _made(self, wire: Any) -> Client:
        return Client(
            wire,
            mode=self._mode,
            read_timeout_seconds=WAIT_S,
            message_handler=self.told,
            extensions=self.extensions,
        )

    def _introduce(self) -> None:
        self.protocol = self._client.protocol_version
        self.instructions = self._client.instructions
        self.tools = {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving.__exit__(kind, error, trace)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Answer:
        """Call a tool; any answer must fit its output schema, be said twice, and name its state."""
        said = cast(RequestParamsMeta | None, {**self.meta, **(meta or {})} or None)
        work = partial(self._client.call_tool, tool, dict(arguments or {}), meta=said)
        result: CallToolResult = self._portal.call(work)
        blocks = [block.text for block in result.content if isinstance(block, TextContent)]
        assert len(blocks) == len(result.content)
        structured = result.structured_content
        assert structured is not None
        answer = self.parsed(blocks, structured, is_error=bool(result.is_error))
        self.check_error(answer) if answer.is_error else self.check_success(answer, tool)
        if not answer.is_error:
            schema = self.tools[tool].output_schema
            Draft202012Validator(schema).validate(structured)
            check_times(structured)
        return answer

    def parsed(self, blocks: list[str], structured: dict[str, Any], *, is_error: bool) -> Answer:
        """Parse an answer: the first text block is JSON."""
        document = json.loads(blocks[0])
        assert blocks[0] == json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return Answer(document, structured, is_error, blocks[1:])

    def check_success(self, answer: Answer, tool: str) -> None:
        """Check what holds for every answer of every tool."""
        _check_success(answer, tool)

    def check_error(self, answer: Answer) -> None:
        """Check what holds for every error."""
        _check_error(answer)

    def raw(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Send a request that the official client has no function for; gives the whole answer."""
        request = Request[dict[str, Any], str](method=method, params=params)
        work = partial(self._client.session.send_request, request, RootModel[dict[str, Any]])
        return self._portal.call(work).root

    def begin(
        self, tool: str, told: Callable[[float, float | None], None], /, **arguments: Any
    ) -> Future[CallToolResult]:
        """Call a tool that reports progress; cancelling the future cancels the call."""

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told(progress, total)

        work = partial(self._client.call_tool, tool, arguments, progress_callback=tell)
        return self._portal.start_task_soon(work)

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; gives the structured form."""
        answer = self.call(tool, arguments)
        assert not answer.is_error, answer.structured
        return answer.structured

    def found(self, tool: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """Call a tool that answers a list."""
        result: list[dict[str, Any]] = self.ok(tool, **arguments)["result"]
        return result

    def refused(self, tool: str, code: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse with `code` and change nothing; gives the error."""
        before = self.everything(arguments.values())
        answer = self.call(tool, arguments)
        assert answer.is_error, answer.structured
        error: dict[str, Any] = answer.structured["error"]
        assert error["code"] == code, error
        assert self.everything(arguments.values()) == before
        return error

    def everything(self, branches: Iterable[Any]) -> dict[str, Any]:
        """The whole ledger, and every row of main and of those of `branches` that exist.

        Read beside the server, as another process would; rows that no commit holds yet count.
        """
        state, store = ledger_rows(self.folder), self._beside
        refs = sorted(store.history.branches())
        for branch in {"main"} | {b for b in branches if isinstance(b, str) and b in refs}:
            with store.reading(Ref(branch=branch)) as reading:
                state[branch] = {kind.table: reading.find(kind, Query()) for kind in KINDS}
        return {**state, "refs": refs}

    @cached_property
    def _beside(self) -> SqlStore:
        return beside(self.folder, self._leaving)

    def takes(self, tool: str) -> dict[str, str]:
        """A tool's arguments, each in one short line: type, bounds, default or `!` if needed.

        Without `request_id`, which everything that writes takes (tests/wires/test_mcp_repeating).
        """
        schema = self.tools[tool].input_schema
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        return {n: said for n, said in _spelled_object(schema).items() if n != "request_id"}


def unscored(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hits to be compared: how rare a word is, and so a score, moves with all that is indexed."""
    return [{key: value for key, value in hit.items() if key != "score"} for hit in hits]


def _check_success(answer: Answer, tool: str) -> None:
    structured = answer.structured
    if tool in BRIEF:
        assert set(structured) == {"result", "read"}
        for row, whole in zip(answer.document, structured["result"], strict=True):
            assert row == {name: whole[name] for name in row}
    elif "result" in structured:
        assert set(structured) == {"result", "read"}
        assert answer.document == structured["result"]
    else:
        assert answer.document == structured
    states = [state for key in ("read", "written") if (state := structured.get(key))]
    assert len(states) == 1, "every answer says which state it is of"
    for key, fields in (
        ("read", {"branch", "commit", "pending", "mode", "notes"}),
        ("written", {"branch", "commit", "pending", "notes"}),
    ):
        assert structured.get(key) is None or set(structured[key]) == fields
    notes = states[0]["notes"]
    assert answer.notes == (["Note: " + " ".join(notes)] if notes else [])


def _check_error(answer: Answer) -> None:
    assert answer.document == answer.structured
    assert set(answer.structured) == {"error"}
    error = answer.structured["error"]
    assert set(error) - {"next"} == {"code", "message", "details"}
    for step in error.get("next", ()):
        assert step["operation"] in error["message"] or step.get("arguments")
    assert error["message"]
    assert isinstance(error["details"], dict)
    assert answer.notes == []


def check_times(part: Any) -> None:
    """Every time in an answer is ISO 8601 UTC with offset."""
    if isinstance(part, list):
        for one in part:
            check_times(one)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in {"held", "decided", "memories", "exported_at"}:
                continue  # cells by name, with a word for each; a form that is not day1's
            if key in TIMES and value is not None and not isinstance(value, dict):
                assert isinstance(value, str), (key, value)
                assert ISO.fullmatch(value), (key, value)
            check_times(value)


def _spelled_object(schema: dict[str, Any]) -> dict[str, str]:
    needed = schema.get("required", [])
    return {
        name: _spelled(part) + ("!" if name in needed else f" = {json.dumps(part.get('default'))}")
        for name, part in schema["properties"].items()
    }


def _spelled(part: dict[str, Any]) -> str:
    if "enum" in part:
        return "|".join("null" if value is None else value for value in part["enum"])
    if "anyOf" in part:
        return "|".join(_spelled(one) for one in part["anyOf"])
    if "type" not in part:
        return "any"
    types = [part["type"]] if isinstance(part["type"], str) else list(part["type"])
    if "items" in part:
        types[types.index("array")] = f"[{_spelled(part['items'])}]"
    if "properties" in part:
        inner = ", ".join(f"{n}: {s}" for n, s in _spelled_object(part).items())
        types[types.index("object")] = f"{{{inner}}}"
    bounds = ""
    if "minimum" in part or "maximum" in part:
        bounds = f" {part.get('minimum', '')}..{part.get('maximum', '')}"
    return "|".join(types) + bounds
