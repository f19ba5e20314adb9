"""The past of a memory on the command line: history, blame, revert."""

from pathlib import Path

import pytest

from tests.wires.command_line import CommandLine

OLD = "Ada: the gateway waits 30 seconds"
NEW = "Ada: the gateway waits 60 seconds"


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """On main, into which `side` was merged: it changed FACT and added another."""
    cli = CommandLine(tmp_path)
    cli("init")
    cli.env["FACT"] = cli.add(OLD, "--agent", "ada")
    cli("switch", "-c", "side")
    cli("edit", cli.env["FACT"], NEW, "--agent", "bo", "--reason", "measured")
    cli.add("Bo: the cache is Redis since 2026-03")
    cli("switch", "main")
    cli.env["MERGE"] = cli.json("merge", "side", "--agent", "cy")["merge_id"]
    return cli


def text(cli: CommandLine) -> str:
    return str(cli.json("show", cli.env["FACT"])["fact_text"])


def facts(cli: CommandLine) -> int:
    return len(cli.json("search", "Ada Bo gateway cache")["result"])


def test_history_shows_versions_with_their_words_and_branches(cli: CommandLine) -> None:
    lines = cli("history", cli.env["FACT"][-8:]).out.splitlines()
    first, because, difference, last, whole = lines
    assert " changed  side change fact " in first
    assert "bo, " in first
    assert because == "    because: measured"
    assert difference == "    fact_text: Ada: the gateway waits [-30-]{+60+} seconds"
    assert " added    main add 1 row  ada, " in last
    assert whole == f"    {OLD}"
    document = cli.json("history", cli.env["FACT"], "-n", "1")
    assert (len(document["versions"]), document["left_out"]) == (1, 1)
    assert "1 older version more" in cli("history", cli.env["FACT"], "-n", "1").err


def test_what_was_removed_has_a_history_by_its_whole_id(cli: CommandLine) -> None:
    cli("rm", cli.env["FACT"])
    lines = cli("history", cli.env["FACT"]).out.splitlines()
    assert " removed  main remove fact" in lines[0]
    assert "`day1 history`" in cli("blame", cli.env["FACT"], code=1).err


def test_a_pending_memory_has_no_commit_yet(cli: CommandLine) -> None:
    fresh = cli.add("Cy: still waiting")
    assert cli("history", fresh).out.startswith("-------- added    main waiting")
    assert cli("blame", fresh).out.splitlines()[1].startswith("-------- fact_text: Cy")


def test_blame_says_who_wrote_it_and_how_it_came_here(cli: CommandLine) -> None:
    lines = cli("blame", cli.env["FACT"][-8:]).out.splitlines()
    at = next(number for number, line in enumerate(lines) if " fact_text: " in line)
    assert NEW in lines[at]
    assert lines[at + 1].startswith("    bo on side, ")
    assert lines[at + 2] == "    because: measured"
    assert lines[at + 3].startswith("    merge side into main, cy, ")
    confidence = next(number for number, line in enumerate(lines) if " confidence: " in line)
    assert lines[confidence + 1].startswith("    ada on main, ")


def test_blame_says_who_wrote_each_line(cli: CommandLine) -> None:
    both = f"{NEW}\nBo: and retries twice"
    cli("edit", cli.env["FACT"], both, "--agent", "cy")
    first, second = cli("blame", cli.env["FACT"], "--lines").out.splitlines()
    assert " (cy, " in first  # the line has a line feed since
    assert first.endswith(f"    1 {NEW}")
    assert second.endswith("    2 Bo: and retries twice")
    cli("edit", cli.env["FACT"], f"{NEW}\nBo: and retries thrice", "--agent", "dee")
    first, second = cli("blame", cli.env["FACT"], "--lines").out.splitlines()
    assert (" (cy, " in first, " (dee, " in second) == (True, True)


def test_a_branch_that_was_deleted_has_no_name_any_more(cli: CommandLine) -> None:
    cli("branch", "-d", "side")
    out = cli("blame", cli.env["FACT"]).out
    assert "bo on a branch that is gone" in out
    assert "merge (gone) into main" in out
    assert cli.json("history", cli.env["FACT"])["versions"][0]["branch"] is None


@pytest.mark.parametrize("by", ["merge", "short merge", "commit", "short commit"])
def test_a_merge_is_undone_by_any_of_its_names(cli: CommandLine, by: str) -> None:
    commit = cli.json("log")["result"][0]["commit"]
    name = commit if "commit" in by else cli.env["MERGE"]
    name = name[:8] if by == "short commit" else name[-8:] if by == "short merge" else name
    answer = cli("revert", name)
    assert f"Undid merge {commit[:8]}: 2 memories" in answer.out
    assert "~ fact_" in answer.out
    assert "- fact_" in answer.out
    assert "Merging 'side' again" in answer.err
    assert (text(cli), facts(cli)) == (OLD, 1)
    cli("revert", cli.json("log")["result"][0]["commit"])
    assert (text(cli), facts(cli)) == (NEW, 2)


def test_a_preview_changes_nothing_and_says_what_still_has_it(cli: CommandLine) -> None:
    cli("snapshot", "after")
    cli("branch", "later")
    before = cli.json("log")["result"][0]["commit"]
    answer = cli("revert", cli.env["MERGE"], "--preview")
    assert "Would undo merge" in answer.out
    assert "The commit stays in snapshot after" in answer.err
    assert "The commit stays in branch later" in answer.err
    assert cli.json("log")["result"][0]["commit"] == before
    assert cli.json("revert", cli.env["MERGE"], "--preview")["digest"]


def test_what_changed_since_stays_unless_it_is_to_go_too(cli: CommandLine) -> None:
    cli("edit", cli.env["FACT"], "Ada: the gateway waits 90 seconds")
    shown = cli("revert", cli.env["MERGE"], "--preview").out
    assert "    before: Ada: the gateway waits [-90-]{+30+} seconds" in shown.splitlines()
    cli("revert", cli.env["MERGE"], "--theirs")
    assert text(cli) == OLD


def test_the_first_commit_and_those_of_others_are_refused(cli: CommandLine) -> None:
    first = next(c["commit"] for c in cli.json("log")["result"] if c["op"] == "init")
    assert cli.refused("revert", first)["code"] == "refused"
    theirs = cli.json("log", "side")["result"][0]["commit"]
    assert cli.refused("revert", theirs)["code"] == "not_found"
    assert cli.refused("revert", "nonsense")["code"] == "not_found"
