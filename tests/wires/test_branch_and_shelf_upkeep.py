"""Removing rows, deleting, archiving and reviving branches, deprecating: the same on every wire."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from tests import engine
from tests.flows.opened_store import opened
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import Session

UPKEEP: dict[str, dict[str, Any]] = {
    "memory_remove": {"ids": ["fact_1"]},
    "memory_branch_delete": {"branch_name": "main"},
    "memory_branch_archive": {"branch_name": "main"},
    "memory_branch_revive": {"branch_name": "main"},
    "knowledge_bundle_deprecate": {"bundle_id": "bundle_1"},
    "memory_template_deprecate": {"name": "plan"},
}


class Wire(Protocol):
    """How a client calls operations."""

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of a call that succeeds."""

    def error(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a call that is refused."""


class McpWire:
    def __init__(self, session: Session) -> None:
        self.ok = session.ok
        self._session = session

    def error(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = self._session.call(tool, arguments)
        assert answer.is_error, answer
        error: dict[str, Any] = answer.structured["error"]
        return error


class RestWire:
    def __init__(self, server: HttpServer, token: str | None = None) -> None:
        self._server, self._token = server, token

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return self._server.ok(tool, self._token, **arguments)

    def error(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = self._server.post(tool, self._token, **arguments)
        assert 400 <= answer.status < 500, answer
        error: dict[str, Any] = answer.body["error"]
        return error


class CommandWire:
    def __init__(self, line: CommandLine) -> None:
        self._line = line

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._line.json("call", tool, json.dumps(arguments))
        return answer

    def error(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        error: dict[str, Any] = self._line.refused("call", tool, json.dumps(arguments))
        return error


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("upkeep") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        yield server


@pytest.fixture(params=["mcp", "rest", "command line"])
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Wire]:
    folder = tmp_path / "store"
    with ExitStack() as stack:
        if request.param == "mcp":
            yield McpWire(stack.enter_context(Session(folder, toolsets="core,review,browse")))
        elif request.param == "rest":
            yield RestWire(stack.enter_context(HttpServer(folder, DAY1_HTTP__RATE="0")))
        else:
            line = CommandLine(tmp_path)
            line.env |= engine.variables(folder)
            yield CommandWire(line)


def rows(wire: Wire, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of an answer that some wires give as a bare list."""
    answer: Any = wire.ok(tool, **arguments)
    found: list[dict[str, Any]] = answer["result"] if isinstance(answer, dict) else answer
    return found


def test_memories_of_every_kind_are_removed_in_one_commit_and_brought_back(wire: Wire) -> None:
    ids = [
        wire.ok("memory_write_fact", fact_text="Ada drinks tea.")["id"],
        wire.ok("memory_write_observation", observation_type="insight", summary="Tea.")["id"],
        wire.ok(
            "memory_write_relation",
            source_entity="Ada",
            target_entity="tea",
            relation_type="drinks",
        )["id"],
    ]
    request = {"ids": [*ids, ids[0]], "branch": "main", "request_id": "away"}
    error = wire.error("memory_remove", **{**request, "ids": [*ids, "fact_nobody"]})
    assert (error["code"], error["details"]["id"]) == ("not_found", "fact_nobody")
    answer = wire.ok("memory_remove", **request, reason="spilt")
    assert answer["ids"] == ids, "each once"
    again = wire.ok("memory_remove", **request, reason="spilt")
    assert {**again, "written": None} == {**answer, "written": None}
    assert wire.error("memory_remove", **{**request, "ids": ids[:2]})["code"] == "request_reused"
    gone = wire.error("memory_remove", ids=ids)
    assert gone["code"] == "not_found"
    assert [step["operation"] for step in gone["next"]] == ["memory_log", "memory_restore"]
    wire.ok("memory_restore", id=ids[1], to=answer["before"], branch="main")
    assert wire.ok("memory_get", id=ids[1])["row"]["summary"] == "Tea."


def test_a_branch_is_deleted_once_and_never_main_nor_one_that_is_needed(wire: Wire) -> None:
    wire.ok("memory_branch_create", branch_name="side")
    wire.ok("memory_write_fact", fact_text="Side tea.", branch="side")
    main = wire.error("memory_branch_delete", branch_name="main", force=True)
    assert main["code"] == "refused"
    unmerged = wire.error("memory_branch_delete", branch_name="side")
    arguments = {"branch_name": "side", "force": True}
    assert unmerged["code"] == "refused"
    assert unmerged["next"] == [{"operation": "memory_branch_delete", "arguments": arguments}]
    wire.ok("memory_branch_protect", branch_name="side", requires=["review"])
    guarded = wire.error("memory_branch_delete", **arguments)
    assert guarded["code"] == "branch_protected"
    (lifting,) = guarded["next"]
    wire.ok(lifting["operation"], **lifting["arguments"])
    deleted = wire.ok("memory_branch_delete", **arguments)
    assert (deleted["branch_name"], deleted["deleted"]) == ("side", True)
    again = wire.error("memory_branch_delete", **arguments)
    assert again["code"] == "unknown_branch"
    revival = {"branch_name": "side", "deleted": True}
    assert again["next"] == [{"operation": "memory_branch_revive", "arguments": revival}]
    assert [branch["branch_name"] for branch in rows(wire, "memory_branch_list")] == ["main"]


def test_a_deleted_branch_comes_back_only_if_it_is_asked_for(wire: Wire) -> None:
    wire.ok("memory_branch_create", branch_name="side", description="Tea on the side.")
    fact = wire.ok("memory_write_fact", fact_text="Side tea.", branch="side")["id"]
    (_, before) = rows(wire, "memory_branch_list")
    deletion = {"branch_name": "side", "force": True, "request_id": "away"}
    (note,) = wire.ok("memory_branch_delete", **deletion)["written"]["notes"]
    assert "memory_branch_revive" in note or "day1 branch --revive side" in note
    assert wire.error("memory_branch_revive", branch_name="side")["code"] == "unknown_branch"
    revival = {"branch_name": "side", "deleted": True}
    assert [wire.ok("memory_branch_revive", **revival)["revived"] for _ in range(2)] == [
        True,
        False,
    ]
    (_, after) = rows(wire, "memory_branch_list")
    assert {**after, "commit": ""} == {**before, "commit": ""}
    assert wire.ok("memory_get", id=fact, branch="side")["row"]["id"] == fact
    assert wire.ok("memory_search", query="tea", branch="side")["result"]
    again = wire.ok("memory_branch_delete", **deletion)["written"]["notes"]
    assert again == ["This request was answered before: nothing was written again."]
    assert wire.ok("memory_get", id=fact, branch="side")["row"]["id"] == fact


def test_a_branch_whose_memories_are_merged_is_deleted_without_force(wire: Wire) -> None:
    wire.ok("memory_branch_create", branch_name="side")
    wire.ok("memory_write_fact", fact_text="Side tea.", branch="side")
    sides = {"source_branch": "side", "target_branch": "main"}
    wire.ok("memory_branch_merge", **sides, strategy="auto")
    assert wire.ok("memory_branch_delete", branch_name="side")["deleted"]


def test_an_archived_branch_leaves_the_topology_until_it_is_taken_back(wire: Wire) -> None:
    wire.ok("memory_branch_create", branch_name="side")

    def children() -> list[str]:
        tree = wire.ok("memory_branch_topology")
        return [child["branch_name"] for child in tree["children"]]

    for archived in (True, True, False):
        answer = wire.ok("memory_branch_archive", branch_name="side", archived=archived)
        assert (answer["branch_name"], answer["archived"]) == ("side", archived)
        assert children() == ([] if archived else ["side"])
    assert wire.error("memory_branch_archive", branch_name="main")["code"] == "refused"
    assert wire.error("memory_branch_archive", branch_name="no")["code"] == "unknown_branch"


def test_a_retired_branch_is_named_in_the_refusal_and_brought_back(
    wire: Wire, tmp_path: Path
) -> None:
    wire.ok("memory_branch_create", branch_name="side")
    fact = wire.ok("memory_write_fact", fact_text="Side tea.", branch="side")["id"]
    with opened(tmp_path / "store") as store:
        retire(store.repo, find(store.repo, "side"), store.repo.clock())
    refused = wire.error("memory_get", id=fact, branch="side")
    assert refused["code"] == "unknown_branch"
    assert refused["next"] == [{"operation": "memory_branch_revive"}]
    assert wire.ok("memory_branch_revive", branch_name="side")["revived"] is True
    assert wire.ok("memory_branch_revive", branch_name="side")["revived"] is False
    assert wire.ok("memory_get", id=fact, branch="side")["row"]["id"] == fact
    assert wire.error("memory_branch_revive", branch_name="no")["code"] == "unknown_branch"


def test_what_is_deprecated_leaves_the_lists_and_unknown_names_are_refused(wire: Wire) -> None:
    wire.ok("memory_write_fact", fact_text="Ada drinks tea.")
    bundle = wire.ok("knowledge_bundle_create", name="tea", source_branch="main")["id"]
    for _ in range(2):
        wire.ok("memory_template_create", name="plan", source_branch="main")
    for _ in range(2):
        answer = wire.ok("knowledge_bundle_deprecate", bundle_id=bundle)
        assert (answer["name"], answer["status"]) == ("tea", "deprecated")
    assert wire.ok("knowledge_bundle_list")["bundles"] == []
    assert wire.ok("memory_template_deprecate", name="plan", version=1)["versions"] == [1]
    assert [t["version"] for t in wire.ok("memory_template_list")["templates"]] == [2]
    assert wire.ok("memory_template_deprecate", name="plan")["versions"] == [1, 2]
    assert wire.ok("memory_template_list")["templates"] == []
    unknown: list[tuple[str, str, dict[str, Any]]] = [
        ("knowledge_bundle_deprecate", "knowledge_bundle_list", {"bundle_id": "bundle_0"}),
        ("memory_template_deprecate", "memory_template_list", {"name": "no"}),
        ("memory_template_deprecate", "memory_template_list", {"name": "plan", "version": 3}),
    ]
    for tool, name, arguments in unknown:
        error = wire.error(tool, **arguments)
        assert error["code"] == "not_found"
        assert error["next"][0] == {"operation": name}


def test_the_active_branch_of_a_client_is_not_deleted(tmp_path: Path) -> None:
    with Session(tmp_path / "store") as session:
        session.ok("memory_branch_create", branch_name="side")
        session.ok("memory_branch_switch", branch_name="side")
        session.refused("memory_branch_delete", "refused", branch_name="side", force=True)
        session.ok("memory_branch_switch", branch_name="main")
        session.ok("memory_branch_delete", branch_name="side", force=True)


# Least rights


@pytest.fixture(scope="module")
def admin(server: HttpServer) -> RestWire:
    """An administrator, with rows on main that a limited token may not touch."""
    wire = RestWire(server, server.token("root"))
    wire.ok("memory_write_fact", fact_text="Ada drinks tea.", branch="main")
    wire.ok("memory_branch_create", branch_name="mine/one")
    for name in ("other", "gone"):
        wire.ok("memory_branch_create", branch_name=name)
    wire.ok("memory_branch_delete", branch_name="gone")
    wire.ok("memory_template_create", name="plan", source_branch="main")
    return wire


Limited = Callable[[str], RestWire]


@pytest.fixture(scope="module")
def limited(server: HttpServer, admin: RestWire) -> Limited:
    """A token of some scope that is limited to the branches `mine/*`."""

    def make(scope: str) -> RestWire:
        made = admin.ok("token_create", name=f"my {scope}", scope=scope, branches=["mine/*"])
        return RestWire(server, made["secret"])

    return make


def test_who_may_only_read_changes_nothing(limited: Limited) -> None:
    reader = limited("read")
    for tool, arguments in UPKEEP.items():
        error = reader.error(tool, **arguments)
        assert (error["code"], error["details"]["needs"]) == ("forbidden", "write"), tool


def test_a_limited_token_changes_its_own_branches_and_no_other(
    admin: RestWire, limited: Limited
) -> None:
    writer = limited("write")
    bundle = admin.ok("knowledge_bundle_create", name="tea", source_branch="main")["id"]
    fact = rows(admin, "memory_timeline", branch="main")[0]["id"]
    beyond: list[tuple[str, str, dict[str, Any]]] = [
        ("memory_remove", "forbidden", {"ids": [fact], "branch": "main"}),
        ("memory_branch_delete", "forbidden", {"branch_name": "other"}),
        ("memory_branch_delete", "forbidden", {"branch_name": "no-such-branch"}),
        ("memory_branch_archive", "forbidden", {"branch_name": "other"}),
        ("memory_branch_revive", "forbidden", {"branch_name": "other"}),
        ("memory_branch_revive", "forbidden", {"branch_name": "gone", "deleted": True}),
        ("knowledge_bundle_deprecate", "not_found", {"bundle_id": bundle}),
        ("memory_template_deprecate", "not_found", {"name": "plan"}),
    ]
    for tool, code, arguments in beyond:
        assert writer.error(tool, **arguments)["code"] == code, tool
    assert admin.ok("memory_template_list")["templates"][0]["status"] == "active"
    assert admin.ok("memory_get", id=fact, branch="main")["row"]["id"] == fact

    own = writer.ok("memory_write_fact", fact_text="Mine.", branch="mine/one")["id"]
    writer.ok("memory_remove", ids=[own], branch="mine/one")
    writer.ok("memory_branch_archive", branch_name="mine/one")
    assert writer.error("memory_branch_delete", branch_name="mine/one")["code"] == "refused"
    assert writer.ok("memory_branch_delete", branch_name="mine/one", force=True)["deleted"]
    names = {branch["branch_name"] for branch in rows(admin, "memory_branch_list")}
    assert "mine/one" not in names
    assert writer.ok("memory_branch_revive", branch_name="mine/one", deleted=True)["revived"]
    assert "other" in names
