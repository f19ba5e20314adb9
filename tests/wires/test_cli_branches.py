"""Branches on the command line: made, left, deleted, retired, and what status says of them."""

import sqlite3

import pytest

from tests.engine import needs_files
from tests.wires.command_line import CommandLine


def test_branches_are_made_listed_and_left(cli: CommandLine) -> None:
    cli("switch", "-c", "work/one", "--description", "a try")
    assert cli("branch").out == "  main\n* work/one\n"
    listed = {b["branch_name"]: b for b in cli.json("branch")["result"]}
    assert listed["work/one"]["parent"] == "main"
    assert "a try" in cli("branch", "-v").out
    cli("branch", "work/two")
    assert {b["branch_name"]: b["parent"] for b in cli.json("branch")["result"]}[
        "work/two"
    ] == "work/one"
    cli("switch", "main")
    assert cli("topology").out == "main *\n└── work/one\n    └── work/two\n"


def test_a_branch_with_something_of_its_own_is_deleted_by_force_only(cli: CommandLine) -> None:
    cli("switch", "-c", "try")
    cli.add("Ada: 30")
    assert cli.refused("branch", "-D", "try")["code"] == "refused", "one stands on it"
    cli("switch", "main")
    assert "day1 branch -D try" in cli("branch", "-d", "try", code=1).err
    cli("branch", "-D", "try")
    cli("branch", "empty")
    cli("branch", "-d", "empty")
    assert cli("branch").out == "* main\n"


def test_status_says_what_is_ahead_and_what_waits(cli: CommandLine) -> None:
    cli("switch", "-c", "try")
    cli.add("Ada: 30")
    said = cli("status").out
    assert "On branch try" in said
    assert "1 row stored, waiting for a commit" in said
    assert "Ahead of main: 1 added" in said
    cli("merge", "try", "--into", "main")
    status = cli.json("status")
    assert (status["status"], status["pending"], status["ahead"]) == ("merged", 0, {})


def test_gc_offers_merged_branches_and_switch_brings_them_back(cli: CommandLine) -> None:
    cli("switch", "-c", "try")
    row = cli.add("Ada: 30")
    cli("merge", "try", "--into", "main")
    assert cli.json("gc")["offered"] == [], "not the one that one stands on"
    cli("switch", "main")
    assert "day1 gc --retire" in cli("gc").err
    assert [b["branch_name"] for b in cli.json("gc", "--retire")["retired"]] == ["try"]
    assert cli("branch").out == "* main\n"
    assert cli.refused("add", "x", "--branch", "try")["code"] == "unknown_branch"
    assert "Brought back" in cli("switch", "try").out
    assert cli.json("show", row, "--branch", "try")["id"] == row


def test_what_only_a_retired_branch_reaches_outlives_compaction_twice(cli: CommandLine) -> None:
    needs_files()
    cli("switch", "-c", "try")
    cli("call", "memory_branch_enrich", '{"branch_name": "try", "ttl_days": 1}')
    rows = [cli.add("Ada: 30")]
    _age(cli, "try")
    for _ in range(2):
        cli("switch", "main")
        assert [b["why"] for b in cli.json("gc", "--retire")["retired"]] == ["past its 1 days"]
        cli("gc")
        cli("switch", "try")
        for row in rows:
            assert cli.json("show", row)["id"] == row
        rows.append(cli.add("Ada: more"))


def _age(cli: CommandLine, name: str) -> None:
    """Make a branch two days old."""
    with sqlite3.connect(cli.folder / ".day1" / "ledger.db") as ledger:
        ledger.execute(
            "UPDATE branches SET created_at = created_at - 172800000000, row_sum = NULL "
            "WHERE name = ?",
            (name,),
        )


@pytest.mark.parametrize("point", ["retire.marked", "revive.forked"])
def test_a_killed_retirement_is_recovered_by_the_next_command(cli: CommandLine, point: str) -> None:
    cli("switch", "-c", "try")
    row = cli.add("Ada: 30")
    cli("merge", "try", "--into", "main")
    cli("switch", "main")
    command = ["gc", "--retire"]
    if point == "revive.forked":
        cli(*command)
        command = ["switch", "try"]
    assert cli.process(*command, DAY1_KILL_AT=point).returncode == -9
    assert "try" in cli("branch").out
    assert cli.json("show", row, "--branch", "try")["id"] == row
    assert not any(f["level"] == "error" for f in cli.json("doctor")["findings"])
