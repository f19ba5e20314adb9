"""Merging on the command line: the plan, the questions, the flags, what is held."""

import re
from pathlib import Path

import pytest

from tests.wires.cli_conflict import OURS, THEIRS, experiment
from tests.wires.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return experiment(tmp_path)


def text(cli: CommandLine) -> str:
    return str(cli.json("show", cli.env["CONFLICT"], "--branch", "main")["fact_text"])


def test_diff_shows_the_words_that_changed_and_both_sides_of_a_conflict(cli: CommandLine) -> None:
    lines = cli("diff", "main", "experiment").out.splitlines()
    assert any(line.startswith("+ fact_") and "Redis" in line for line in lines)
    assert "    fact_text: Ada: the gateway waits [-30-]{+60+} seconds" in lines
    assert f"    main:       {OURS}" in lines
    assert "    experiment: Ada: the gateway waits [-45-]{+60+} seconds" in lines


def test_in_a_pipe_nothing_is_asked_and_what_conflicts_is_held(cli: CommandLine) -> None:
    answer = cli("merge", "experiment", code=3)
    assert "Merged experiment into main: 1 memory, 1 held" in answer.out
    assert text(cli) == OURS
    assert cli.json("status")["held"] == 1


def test_a_merge_with_json_is_one_document(cli: CommandLine) -> None:
    merged = cli.json("merge", "experiment", code=3)
    assert (merged["merged_count"], merged["rejected_count"]) == (1, 1)
    again = cli("merge", "experiment")
    assert "Already up to date" in again.out


@pytest.mark.parametrize(("flag", "left"), [("--ours", OURS), ("--theirs", THEIRS)])
def test_one_flag_decides_every_conflict(cli: CommandLine, flag: str, left: str) -> None:
    cli("merge", "experiment", flag)
    assert text(cli) == left
    assert cli.json("status")["held"] == 0


def test_a_choice_decides_one_cell_by_a_short_id(cli: CommandLine) -> None:
    short = cli.env["CONFLICT"][-8:]
    cli("merge", "experiment", "--choose", f"{short}:fact_text=theirs")
    assert text(cli) == THEIRS
    assert cli("merge", "experiment", "--choose", "nonsense", code=2).err


def test_a_dry_run_changes_nothing(cli: CommandLine) -> None:
    before = cli.json("log")["result"][0]["commit"]
    shown = cli("merge", "experiment", "--dry-run").out
    assert "Redis" in shown
    assert "conflict" in shown
    plan = cli.json("merge", "experiment", "--dry-run")
    assert plan["digest"]
    assert cli.json("log")["result"][0]["commit"] == before


def test_a_squash_that_would_hold_is_refused_until_it_is_decided(cli: CommandLine) -> None:
    assert cli.refused("merge", "experiment", "--squash")["code"] == "would_hold"
    cli("merge", "experiment", "--squash", "--theirs")
    assert text(cli) == THEIRS
    refused = cli.refused("add", "late", "--branch", "experiment")
    assert refused["code"] == "branch_closed"


@pytest.mark.parametrize(
    ("key", "code", "left"), [("o", 0, OURS), ("t", 0, THEIRS), ("s", 3, OURS), ("q", 1, OURS)]
)
def test_on_a_terminal_a_key_decides(cli: CommandLine, key: str, code: int, left: str) -> None:
    with cli.terminal("merge", "experiment") as terminal:
        terminal.wait_for("[q]uit")
        terminal.press("\x1bOA")  # an arrow key is no answer, though it has an o
        terminal.wait_for("[q]uit")
        terminal.press(key)
        assert terminal.end() == code, terminal.said
    assert text(cli) == left
    assert cli.json("status")["held"] == (1 if key == "s" else 0)


def test_on_a_terminal_a_conflict_can_be_written_anew(cli: CommandLine, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ngrep -q "<<<<<<< main" "$1" && echo "Ada: it waits 50" > "$1"\n')
    editor.chmod(0o755)
    with cli.terminal("merge", "experiment", EDITOR=str(editor)) as terminal:
        terminal.wait_for("[e]dit")
        terminal.press("e")
        assert terminal.end() == 0, terminal.said
    assert text(cli) == "Ada: it waits 50"


def test_with_yes_a_terminal_is_not_asked(cli: CommandLine) -> None:
    with cli.terminal("merge", "experiment", "--yes") as terminal:
        assert terminal.end() == 3
    assert "[o]urs" not in terminal.said
    assert "\x1b[" in terminal.raw, "a terminal gets colours"


def test_what_is_held_is_listed_and_decided(cli: CommandLine) -> None:
    cli("merge", "experiment", code=3)
    (item,) = cli.json("held")["items"]
    listed = cli("held").out
    assert "both changed" in listed
    assert "[-45-]{+60+}" in listed
    cli("held", "edit", item["id"][-8:], "Ada: the gateway waits 50 seconds")
    assert text(cli) == "Ada: the gateway waits 50 seconds"
    assert cli.json("held")["items"] == []
    assert "No open item" in cli("held", "take", item["id"], code=1).err


def test_what_is_held_is_taken_by_the_id_of_its_memory(cli: CommandLine) -> None:
    cli("merge", "experiment", code=3)
    cli("held", "take", cli.env["CONFLICT"])
    assert text(cli) == THEIRS


def test_a_pick_finds_the_branch_that_has_the_memory(cli: CommandLine) -> None:
    cli("switch", "experiment")
    row = cli.add("Cy: builds run on Fridays")
    cli("switch", "main")
    cli("cherry-pick", row[-8:])
    assert cli.json("show", row, "--branch", "main")["id"] == row
    assert cli.refused("cherry-pick", "ZZZZZZ")["code"] == "not_found"


def test_a_pick_of_a_conflicting_memory_is_held_or_decided(cli: CommandLine) -> None:
    cli("cherry-pick", cli.env["CONFLICT"], "--from", "experiment", code=3)
    assert text(cli) == OURS
    cli("cherry-pick", cli.env["CONFLICT"], "--from", "experiment", "--theirs")
    assert text(cli) == THEIRS


def test_a_pick_prints_the_command_that_supersedes_the_old_fact_too(cli: CommandLine) -> None:
    old = cli.add("Cy: builds run on Fridays")
    cli("switch", "-c", "feature")
    new = cli.json("edit", old, "Cy: builds run on Mondays", "--supersede")["id"]
    cli("switch", "main")
    note = cli("cherry-pick", new).err
    advice = re.fullmatch(
        r"note: (\w+) stays active on main beside (\w+), .*: `day1 (.*)` .*\n", note
    )
    assert advice is not None, note
    assert (advice[1], advice[2]) == (old, new)
    cli("switch", "experiment")
    assert cli(*advice[3].split()).err == ""
    assert cli.json("show", old, "--branch", "main")["status"] == "superseded"


def test_a_pick_that_skips_a_new_fact_prints_nothing_about_supersession(cli: CommandLine) -> None:
    cli("switch", "-c", "feature")
    skipped, picked = cli.add("Cy: builds run on Fridays"), cli.add("Di: the port is 9000")
    cli("switch", "main")
    done = cli("cherry-pick", skipped, picked, "--choose", f"{skipped}=skip", code=3)
    assert "1 memory, 1 held" in done.out
    assert "superseded" not in done.err


def test_the_graph_draws_the_merge(cli: CommandLine) -> None:
    cli("merge", "experiment", code=3)
    lines = cli("log", "--graph").out.splitlines()
    assert lines[0].startswith("* ")
    assert "(HEAD -> main) merge experiment into main: 1 merged, 1 held" in lines[0]
    assert lines[1] == "|\\"
    assert any(line.startswith("| * ") and "(experiment)" in line for line in lines)
    assert "|/" in lines
    assert lines[-1].endswith("Z")
    assert " init " in lines[-1]
