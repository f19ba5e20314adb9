"""Looking on the command line: short ids, the log, the past, what changed since."""

import os

from day1.interfaces.web.rendering import short
from tests.wires.command_line import CommandLine

# Short names


def test_a_short_id_names_a_row_where_one_has_it(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    for name in (row, row[-8:], row[-6:].lower(), f"fact_{row[-8:]}", row[5:-1]):
        assert cli.json("show", name)["id"] == row
    assert cli.refused("show", row[-5:])["code"] == "not_found", "too short"
    assert cli.refused("show", f"obs_{row[-8:]}")["code"] == "not_found"


def test_ids_have_one_length_everywhere(cli: CommandLine) -> None:
    """D4: the command line showed 8 letters, pages and handoffs 6, and the help spoke of 6."""
    row = cli.add("Ada: 30")
    assert f"fact_{row[-8:]}\t" in cli("search", "Ada").out
    cli("branch", "other")
    made = cli.json("handoff", "create", "main", "other", "--include-unverified")
    assert f"fact_{row[-8:]}  " in cli("handoff", "show", made["handoff_id"]).out
    assert short(row) == row[-8:]
    assert "its last eight letters" in cli("--help").out


def test_a_short_id_that_several_have_is_refused(cli: CommandLine) -> None:
    rows = [cli.add(f"Ada: {n}") for n in range(2)]
    shared = os.path.commonprefix(rows)  # noqa: RUF071 - of letters
    assert len(shared) >= len("fact_") + 6, "ids of one moment begin alike"
    refused = cli.refused("rm", shared)
    assert refused["code"] == "invalid_request"
    assert set(refused["details"]["ids"]) == set(rows)


def test_commits_and_snapshots_are_shown_by_name(cli: CommandLine) -> None:
    cli.add("Ada: 30")
    cli("snapshot", "v1")
    commit = cli.json("log")["result"][0]["commit"]
    for name in (commit, commit[:6], "v1", "main"):
        shown = cli.json("show", name)
        assert shown["commit"] == commit
        assert [row["fact_text"] for row in shown["changes"]["added"]] == ["Ada: 30"]
    assert "snapshot v1" in cli("show", "v1").out


# Time


def test_the_log_shows_what_waits_on_top(cli: CommandLine) -> None:
    cli.add("Ada: 30")
    lines = cli("log", "--oneline").out.splitlines()
    assert lines[0] == "(waiting) 1 row on main"
    assert "(HEAD -> main) init" in lines[1]
    assert len(lines) == 2, "the engine's own first commit is not shown"
    cli("snapshot", "v1")
    top = cli("log").out.splitlines()
    assert top[0].endswith("(HEAD -> main, snapshot: v1)")
    assert "    add 1 fact" in top
    assert len(cli.json("log", "-n", "1")["result"]) == 1


def test_the_past_is_searched_shown_logged_and_exported(cli: CommandLine) -> None:
    row = cli.add("Ada: the gateway waits 30 seconds")
    cli("snapshot")
    at = cli.json("log")["result"][0]["at"]
    cli("edit", row, "Ada: the gateway waits 45 seconds")
    cli.add("Bo: the gateway moved")
    texts = [hit["fact_text"] for hit in cli.json("search", "gateway", "--at", at)["result"]]
    assert texts == ["Ada: the gateway waits 30 seconds"]
    assert len(cli.json("search", "gateway", "--at", "now")["result"]) == 2
    assert cli.json("search", "gateway", "--at", "1h")["result"] == []
    assert cli.json("show", row, "--at", at)["fact_text"] == "Ada: the gateway waits 30 seconds"
    assert [c["op"] for c in cli.json("log", "--at", at)["result"]] == ["add", "init"]
    assert cli("export", "--at", at).out.count('"kind":"facts"') == 1


def test_diff_since_a_snapshot_shows_what_became_of_a_branch(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    cli("snapshot", "v1")
    cli("edit", row, "Ada: 45")
    assert "[-30-]{+45+}" in cli("diff", "v1").out
    assert cli.json("diff", "v1")["changed"][0]["after"] == {"fact_text": "Ada: 45"}
    assert "no parent" in cli("diff", code=1).err
