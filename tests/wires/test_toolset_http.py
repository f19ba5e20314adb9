"""What a toolset may choose of its HTTP contract: headers, statuses, loose requests, its document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import anyio
import httpx2
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs
from mcp import Client

from day1.call.context import Context
from day1.call.fields import (
    ExtraRequest,
    JsonObject,
    Label,
    LooseRequest,
    Read,
    Response,
    Text,
    UnionRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.call.registry import renamed
from day1.call.toolset import Binding, DocumentHead, Namespace, Route, StatusOf, Toolset
from day1.errors import InvalidRequest
from day1.interfaces.http.openapi import openapi
from day1.interfaces.open_store import OpenStore
from day1.toolsets import TOOLSETS, registered
from tests.flows.opened_store import opened
from tests.wires.served_toolsets import served

TEXTS: dict[str, str] = {}
"""Texts by name."""


class KeepText(ExtraRequest):
    """A text to keep.

    Attributes:
        name: Its name.
    """

    name: Label
    text: Text


class TextKept(Response):
    """The name of a text, and whether it is a new one."""

    name: str
    new: bool
    extras: JsonObject
    written: Written


class FindTexts(LooseRequest):
    """Which texts to list."""

    tags: list[Label] | None = None


class Texts(Response):
    """The names of all texts."""

    names: list[str]
    tags: list[str] | None
    read: Read


class Named(LooseRequest):
    """The name of a text."""

    name: Label


class Step(UnionRequest):
    """One of two steps.

    Attributes:
        step: Which one.
    """

    NAMED_BY = "step"
    FORMS: ClassVar = {"keep": KeepText, "find": FindTexts}

    step: Literal["keep", "find"]


class Stepped(Response):
    """The names after a step."""

    names: list[str]


def keep_text(ctx: Context, request: KeepText) -> TextKept:
    """Keep a text."""
    new = request.name not in TEXTS
    TEXTS[request.name] = request.text
    notes = [] if new else ["The text before is gone – for good."]
    written = Written(branch="main", commit="c1", pending=2, notes=notes)
    return TextKept(name=request.name, new=new, extras=dict(request.extras), written=written)


def list_texts(ctx: Context, request: FindTexts) -> Texts:
    """List the names of texts."""
    return Texts(names=list(TEXTS), tags=request.tags, read=Read(branch=None, commit="c2"))


def drop_text(ctx: Context, request: Named) -> TextKept:
    """Drop a text."""
    TEXTS.pop(request.name)
    written = Written(branch="main", commit="c3")
    return TextKept(name=request.name, new=False, extras={}, written=written)


def step(ctx: Context, request: Step) -> Stepped:
    """Take a step."""
    form = request.form()
    if isinstance(form, KeepText):
        keep_text(ctx, form)
    return Stepped(names=list(TEXTS))


HEAD = DocumentHead(
    "0.8.6",
    "Texts.",
    "https://json-schema.org/draft/2020-12/schema",
    "texts",
    "ErrorResponse",
    named_bodies=True,
)
SHELF = Toolset(
    "shelf",
    (
        Operation("keep", keep_text, Effect.WRITE),
        Operation("list", list_texts, Effect.READ),
        Operation("drop", drop_text, Effect.DESTROY),
        Operation("touch", drop_text, Effect.WRITE),
        Operation("step", step, Effect.WRITE),
    ),
    Namespace(
        "/api/shelf",
        "Shelf",
        "Texts.",
        "/openapi/shelf.json",
        state="headers",
        loose=True,
        head=HEAD,
    ),
    routes=(
        Route(
            "POST",
            "/texts",
            StatusOf(lambda kept: 201 if kept["new"] else 200, (200, 201)),
            Binding("keep"),
            location="/texts/{name}",
            refusals=(400,),
        ),
        Route("GET", "/texts", 200, Binding("list", query={"tag": "tags"}, only="names")),
        Route("GET", "/whole", 200, Binding("list", query={"tag": "tags"})),
        Route(
            "DELETE",
            "/texts/{id}",
            204,
            Binding("drop", {"id": "name"}),
            parameters={"id": "TextName"},
        ),
        Route(
            "POST",
            "/texts/{id}/touch",
            200,
            Binding("touch", {"id": "name"}),
            parameters={"id": "TextName"},
        ),
        Route("POST", "/step", 200, Binding("step")),
    ),
    wires=frozenset({"http", "call"}),
)
BODY_STATE = replace(SHELF, namespace=replace(SHELF.namespace, state="body", loose=False))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    with opened(tmp_path_factory.mktemp("store") / "store", create=True) as store:
        yield store


@pytest.fixture(scope="module")
def server(store: OpenStore) -> Iterator[httpx2.Client]:
    with served(store, SHELF) as http:
        yield http


@pytest.fixture
def http(server: httpx2.Client) -> httpx2.Client:
    TEXTS.clear()
    return server


def state_of(answer: httpx2.Response) -> dict[str, str]:
    return {name: text for name, text in answer.headers.items() if name.startswith("day1-")}


def test_the_state_of_an_answer_stands_in_headers_and_not_in_the_body(http: httpx2.Client) -> None:
    url = "/api/shelf/texts"
    first = http.post(url, json={"name": "a", "text": "x"})
    assert first.json() == {"name": "a", "new": True, "extras": {}}
    assert state_of(first) == {"day1-branch": "main", "day1-commit": "c1", "day1-pending": "2"}
    again = http.post(url, json={"name": "a", "text": "y"})
    notes = again.headers["Day1-Notes"]
    assert notes.isascii()
    assert json.loads(notes) == ["The text before is gone – for good."]
    bare = http.get(url)
    assert (bare.json(), state_of(bare)) == (["a"], {"day1-commit": "c2", "day1-pending": "0"})
    assert http.get("/api/shelf/whole").json() == {"names": ["a"], "tags": None}
    gone = http.delete(f"{url}/a")
    assert (gone.status_code, gone.content, gone.headers["Day1-Commit"]) == (204, b"", "c3")


def test_a_status_and_a_location_follow_from_the_answer(http: httpx2.Client) -> None:
    url, name = "/api/shelf/texts", "a b/ü"
    first = http.post(url, json={"name": name, "text": "x"})
    assert first.status_code == 201
    assert first.headers["Location"] == "/api/shelf/texts/a%20b%2F%C3%BC"
    again = http.post(url, json={"name": name, "text": "x"})
    assert again.status_code == 200
    assert "Location" not in again.headers


def test_unknown_fields_and_query_names_are_taken(http: httpx2.Client) -> None:
    kept = http.post("/api/shelf/texts", json={"name": "a", "text": "x", "mood": ["blue"]})
    assert kept.json()["extras"] == {"mood": ["blue"]}
    found = http.get("/api/shelf/whole?tag=a&colour=red&tag=b&colour=blue")
    assert found.json()["tags"] == ["a", "b"]
    touched = http.post("/api/shelf/texts/a/touch?why=so", json={"mood": "blue"})
    assert touched.status_code == 200, touched.text


@pytest.mark.parametrize("extra", ["a\0b", 2**60, {"a": "b" * 40_000}, ["\0"]])
def test_unknown_fields_that_are_kept_obey_the_bounds_of_json(
    http: httpx2.Client, extra: Any
) -> None:
    refused = http.post("/api/shelf/texts", json={"name": "a", "text": "x", "mood": extra})
    assert refused.status_code == 400
    (problem,) = refused.json()["error"]["details"]["problems"]
    assert problem["argument"] == "mood"


def test_a_strict_namespace_refuses_unknown_query_names_and_answers_its_state(
    store: OpenStore,
) -> None:
    TEXTS.clear()
    with served(store, BODY_STATE) as http:
        assert http.get("/api/shelf/whole?colour=red").status_code == 400
        kept = http.post("/api/shelf/texts", json={"name": "a", "text": "x"})
    assert kept.json()["written"] == {"branch": "main", "commit": "c1", "pending": 2, "notes": []}
    assert state_of(kept) == {}


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"step": "keep", "name": "a", "text": "x"}, ["a"]),
        ({"step": "find", "name": "a"}, []),
        ({"step": "keep", "name": "a"}, "text"),
        ({"step": "drop"}, "step"),
        ({"name": "a"}, "step"),
    ],
)
def test_a_union_request_is_held_to_the_form_that_it_names(
    http: httpx2.Client, body: dict[str, Any], outcome: Any
) -> None:
    answer = http.post("/api/shelf/step", json=body)
    if isinstance(outcome, list):
        assert (answer.status_code, answer.json()) == (200, {"names": outcome})
    else:
        problems = answer.json()["error"]["details"]["problems"]
        assert [problem["argument"] for problem in problems] == [outcome]


def test_a_document_has_its_own_head_and_named_parts(http: httpx2.Client) -> None:
    document = http.get("/openapi/shelf.json").json()
    assert document["jsonSchemaDialect"] == HEAD.dialect
    assert (document["info"]["version"], document["info"]["summary"]) == ("0.8.6", "Texts.")
    assert document["tags"] == [{"name": "texts"}]
    calls = {
        call["operationId"]: call for path in document["paths"].values() for call in path.values()
    }
    assert {tag for call in calls.values() for tag in call["tags"]} == {"texts"}
    assert calls["keep"]["requestBody"] == {"$ref": "#/components/requestBodies/KeepText"}
    assert calls["keep"]["responses"].keys() == {"200", "201", "400"}
    refused = calls["keep"]["responses"]["400"]
    assert refused == {"$ref": "#/components/responses/ErrorResponse"}
    assert calls["drop"]["parameters"] == [{"$ref": "#/components/parameters/TextName"}]
    assert "requestBody" not in calls["touch"]
    parts = document["components"]
    assert parts["parameters"]["TextName"]["name"] == "id"
    assert parts["responses"].keys() == {"ErrorResponse"}
    assert "Failure" not in parts["schemas"]


def test_a_document_describes_the_state_and_the_location_as_headers(http: httpx2.Client) -> None:
    document = http.get("/openapi/shelf.json").json()
    answers = document["paths"]["/api/shelf/texts"]["post"]["responses"]
    state = {"Day1-Branch", "Day1-Commit", "Day1-Pending", "Day1-Notes"}
    assert answers["200"]["headers"].keys() == state
    assert answers["201"]["headers"].keys() == {*state, "Location"}
    schemas = document["components"]["schemas"]
    assert schemas["TextKept"]["properties"].keys() == {"name", "new", "extras"}
    assert set(schemas["TextKept"]["required"]) == {"name", "new", "extras"}
    assert not {"Read", "Written"} & schemas.keys()


def test_a_union_request_is_described_as_its_forms_in_the_body(http: httpx2.Client) -> None:
    document = http.get("/openapi/shelf.json").json()
    body = document["components"]["requestBodies"]["Step"]
    schema = body["content"]["application/json"]["schema"]
    assert "Step" not in document["components"]["schemas"]
    assert "properties" not in schema
    keep = schema["oneOf"][0]["allOf"]
    assert keep[0] == {"$ref": "#/components/schemas/KeepText"}
    assert keep[1]["properties"]["step"]["const"] == "keep"
    assert keep[1]["properties"]["step"]["description"] == "Which one."
    validator = Draft202012Validator({**schema, "components": document["components"]})
    assert validator.is_valid({"step": "keep", "name": "a", "text": "x"})
    assert not validator.is_valid({"step": "keep", "name": "a"})
    assert not validator.is_valid({"step": "drop"})


def test_a_namespace_in_strict_form_is_described_as_before() -> None:
    strict = replace(SHELF, namespace=replace(BODY_STATE.namespace, head=DocumentHead()))
    document = openapi(strict.namespace, [strict])
    keep = document["paths"]["/api/shelf/texts"]["post"]
    assert keep["tags"] == ["write"]
    assert "content" in keep["requestBody"]
    assert "headers" not in keep["responses"]["200"]
    assert {"Failure", "Written"} <= document["components"]["schemas"].keys()
    assert not {"jsonSchemaDialect", "tags"} & document.keys()


def test_a_toolset_without_mcp_has_qualified_names_and_no_endpoint(http: httpx2.Client) -> None:
    registry = registered(SHELF)
    assert "keep" not in registry.tools
    assert registry.tool("keep") is None
    tool = registry.tool("shelf.keep")
    assert tool is not None
    assert tool.toolset is SHELF
    assert "shelf" not in dict(registry.endpoints())
    assert len(registry.choose("shelf", "call")) == len(SHELF.operations)
    for choice in ("shelf", "shelf.keep", "core,shelf"):
        with pytest.raises(InvalidRequest, match="not offered over mcp"):
            registry.choose(choice)
    assert http.post("/mcp/shelf", json={}).status_code == 404


def test_the_former_name_of_a_list_is_served_with_a_warning(
    http: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def names(path: str) -> list[str]:
        async with Client(f"{http.base_url}{path}") as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(names, "/mcp/seeds") == anyio.run(names, "/mcp/combined")
    warnings = [record.message for record in caplog.records if "/mcp/seeds" in record.message]
    assert warnings == [renamed("/mcp/seeds", "/mcp/combined")]
    assert TOOLSETS.choose("seeds") == TOOLSETS.choose("combined")
    assert renamed("seeds", "combined") in caplog.messages
