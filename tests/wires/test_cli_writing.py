"""Writing on the command line: add, edit, rm, restore."""

from pathlib import Path

from tests.wires.command_line import CommandLine


def test_each_kind_of_memory_is_added(cli: CommandLine) -> None:
    fact = cli.json("add", "Ada: 42", "-c", "preference", "--confidence", "0.5", "--agent", "bo")
    row = cli.json("show", fact["id"])
    assert (row["category"], row["confidence"], row["agent_id"]) == ("preference", 0.5, "bo")
    assert row["source"] == "user"
    seen = cli.json("add", "-o", "decision", "keep HTTP/1.1", "--tool", "Bash")
    assert cli.json("show", seen["id"])["tool_name"] == "Bash"
    link = cli.json("add", "--relation", "Gateway", "depends_on", "Auth")
    assert cli.json("show", link["id"])["target_entity"] == "Auth"
    piped = cli.json("add", "-", stdin="  two\nlines\n")
    assert cli.json("show", piped["id"])["fact_text"] == "two\nlines"
    assert cli.json("status")["pending"] == 4


def test_options_that_would_be_passed_over_are_refused(cli: CommandLine) -> None:
    cli("add", "x", "--relation", "a", "b", "c", code=2)
    cli("add", "-o", "decision", "x", "-c", "architecture", code=2)
    cli("add", "x", "--tool", "Bash", code=2)
    assert cli.json("status")["pending"] == 0


def test_a_repeated_text_is_noted(cli: CommandLine) -> None:
    first = cli.add("Ada: 42")
    assert first[-8:] in cli("add", "Ada: 42", "--agent", "bo").err


def test_what_is_added_again_is_added_once(cli: CommandLine) -> None:
    """F4: said again within a minute, or ever with the same --request-id."""
    first = cli.json("add", "Ada: 42")
    again = cli("add", "Ada: 42")
    assert first["id"] in again.out
    assert "less than a minute ago" in again.err
    named = [cli.json("add", "Ada: 42", "--request-id", name)["id"] for name in ("a", "b", "a")]
    assert named[0] == named[2] != named[1]
    assert cli.json("status")["pending"] == 3


def test_a_fact_is_corrected_superseded_and_removed(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    cli("edit", row, "Ada: 45", "-m", "measured", "--agent", "bo")
    shown = cli.json("show", row, "--history")
    assert shown["authors"]["fact_text"]["by"] == "bo"
    assert [e["reason"] for e in shown["edits"] if e["cell"] == "fact_text"] == ["measured"]
    made = cli.json("edit", row, "Ada: 60", "--supersede")
    assert cli.json("show", row)["superseded_by"] == made["id"]
    removed = cli.json("rm", row, made["id"], "-m", "tidy")
    assert cli.refused("show", row)["code"] == "not_found"
    cli("restore", row, "--source", removed["before"])
    assert cli.json("show", row)["status"] == "superseded"
    assert cli.refused("rm", row, made["id"])["code"] == "not_found"
    assert cli.json("show", row), "a removal that cannot be whole removes nothing"


def test_a_fact_whose_successor_was_removed_is_superseded_anew(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    first = cli.json("edit", row, "Ada: 45", "--supersede")["id"]
    refused = cli.refused("edit", row, "Ada: 60", "--supersede")
    assert f"supersede {first}" in refused["message"]
    cli("rm", first)
    second = cli.json("edit", row, "Ada: 60", "--supersede")["id"]
    assert cli.json("show", row)["superseded_by"] == second


def test_the_text_of_a_fact_opens_in_the_editor(cli: CommandLine, tmp_path: Path) -> None:
    row = cli.add("Ada: 30")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/30/31/ "$1"\n')
    editor.chmod(0o755)
    with cli.terminal("edit", row[-8:], EDITOR=str(editor)) as terminal:
        assert terminal.end() == 0, terminal.said
    assert cli.json("show", row)["fact_text"] == "Ada: 31"


def test_only_facts_have_a_text_to_edit_and_others_what_options_say(cli: CommandLine) -> None:
    seen = cli.json("add", "-o", "decision", "keep it")["id"]
    assert cli.refused("edit", seen, "drop it")["code"] == "refused"
    assert cli.refused("edit", seen)["code"] == "refused"
    link = cli.json("add", "--relation", "kiln", "in", "barn", "--happened-at", "2020-01-01")["id"]
    cli("edit", link, "--valid-until", "2022-01-01")
    assert cli.json("show", link)["valid_until"] == "2022-01-01T00:00:00.000000+00:00"
    cli("edit", seen, "--space", "project:metal")
    assert cli.json("show", seen)["space"] == "project:metal"


def test_who_supersedes_says_whether_the_old_fact_was_ever_true(cli: CommandLine) -> None:
    for name, more in (("Ada", ()), ("Bo", ("--keep-valid-time",))):
        row = cli.add(f"{name} heads.")
        cli("edit", row, f"{name} left.", "--supersede", *more)
        assert (cli.json("show", row).get("valid_until") is None) is bool(more)
    cli("edit", cli.add("Cy heads."), "--keep-valid-time", code=2)


def test_a_whole_branch_comes_back_after_a_yes(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    cli("snapshot", "v1")
    cli("edit", row, "Ada: 45")
    cli("restore", "--source", "v1", code=2)
    with cli.terminal("restore", "--source", "v1") as terminal:
        terminal.wait_for("[y/N]")
        terminal.press("n\n")
        assert terminal.end() == 1
    assert cli.json("show", row)["fact_text"] == "Ada: 45"
    undo = cli.json("restore", "--source", "v1", "--yes")["snapshot_before"]
    assert cli.json("show", row)["fact_text"] == "Ada: 30"
    cli("restore", "--source", undo, "--yes")
    assert cli.json("show", row)["fact_text"] == "Ada: 45"


def test_a_restore_from_neither_a_snapshot_nor_a_time_names_the_list(cli: CommandLine) -> None:
    error = cli.refused("restore", "--source", "nosuch", "--yes")
    assert (error["code"], error["details"]) == ("not_found", {"name": "nosuch"})
    assert error["next"] == [{"operation": "memory_snapshot_list"}]
    message = cli("restore", "--source", "nosuch", "--yes", code=1).err
    assert "no snapshot 'nosuch', and it is not a time" in message
    assert "`day1 snapshot --list` lists the snapshots" in message
