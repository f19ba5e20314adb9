"""A text that is too long for one memory is refused on every wire, which says how to bring it in."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from day1.model.values.parts import piece_of
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import Session

LONG = "x" * 40_000
GIVEN = {"id": "a", "created_at": "2025-01-01"}
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("memory_write_fact", {"fact_text": LONG}, "fact_text"),
    ("memory_write_observation", {"observation_type": "insight", "summary": LONG}, "summary"),
    ("memory_log_message", {"role": "user", "content": LONG}, "content"),
    ("memory_update_fact", {"fact_id": "fact_a", "fact_text": LONG}, "fact_text"),
    ("memory_supersede_fact", {"fact_id": "fact_a", "fact_text": LONG}, "fact_text"),
    ("upsert_memory", {"namespace": "shared", "items": [{"text": LONG}]}, "items.0.text"),
    ("memory_store", {"context": LONG, "action": "a", "result": "r"}, "context"),
    ("memory_store", {"context": LONG[:20_000], "action": LONG[:20_000], "result": "r"}, ""),
    ("memory_import", {"version": 1, "memories": [{**GIVEN, "result": LONG}]}, "memories.0.result"),
    (
        "memory_import",
        {"version": 1, "memories": [{**GIVEN, "context": LONG[:20_000], "result": LONG[:20_000]}]},
        "memories.0",
    ),
]


def check(error: dict[str, Any], argument: str) -> None:
    """It names the argument and both lengths, and says what to do, without the text.

    Without an argument the lesson is too long that several arguments make.
    """
    named = f"{argument}:" if argument else "the whole lesson"
    assert error["code"] == "invalid_request"
    assert f"{named} has 40,0" in error["message"]
    assert "a memory at most 32,768" in error["message"]
    assert "`day1 import text FILE`" in error["message"]
    assert "part 2 of 3" in error["message"]
    assert "xxxx" not in json.dumps(error)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Session]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                Session(tmp_path_factory.mktemp("long") / "store", toolsets=name)
            )
            for name in ("core,review", "kompanion", "engram")
        }


@pytest.mark.parametrize(("tool", "given", "argument"), CALLS)
def test_mcp_says_how_to_bring_it_in(
    sessions: dict[str, Session], tool: str, given: dict[str, Any], argument: str
) -> None:
    own = {
        "upsert_memory": "kompanion",
        "memory_store": "engram",
        "memory_import": "engram",
    }
    session = sessions[own.get(tool, "core,review")]
    check(session.refused(tool, "invalid_request", **given), argument)


def test_rest_says_so_too(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store", DAY1_HTTP__RATE="0") as server:
        refused = server.ask("POST", "/api/v1/memory_write_fact", json={"fact_text": LONG})
        assert refused.status == 400
        check(refused.body["error"], "fact_text")


def test_a_text_that_is_no_memory_is_only_refused(sessions: dict[str, Session]) -> None:
    error = sessions["core,review"].refused("memory_search", "invalid_request", query=LONG)
    assert "import" not in error["message"]


def test_a_context_that_is_too_long_is_only_refused(sessions: dict[str, Session]) -> None:
    kompanion = sessions["kompanion"]
    given = {"namespace": "shared", "content": LONG}
    error = kompanion.refused("save_context", "invalid_request", **given)
    assert "content: must have at most 32,768 characters as JSON" in error["message"]
    assert "import" not in error["message"]


def test_the_command_line_says_so_and_that_brings_it_in(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    text = "".join(f"Line {n} of the manual.\n" for n in range(4_000))
    assert cli.refused("add", text)["code"] == "invalid_request"
    (cli.folder / "manual.txt").write_text(text)
    (cli.folder / "empty.txt").write_text("\n")
    done = cli.json("import", "text", "manual.txt", "empty.txt")
    assert done["added"] == 4
    assert list(done["left_out"]) == ["empty files"]
    rows = cli.json("call", "memory_list", json.dumps({"type": "fact"}))["rows"]
    texts = {row["fact_text"].rpartition("[part ")[2]: row["fact_text"] for row in rows}
    assert "".join(piece_of(texts[mark]) for mark in sorted(texts)) == text
    assert {row["category"] for row in rows} == {"note"}
    assert cli.json("import", "text", "manual.txt")["unchanged"] == 4
    (cli.folder / "manual.txt").write_text("Short now.")
    assert cli.json("import", "text", "manual.txt")["changed"] == 4
    rows = cli.json("call", "memory_list", json.dumps({"type": "fact"}))["rows"]
    assert [row["fact_text"] for row in rows] == ["Short now."]


def test_only_files_are_texts(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    assert cli.refused("import", "text", "nowhere.txt")["code"] == "not_found"
    assert cli.refused("import", "text", ".")["code"] == "import_broken"
