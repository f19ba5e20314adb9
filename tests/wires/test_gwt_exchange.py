"""Exporting and importing memory by gwt's tools, over stdio and HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine import FOLDER, engine
from tests.wires.gwt_session import GwtSession, HttpGwtSession, is_place, served
from tests.wires.http_server import STDIO_DAILY, HttpServer

KEYS = {"id", "content", "summary", "memory_type", "activation_state", "source", "tags"}
KEYS |= {"linked_ids", "created_at", "last_accessed"}
TYPES = ["semantic", "episodic", "procedural", "working"]
OTHER_PROGRAMS = [
    {
        "activation_state": "preconscious",
        "content": "The mill in Selm has 90 spindles.",
        "created_at": "2026-01-02T03:04:05.678901+00:00",
        "id": "0123456789ab",
        "last_accessed": "2026-02-02T03:04:05+00:00",
        "linked_ids": ["ba9876543210"],
        "memory_type": "semantic",
        "source": "tool:gwt_store",
        "summary": "",
        "tags": ["mill", "scope:default"],
    },
    {
        "activation_state": "long_term",
        "content": "Its owner is Ada.",
        "created_at": "2026-01-03T00:00:00+00:00",
        "id": "ba9876543210",
        "last_accessed": "2026-01-03T00:00:00+00:00",
        "linked_ids": ["0123456789ab"],
        "memory_type": "working",
        "source": "tool:gwt_store",
        "summary": "",
        "tags": [],
    },
]
"""Two lines as the program writes them that the format is from."""


@pytest.fixture(params=STDIO_DAILY)
def gwt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GwtSession]:
    with served(request.param, tmp_path / "store") as session:
        yield session


@pytest.fixture
def other(tmp_path: Path) -> Iterator[GwtSession]:
    """Another store."""
    with served("stdio", tmp_path / "other") as session:
        yield session


def stored(gwt: GwtSession) -> list[str]:
    """Store three linked items; gives their ids."""
    first = gwt.store("The mill in Selm has 90 spindles.", tags=["mill"])
    second = gwt.store("Its owner is\u2028 Ada.", memory_type="working", link_to=first)
    third = gwt.store("Oil it weekly.", memory_type="procedural", link_to=[first, second])
    return [first, second, third]


@pytest.mark.line("S0-027", "S0-028")
def test_an_export_comes_back_byte_for_byte(gwt: GwtSession, other: GwtSession) -> None:
    ids = stored(gwt)
    gwt.found("gwt_query", query="owner", admit=True)
    exported = gwt.ok("gwt_export_memory")
    assert (exported["status"], exported["format"]) == ("ok", "gwt-memory-jsonl-v1")
    assert (exported["item_count"], exported["filters"]) == (3, {"memory_type": None, "tag": None})
    lines = [json.loads(line) for line in exported["jsonl"].split("\n")]
    assert [line["id"] for line in lines] == ids
    assert all(list(line) == sorted(KEYS) for line in lines)
    assert [len(line["linked_ids"]) for line in lines] == [2, 2, 2]
    done = other.ok("gwt_import_memory", jsonl=exported["jsonl"])
    assert (done["status"], done["imported_count"], done["imported_ids"]) == ("ok", 3, ids)
    assert (done["error_count"], done["errors"], done["admit"], done["dedupe"]) == (0, [], False, True)  # fmt: skip
    assert other.ok("gwt_export_memory")["jsonl"] == exported["jsonl"]
    again = other.ok("gwt_import_memory", jsonl=exported["jsonl"])
    assert (again["imported_count"], again["skipped_duplicate_count"]) == (0, 3)
    assert again["skipped_duplicates"][1] == {"line": 2, "reason": "duplicate", "id": ids[1]}
    assert again["written"]["commit"] == done["written"]["commit"]
    (found,) = other.found("gwt_query", query="spindles of the mill", k=1)
    assert (found["id"], found["activation_state"]) == (ids[0], "long_term")
    assert sorted(found["linked_ids"]) == sorted(ids[1:])


def test_an_export_is_narrowed(gwt: GwtSession) -> None:
    ids = stored(gwt)
    assert [line["id"] for line in gwt.lines(memory_type="working")] == [ids[1]]
    assert [line["id"] for line in gwt.lines(tag="mill")] == [ids[0]]
    assert gwt.ok("gwt_export_memory", tag="none")["jsonl"] == ""
    filters = gwt.ok("gwt_export_memory", tag="mill", memory_type="semantic")["filters"]
    assert filters == {"memory_type": "semantic", "tag": "mill"}
    for tool in ("gwt_export_memory", "gwt_backup_memory"):
        error = gwt.refused(tool, "invalid_request", memory_type="Working")
        assert error["supported_memory_types"] == TYPES


@pytest.mark.line("S0-026")
def test_a_backup_says_where_it_is_from(gwt: GwtSession) -> None:
    stored(gwt)
    backup = gwt.ok("gwt_backup_memory", memory_type="semantic")
    assert (backup["status"], backup["format"]) == ("ok", "gwt-memory-backup-v1")
    named = {name: backup["namespace"][name] for name in ("scope", "name", "branch")}
    assert named == {"scope": "branch", "name": "main", "branch": "main"}
    assert is_place(backup["namespace"]["data_dir"], gwt.folder)
    assert set(backup["file_sizes"]) == {"memory", "index"}
    assert backup["file_sizes"]["memory"] > 0 or engine() != FOLDER
    assert backup["item_count"] == 1
    assert backup["jsonl"] == gwt.ok("gwt_export_memory", memory_type="semantic")["jsonl"]


@pytest.mark.line("S0-029")
def test_another_programs_file_comes_in_with_links_and_times(
    gwt: GwtSession, other: GwtSession
) -> None:
    lines = [*map(json.dumps, OTHER_PROGRAMS), "no JSON", '{"content": " "}', "", "[]", "[" * 9_999]
    done = gwt.ok("gwt_import_memory", jsonl="\n".join(lines), tags=["old"], admit=True)
    assert (done["status"], done["imported_count"], done["admit"]) == ("partial", 2, True)
    assert [error["line"] for error in done["errors"]] == [3, 4, 6, 7]
    assert done["error_count"] == 4
    first, second = gwt.lines()
    assert [first["id"], second["id"]] == done["imported_ids"]
    assert (first["linked_ids"], second["linked_ids"]) == ([second["id"]], [first["id"]])
    kept = ("content", "memory_type", "source", "summary")
    for line, given in zip((first, second), OTHER_PROGRAMS, strict=True):
        assert [line[name] for name in kept] == [given[name] for name in kept]
        assert line["tags"] == [*given["tags"], "old"]
    assert first["created_at"] == "2026-01-02T03:04:05.678901+00:00"
    assert first["last_accessed"] == "2026-02-02T03:04:05.000000+00:00"
    assert second["created_at"] == second["last_accessed"] == "2026-01-03T00:00:00.000000+00:00"
    (found,) = gwt.found("gwt_query", query="spindles", k=1)
    assert found["activation_state"] == "preconscious"
    exported = gwt.ok("gwt_export_memory")["jsonl"]
    assert other.ok("gwt_import_memory", jsonl=exported)["imported_count"] == 2
    assert other.ok("gwt_export_memory")["jsonl"] == exported
    assert gwt.ok("gwt_import_memory", jsonl=exported)["imported_count"] == 0
    again = gwt.ok("gwt_import_memory", jsonl="\n".join(lines), tags=["old"])
    assert (again["imported_count"], again["skipped_duplicate_count"]) == (0, 2)


def test_four_megabytes_of_bad_lines_are_counted(gwt: GwtSession) -> None:
    good = [json.dumps({"content": f"Heron number {number} fishes."}) for number in (1, 2)]
    bad = ["{" * 42] * 95_000
    jsonl = "\n".join([good[0], *bad, good[1]])
    assert 4_000_000 < len(jsonl) < 4 * 1024 * 1024
    done = gwt.ok("gwt_import_memory", jsonl=jsonl)
    assert (done["imported_count"], done["error_count"]) == (2, 95_000)
    assert len(done["errors"]) == 1_000
    assert done["errors"][-1] == {"line": 1_001, "error": "it is cut off, or not JSON"}


def test_what_is_no_file_is_refused(gwt: GwtSession) -> None:
    gwt.refused("gwt_import_memory", "invalid_request", jsonl="")
    gwt.refused("gwt_import_memory", "invalid_request", jsonl="\n \n")
    gwt.refused("gwt_import_memory", "invalid_request", jsonl=7)
    line = json.dumps({"content": "Herons fish."})
    error = gwt.refused("gwt_import_memory", "invalid_request", jsonl=line, default_memory_type="x")
    assert error["supported_memory_types"] == TYPES
    assert "default_memory_type" in error["error"]


def test_a_line_without_a_type_gets_the_default(gwt: GwtSession) -> None:
    line = json.dumps({"content": "Herons fish."})
    gwt.ok("gwt_import_memory", jsonl=line, default_memory_type="episodic")
    assert [item["memory_type"] for item in gwt.lines()] == ["episodic"]


@pytest.mark.parametrize(("rule", "count"), [("refuse", 0), ("warn", 1), ("ignore", 1)])
def test_a_secret_in_a_line_is_treated_as_by_every_write(
    tmp_path: Path, rule: str, count: int
) -> None:
    line = json.dumps({"content": "The password: hunter22 opens it."})
    with served("stdio", tmp_path / "store", DAY1_WRITE__SECRETS=rule) as gwt:
        done = gwt.ok("gwt_import_memory", jsonl=f"{line}\n{json.dumps({'content': 'Herons.'})}")
        assert done["imported_count"] == 1 + count
        assert done["error_count"] == 1 - count
        assert len(done["written"]["notes"]) == (rule == "warn")
        assert "hunter22" not in json.dumps(done)


def test_a_caller_without_rights_imports_nothing_and_sees_no_path(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        admin = server.token("boss")
        read = server.token("reader", "read", admin)

        def client(token: str) -> GwtSession:
            return HttpGwtSession(server, path="/mcp/gwt", token=token)

        with client(admin) as gwt:
            gwt.store("Herons fish.")
            assert is_place(gwt.ok("gwt_backup_memory")["namespace"]["data_dir"], server.folder)
        with client(read) as gwt:
            backup = gwt.ok("gwt_backup_memory")
            assert (backup["item_count"], backup["namespace"]["data_dir"]) == (1, "store")
            assert str(tmp_path) not in json.dumps(backup)
            gwt.refused("gwt_import_memory", "forbidden", jsonl=backup["jsonl"])


def test_spaces_have_their_own_lines(tmp_path: Path) -> None:
    def client(space: str) -> Any:
        return served("stdio", tmp_path / "store", DAY1_SPACE=space)

    with client("project:a") as gwt:
        gwt.store("Herons fish.")
        backup = gwt.ok("gwt_backup_memory")
        assert (backup["namespace"]["scope"], backup["namespace"]["name"]) == ("space", "project:a")
    with client("project:b") as gwt:
        assert gwt.lines() == []
        assert gwt.ok("gwt_import_memory", jsonl=backup["jsonl"])["imported_count"] == 1
        assert [line["content"] for line in gwt.lines()] == ["Herons fish."]
