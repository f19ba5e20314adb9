"""The state before `init`, which the log names as its parent, is an empty memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.wires.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def before(cli: CommandLine) -> str:
    """The commit before `init`."""
    cli("init")
    cli.add("The port is 8080.")
    parents = cli.json("log")["result"][-1]["parents"]
    if not parents:
        pytest.skip("this engine has no commit before init")
    return str(parents[0])


def asked(cli: CommandLine, tool: str, **arguments: Any) -> Any:
    return json.loads(cli("call", tool, json.dumps(arguments)).out)


def test_every_kind_of_memory_is_empty_there(cli: CommandLine, before: str) -> None:
    for kind in ("fact", "observation", "relation", "conversation", "message"):
        found = asked(cli, "memory_list", type=kind, at=before)
        assert found["rows"] == [], kind
    assert asked(cli, "memory_list", type="fact")["rows"]


def test_a_memory_is_not_found_there(cli: CommandLine, before: str) -> None:
    (fact,) = asked(cli, "memory_list", type="fact")["rows"]
    answer = cli("call", "memory_get", json.dumps({"id": fact["id"], "at": before}), code=1)
    assert fact["id"] in answer.err
    assert "doctor" not in answer.err


def test_other_commands_name_that_commit_or_what_they_need(cli: CommandLine, before: str) -> None:
    assert before in cli("show", before).out
    assert "8080" in cli("diff", before, "main").out
    assert "holds nothing to undo" in cli.refused("revert", before)["message"]
    for words in (
        ["restore", "--source", before, "--yes"],
        ["branch", "new", before],
        ["snapshot", "first", "--at", before],
        ["export", "--at", before],
        ["merge", before],
    ):
        answer = cli.shown(*words, "--json")
        assert answer.code in {0, 1, 2}, words
        assert "store_unavailable" not in answer.err, words
        assert "doctor" not in answer.err, words
