"""A toolset of another product: its own `memory_search`, errors, routes and rule for branches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs
from mcp import Client
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Request, Response, Text
from day1.call.operation import Effect, Operation
from day1.call.toolset import Binding, ErrorShape, Hints, Namespace, Route, Toolset
from day1.errors import Day1Error, InvalidRequest, Json, NotFound, Say
from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.server import build_server
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import EVERYTHING
from day1.services.access.caller import Caller
from day1.services.access.calls import branch_of
from day1.toolsets import TOOLSETS, registered
from tests.flows.opened_store import opened
from tests.wires.served_toolsets import served

NOTES: dict[tuple[str, str], dict[str, Any]] = {}
"""The notes by branch and id."""


class PutNote(Request):
    """A note to keep.

    Attributes:
        project: What the note belongs to.
        text: What it says.
        pinned: Whether it comes first.
    """

    project: Label
    text: Text
    pinned: bool | None = False
    branch: OnBranch = None


class NotePut(Response):
    """The id of a new note."""

    id: str
    branch: str


class FindNotes(Request):
    """Which notes to find.

    Attributes:
        project: Only notes of this project.
        wanted: A word of the note.
        tags: Words of which each must be in the note.
        limit: How many to answer at most.
    """

    project: Label
    wanted: Label | None = None
    tags: list[Label] | None = None
    limit: Annotated[int, Field(ge=1, le=5)] | None = 5


class NotesFound(Response):
    """Texts of notes, the pinned ones first."""

    result: list[str]


class DropNote(Request):
    """A note to drop.

    Attributes:
        id: Its id.
        reason: Why.
    """

    id: Label
    reason: Label | None = None


class NoteDropped(Response):
    """What was dropped, and why."""

    id: str
    reason: str | None


def put_note(ctx: Context, request: PutNote) -> NotePut:
    """Keep a note."""
    branch = branch_of(ctx, request.branch).name
    note_id = f"n{len(NOTES) + 1}"
    NOTES[branch, note_id] = request.model_dump()
    return NotePut(id=note_id, branch=branch)


def find_notes(ctx: Context, request: FindNotes) -> NotesFound:
    """Find notes of a project."""
    branch = branch_of(ctx).name
    words = [w for w in (request.wanted, *(request.tags or ())) if w]
    found = [
        note
        for (where, _), note in NOTES.items()
        if where == branch and note["project"] == request.project
        if all(word in note["text"] for word in words)
    ]
    found.sort(key=lambda note: not note["pinned"])
    return NotesFound(result=[note["text"] for note in found][: request.limit])


def drop_note(ctx: Context, request: DropNote) -> NoteDropped:
    """Drop a note."""
    if NOTES.pop((branch_of(ctx).name, request.id), None) is None:
        raise NotFound(f"There is no note {request.id!r}.", id=request.id)
    return NoteDropped(id=request.id, reason=request.reason)


def fault_body(error: Day1Error, say: Say) -> dict[str, Json]:
    return {"fault": error.code, "because": error.worded(say)}


def shelf(caller: Caller) -> str:
    """Notes lie on a branch of their own, wherever the client's HEAD is."""
    return caller.branch or "shelf"


TOY = Toolset(
    "toy",
    (
        Operation("memory_search", find_notes, Effect.READ),
        Operation("note_put", put_note, Effect.WRITE),
        Operation("note_drop", drop_note, Effect.DESTROY),
    ),
    Namespace("/api/toy", "toy", "Notes of projects.", "/openapi/toy.json"),
    ErrorShape(
        fault_body,
        {
            "type": "object",
            "required": ["fault", "because"],
            "properties": {"fault": {"type": "string"}, "because": {"type": "string"}},
        },
        {NotFound: 410},
    ),
    (
        Route(
            "GET",
            "/projects/{project}/notes",
            200,
            Binding(
                "memory_search",
                query={"q": "wanted", "tag": "tags", "limit": "limit"},
                only="result",
            ),
        ),
        Route(
            "POST",
            "/projects/{project}/notes",
            201,
            Binding("note_put", query={"pinned": "pinned"}),
            id="addNote",
        ),
        Route(
            "DELETE", "/notes/{note}", 200, Binding("note_drop", {"note": "id"}, {"why": "reason"})
        ),
    ),
    shelf,
    Hints(("{note_put} keeps a note.", "{memory_timeline} tells when.")),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    NOTES.clear()
    with opened(tmp_path / "store", create=True) as store:
        tool = TOOLSETS.tools["memory_branch_create"]
        tool.call(store.context(Caller()), {"branch_name": "shelf"})
        yield store


def test_a_foreign_toolset_keeps_its_own_http_contract(store: OpenStore) -> None:
    with served(store, TOY) as http:
        made = http.post("/api/toy/projects/red/notes?pinned=true", json={"text": "buy blue ink"})
        assert (made.status_code, made.json()) == (201, {"id": "n1", "branch": "shelf"})
        http.post("/api/toy/projects/red/notes", json={"text": "sell blue paint"})
        found = http.get("/api/toy/projects/red/notes", params={"q": "blue", "limit": 1})
        assert (found.status_code, found.json()) == (200, ["buy blue ink"])
        both = http.get("/api/toy/projects/red/notes?tag=blue&tag=paint")
        assert both.json() == ["sell blue paint"]
        assert http.get("/api/toy/projects/green/notes").json() == []
        gone = http.delete("/api/toy/notes/n1?why=bought")
        assert (gone.status_code, gone.json()) == (200, {"id": "n1", "reason": "bought"})


def test_every_failure_of_its_routes_has_its_form(store: OpenStore) -> None:
    notes = "/api/toy/projects/red/notes"
    with served(store, TOY) as http:
        for status, code, answer in (
            (410, "not_found", http.delete("/api/toy/notes/n9")),
            (400, "invalid_request", http.get(f"{notes}?limit=9")),
            (400, "invalid_request", http.get(f"{notes}?colour=red")),
            (400, "invalid_request", http.get(f"{notes}?q=a&q=b")),
            (400, "invalid_request", http.post(notes, content="no JSON")),
            (400, "invalid_request", http.post(notes, json={"text": "t", "project": "green"})),
            (405, "invalid_request", http.put(notes, json={})),
            (410, "not_found", http.get("/api/toy/nowhere")),
            (410, "unknown_branch", http.get(notes, headers={"Day1-Branch": "none"})),
        ):
            assert answer.status_code == status, answer.text
            assert answer.json().keys() == {"fault", "because"}
            assert answer.json()["fault"] == code
        assert http.put(notes).headers["Allow"] == "GET, POST"
        ours = http.post("/api/v1/memory_search", json={"query": ""})
        assert ours.json()["error"]["code"] == "invalid_request"


def test_its_openapi_document_tells_its_routes_only(store: OpenStore) -> None:
    with served(store, TOY) as http:
        document = http.get("/openapi/toy.json").json()
        assert set(document["paths"]) == {
            "/api/toy/projects/{project}/notes",
            "/api/toy/notes/{note}",
        }
        notes = document["paths"]["/api/toy/projects/{project}/notes"]
        told = {(p["name"], p["in"], p["required"]) for p in notes["get"]["parameters"]}
        assert told == {
            ("project", "path", True),
            ("q", "query", False),
            ("tag", "query", False),
            ("limit", "query", False),
        }
        assert notes["post"]["operationId"] == "addNote"
        body = notes["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert (body["required"], set(body["properties"])) == (["text"], {"text", "branch"})
        answered = notes["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert answered["type"] == "array"
        assert "201" in notes["post"]["responses"]
        failure = document["components"]["schemas"]["Failure"]
        refused = http.get("/api/toy/projects/red/notes?limit=9").json()
        Draft202012Validator(failure).validate(refused)
        ours = http.get("/api/v1/openapi.json").json()
        assert not [path for path in ours["paths"] if "toy" in path]
        assert "/api/v1/memory_search" in ours["paths"]


def ask(store: OpenStore, choice: str, tool: str, **arguments: Any) -> tuple[Any, CallToolResult]:
    """The instructions, and the answer of a tool, of an MCP server in this process."""

    def context(_meta: Any, _request: Any) -> Context:
        return store.context(Caller())

    listening = Listening(Broadcaster(store.repo), lambda _: EVERYTHING)
    server = build_server(registered(TOY).choose(choice), context, listening)

    async def run() -> tuple[Any, CallToolResult]:
        async with Client(server) as client:
            return client.instructions, await client.call_tool(tool, arguments)

    return anyio.run(run)


def test_an_mcp_client_of_the_toolset_alone_gets_its_tools_by_their_bare_names(
    store: OpenStore,
) -> None:
    told, put = ask(store, "toy", "note_put", project="red", text="buy ink")
    assert told == "note_put keeps a note."
    assert put.structured_content == {"id": "n1", "branch": "shelf"}
    _, found = ask(store, "toy", "memory_search", project="red")
    (block,) = found.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == ["buy ink"]
    _, refused = ask(store, "toy", "note_drop", id="n9")
    assert refused.is_error
    assert refused.structured_content == {
        "fault": "not_found",
        "because": "There is no note 'n9'.",
    }
    _, unknown = ask(store, "toy", "memory_write_fact")
    assert unknown.structured_content is not None
    assert unknown.structured_content["fault"] == "unknown_tool"


def test_the_toolset_has_an_endpoint_of_its_own_beside_those_of_day1(store: OpenStore) -> None:
    async def listed(address: str) -> set[str]:
        async with Client(address) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    with served(store, TOY) as http:
        assert anyio.run(listed, f"{http.base_url}/mcp/toy") == set(TOY.tools)
        ours = anyio.run(listed, f"{http.base_url}/mcp/all")
    assert ours == {tool.name for tool in TOOLSETS.choose(TOOLSETS.everything)}


def test_day1_and_all_stay_what_they_were_beside_another_toolset() -> None:
    both = registered(TOY)
    for choice in ("core", "core14", "memory_search", TOOLSETS.everything):
        assert both.choose(choice) == TOOLSETS.choose(choice)
    assert both.tools["memory_search"].qualified_name == "core.memory_search"
    found = both.tool("toy.memory_search")
    assert found is not None
    assert found.toolset is TOY


def test_a_choice_in_which_two_tools_have_one_name_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"core\.memory_search and toy\.memory_search"):
        registered(TOY).choose("core,toy")
    assert len(registered(TOY).choose("review,toy")) > len(TOY.operations)


ADD = Route("POST", "/a", 200, Binding("note_put"))


@pytest.mark.parametrize(
    ("clashing", "why"),
    [
        (replace(TOY, namespace=TOOLSETS["core"].namespace), "both have memory_search"),
        (replace(TOY, name="core"), "taken"),
        (replace(TOY, name="memory_search"), "taken"),
        (replace(TOY, name="all"), "taken"),
        (replace(TOY, name="a,b"), "lower-case word"),
        (replace(TOY, operations=TOY.operations * 2), "two operations of one name"),
        (replace(TOY, namespace=replace(TOY.namespace, prefix="/api/v1/toy")), "another prefix"),
        (replace(TOY, namespace=replace(TOY.namespace, prefix="/api")), "another prefix"),
        (replace(TOY, routes=(ADD, ADD)), "twice"),
        (replace(TOY, routes=(replace(ADD, binding=Binding("none")),)), "which the toolset lacks"),
        (replace(TOY, routes=(replace(ADD, path="/{colour}"),)), "does not take"),
    ],
)
def test_a_clash_is_refused_when_the_toolset_is_registered(clashing: Toolset, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        registered(clashing)
