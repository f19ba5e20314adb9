"""What one system writes the others find, in the same space or in none, and nothing else (X6-001).

Six writers and six readers of one store: day1's tools over MCP, the command line, REST,
Kompanion, engram and gwt; MCP over HTTP, and over stdio. And what is served of all of them at one
place.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.forkserver import python
from tests.wires.http_server import STDIO_DAILY, HttpServer, HttpSession
from tests.wires.mcp_session import ROOT, Session, environment

SPACE, PROJECT = "project:metal", "metal"
WRITERS = ("day1", "cli", "rest", "kompanion", "engram", "gwt")
READERS = WRITERS


class Systems:
    """All wires of one store."""

    def __init__(self, wire: str, server: HttpServer, entered: ExitStack) -> None:
        self.server, self._wire, self._entered = server, wire, entered
        self.clients: dict[str, Session] = {
            name: self._client(path, toolsets)
            for name, path, toolsets in (
                ("day1", "/mcp", "core"),
                ("kompanion", "/mcp/kompanion", "kompanion"),
                ("engram", "/mcp/engram", "engram"),
                ("combined", "/mcp/combined", "combined"),
            )
        }
        self.gwt = {space: self._client("/mcp/gwt", "gwt", space) for space in (SPACE, None)}
        """Clients of gwt by their space, since none of its tools takes one."""

    def _client(self, path: str, toolsets: str, space: str | None = None) -> Session:
        if self._wire == "http":
            headers = {} if space is None else {"Day1-Space": space}
            return self._entered.enter_context(HttpSession(self.server, path=path, headers=headers))
        settings = {} if space is None else {"DAY1_SPACE": space}
        return self._entered.enter_context(
            Session(self.server.folder, toolsets=toolsets, **settings)
        )

    def cli(self, tool: str, **arguments: Any) -> Any:
        done = subprocess.run(
            [*python(), "-m", "day1", "call", tool, json.dumps(arguments)],
            env=environment(self.server.folder),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def write(self, writer: str, text: str, space: str | None) -> None:
        fact = {"fact_text": text, "space": space}
        if writer == "day1":
            self.clients["day1"].ok("memory_write_fact", **fact)
        elif writer == "cli":
            self.cli("memory_write_fact", **fact)
        elif writer == "rest":
            self.server.ok("memory_write_fact", **fact)
        elif writer == "kompanion":
            given = {"namespace": space or "shared", "items": [{"text": text}]}
            self.clients["kompanion"].ok("upsert_memory", **given)
        elif writer == "gwt":
            self.gwt[space].ok("gwt_store", content=text)
        else:
            parts = {"context": text, "action": "noted", "result": "kept"}
            project = None if space is None else PROJECT
            self.clients["engram"].ok("memory_store", **parts, project=project)

    def read(self, reader: str, query: str, space: str | None) -> list[str]:
        asked = {"query": query, "space": space, "limit": 50}
        if reader == "kompanion":
            given = {"namespace": space or "shared", "query": {"text": query, "k": 50}}
            found = self.clients["kompanion"].ok("search_memory", **given)["matches"]
            return [match["text"] for match in found]
        if reader == "gwt":
            found = self.gwt[space].found("gwt_query", query=query, k=50)
            return [item["content"] for item in found]
        if reader == "engram":
            project = None if space is None else PROJECT
            hits = self.clients["engram"].found(
                "memory_search", query=query, limit=50, project=project
            )
        elif reader == "day1":
            hits = self.clients["day1"].found("memory_search", **asked)
        elif reader == "rest":
            hits = self.server.ok("memory_search", **asked)["result"]
        else:
            hits = self.cli("memory_search", **asked)["result"]
        return [hit["fact_text"] for hit in hits]


@pytest.fixture(scope="module", params=STDIO_DAILY)
def systems(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Systems]:
    """Each writer has written one memory in a space and one in none."""
    with ExitStack() as entered:
        folder = tmp_path_factory.mktemp("systems") / "store"
        made = Systems(request.param, entered.enter_context(HttpServer(folder)), entered)
        for writer in WRITERS:
            made.write(writer, f"The lathe of {writer} stands apart", SPACE)
            made.write(writer, f"The lathe of {writer} is for all", None)
        yield made


def said_by(texts: list[str], what: str) -> set[str]:
    return {w for w in WRITERS for text in texts if f"lathe of {w} {what}" in text}


@pytest.mark.line("X6-001")
@pytest.mark.parametrize("reader", READERS)
def test_each_finds_what_each_has_written_in_the_same_space(systems: Systems, reader: str) -> None:
    inside = systems.read(reader, "lathe", SPACE)
    assert said_by(inside, "stands apart") == set(WRITERS)
    assert said_by(inside, "is for all") == set()


@pytest.mark.line("X6-001")
@pytest.mark.parametrize("reader", READERS)
def test_each_finds_what_each_has_written_in_no_space(systems: Systems, reader: str) -> None:
    outside = systems.read(reader, "lathe", None)
    assert said_by(outside, "is for all") == set(WRITERS)
    # To Kompanion `shared` is a namespace as any other; the others search all without a space.
    there = set() if reader == "kompanion" else set(WRITERS)
    assert said_by(outside, "stands apart") == there


@pytest.mark.line("S1-019", "S4-003")
def test_at_one_place_a_search_takes_the_arguments_of_both(systems: Systems) -> None:
    takes = {name: client.takes for name, client in systems.clients.items()}
    core = takes["day1"]("memory_search")
    assert list(takes["engram"]("memory_search")) == ["query", "limit", "project", "full"]
    assert "project" not in core
    assert takes["combined"]("memory_search") == {**core, "project": "string|null = null"}
    assert takes["combined"]("memory_consolidate") == takes["day1"]("memory_consolidate")


@pytest.mark.line("S1-020", "S4-003", "S4-008")
def test_at_one_place_a_search_finds_lessons_with_their_parts_and_counts_them(
    systems: Systems,
) -> None:
    combined = systems.clients["combined"]
    parts = {"context": "Glazing in frost", "action": "Warmed the putty", "result": "It held"}
    space = "project:glass"
    lesson = combined.ok("memory_store", **parts, tags="putty, frost", project="Glass")["id"]
    plain = combined.ok("memory_write_fact", fact_text="Putty hates frost", space=space)["id"]
    seen = {"observation_type": "discovery", "summary": "Putty in frost cracks", "space": space}
    seen_id = combined.ok("memory_write_observation", **seen)["id"]
    before = combined.ok("memory_status")["pending_judgments"]

    asked = {"query": "putty in frost", "types": ["fact", "observation"]}
    for times, given in enumerate(
        ({"project": "glass"}, {"space": space}, {"project": "GLASS", "space": space}), start=1
    ):
        answer = combined.call("memory_search", {**asked, **given})
        hits = {hit["id"]: hit for hit in answer.structured["result"]}
        assert hits.keys() == {lesson, plain, seen_id}
        own = {"tags": "putty,frost", "project": "glass"}
        assert parts.items() | own.items() <= hits[lesson].items()
        assert hits[lesson]["verification"] == "unverified"
        assert hits[plain]["project"] == "glass"
        assert not {*parts, "tags"} & hits[plain].keys()
        assert not {*parts, *own} & hits[seen_id].keys()
        (said,) = (hit for hit in answer.document if hit["id"] == lesson)
        assert own.items() <= said.items()
        assert not parts.keys() & said.keys(), "the text has them, each with its name"
        systems.clients["day1"].ok("memory_search", **asked, space=space)
        used = {m["id"]: m["used_count"] for m in combined.ok("memory_export")["memories"]}
        assert (used[lesson], used[plain]) == (2 * times, 2 * times), "by both of them"
    assert combined.ok("memory_status")["pending_judgments"] == before + 2


@pytest.mark.line("S1-008", "S4-003")
def test_at_one_place_a_search_refuses_a_project_that_cannot_be(systems: Systems) -> None:
    for argument, given in (
        ("project", {"project": "glass", "space": SPACE}),
        ("project", {"project": "glass", "space": "shared"}),
        ("project", {"project": "glass", "space": "*"}),
        ("project", {"project": "gl\0ss"}),
        ("project", {"project": "g" * 300}),
        ("project", {"project": " "}),
        ("project", {"project": ["glass"]}),
        ("tags", {"tags": "putty,frost"}),
        ("tags", {"tags": ["putty"]}),
        ("projects", {"projects": "glass"}),
    ):
        answer = systems.clients["combined"].call("memory_search", {"query": "frost", **given})
        assert answer.is_error, given
        error = answer.structured["error"]
        assert error["code"] == "invalid_request"
        assert [one["argument"] for one in error["details"]["problems"]] == [argument]


NOTED = {"id": "k1", "created_at": "2026-01-02", "result": "The kiln is hot."}
WRITES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "kompanion": [
        ("upsert_memory", {"namespace": SPACE, "items": [{"id": "k", "text": text}]})
        for text in ("The kiln is cold.", "The kiln is hot.")
    ],
    "engram": [("memory_import", {"version": 1, "memories": [NOTED]})],
}
"""By system calls of which the last is a commit of its own."""


@pytest.mark.line("X6-002", "X6-003")
@pytest.mark.parametrize("system", WRITES)
def test_a_system_writes_where_its_caller_is_and_as_who_that_is(
    systems: Systems, system: str
) -> None:
    own, branch = systems.clients[system], f"own/{system}"
    assert [n for n, tool in own.tools.items() if "branch" in tool.input_schema["properties"]] == []
    systems.server.ok("memory_branch_create", branch_name=branch)
    for tool, given in WRITES[system]:
        done = own.call(tool, given, {"day1/branch": branch, "day1/agent_id": "ann"})
        assert done.structured["written"]["branch"] == branch
    (commit,) = systems.server.ok("memory_log", branch=branch, limit=1)["result"]
    assert commit["agents"] == ["ann"]
    asked = {"query": "hot kiln", "wait": True}
    (hit, *_) = systems.server.ok("memory_search", branch=branch, **asked)["result"]
    assert (hit["fact_text"], hit["agent_id"]) == ("The kiln is hot.", "ann")
    assert "kiln" not in str(systems.server.ok("memory_search", **asked)["result"])


def test_valid_time_is_told_and_asked_over_rest(systems: Systems) -> None:
    """As over MCP and on the command line, in test_mcp_valid_time.py and test_cli_writing.py."""
    ask, ended = systems.server.ok, {"happened_at": "2020-01-01", "valid_until": "2021-01-01"}
    then = {"as_of_event": "2020-06-01"}
    ask("memory_write_fact", fact_text="The forge is hot.", **ended)
    assert ask("memory_search", query="forge")["result"] == []
    assert ask("memory_search", query="forge", **then)["result"]
    link = {"source_entity": "forge", "relation_type": "in", "target_entity": "hall"}
    made = ask("memory_write_relation", **link, happened_at="2020-01-01")
    ask("memory_update_fact", fact_id=made["id"], valid_until="2021-01-01")
    assert ask("memory_graph_query", entity="forge")["result"] == []
    assert ask("memory_graph_query", entity="forge", **then)["result"]
    contents = [one["content"] for one in ask("memory_timeline", **then)["result"]]
    assert contents == ["The forge is hot."]
