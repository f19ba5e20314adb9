"""The command line of a team: task, template, bundle, handoff, and branches put away."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.wires.command_line import CommandLine

FACT = "Acme's gate opens at nine."
OWN = "task/fix-login/ada"


@pytest.fixture
def far(tmp_path: Path) -> CommandLine:
    """Another store."""
    far = CommandLine(tmp_path / "far")
    far("init")
    return far


def task(cli: CommandLine) -> str:
    """A task of two objectives, which `ada` has joined."""
    asked = ("-o", "find it", "-o", "mend it", "--type", "bug_fix")
    made = cli.json("task", "create", "Fix login!", *asked)
    cli("task", "join", made["task_id"], "--agent", "ada", "--role", "tester", "--objective", "1")
    return str(made["task_id"])


def listed(cli: CommandLine, *arguments: str) -> list[list[str]]:
    """The rows of a table, as a pipe gets them."""
    return [line.split("\t") for line in cli(*arguments).out.splitlines()]


# Tasks


def test_a_task_is_opened_joined_and_done(cli: CommandLine) -> None:
    made = task(cli)
    assert cli("task", "join", made, "--agent", "ada").out == f"ada works on branch {OWN}\n"
    shown = cli("task", "status", made).out.splitlines()
    assert shown[0] == "Fix login!  pending  task/fix-login"
    assert shown[1].split() == ["0.", "pending", "find", "it"]
    assert shown[2].split() == ["1.", "pending", "mend", "it", "ada"]
    assert shown[3] == f"  ada (tester): {OWN}"
    told = cli("task", "update", made, "0", "completed", "--agent", "bo", "--notes", "done").out
    assert told == "Objective 0: pending -> completed; the task is in_progress\n"
    assert "the task is completed" in cli("task", "update", made, "1", "completed").out
    first, _ = cli.json("task", "status", made)["objectives"]
    assert (first["agent_id"], first["notes"]) == ("bo", "done")


def test_tasks_are_listed_newest_first_and_by_type(cli: CommandLine) -> None:
    made = task(cli)
    cli("task", "create", "\u65e5\u672c\u8a9e", "--tag", "\u00fc")
    rows = listed(cli, "task", "list")
    assert [row[4] for row in rows] == ["\u65e5\u672c\u8a9e", "Fix login!"]
    assert rows[1] == [made, "pending", "bug_fix", "ada", "Fix login!"]
    (only,) = cli.json("task", "list", "--type", "bug_fix")["result"]
    assert (only["task_id"], only["agents"]) == (made, ["ada"])
    assert cli("task", "list", "--type", "none").out == ""


def test_what_does_not_fit_a_task_is_refused_in_commands(cli: CommandLine) -> None:
    made = task(cli)
    assert "Give --agent" in cli("task", "join", made, code=2).err
    for command in (("update", made, "7", "pending"), ("join", made, "--agent", "x", "--objective", "7")):  # fmt: skip
        assert "its indices are 0 to 1" in cli("task", *command, code=1).err
    cli("task", "update", made, "0", "finished", code=2)
    said = cli("task", "status", "task_none", code=1).err
    assert (
        said == "error: There is no task 'task_none'. `day1 task create` returns the id to use.\n"
    )
    assert cli.refused("task", "join", "task_none", "--agent", "x")["code"] == "not_found"


def test_the_agent_of_the_environment_joins_and_its_branch_knows_whose_it_is(
    cli: CommandLine,
) -> None:
    made = task(cli)
    cli.env["DAY1_AGENT_ID"] = "cy"
    assert cli("task", "join", made).out.startswith("cy works on branch task/fix-login/cy")
    del cli.env["DAY1_AGENT_ID"]
    cli("switch", "task/fix-login/cy")
    row = cli.json("show", cli.add(FACT))
    assert (row["agent_id"], row["task_id"]) == ("cy", made)
    said = cli("status").out
    assert "On branch task/fix-login/cy" in said
    assert "day1 merge task/fix-login/cy --into task/fix-login" in said


# Templates


@pytest.mark.line("S1-090")
def test_a_template_is_versioned_used_and_taken_out_of_use(cli: CommandLine) -> None:
    cli.add(FACT)
    assert cli("template", "create", "Start").out == "Template Start version 1: 1 fact\n"
    cli.add("It shuts at five.")
    cli("template", "create", "Start", "--type", "bug_fix", "--tag", "x")
    assert listed(cli, "template", "list") == [
        ["Start", "2", "2", "template/start/v2"],
        ["Start", "1", "1", "template/start/v1"],
    ]
    assert len(listed(cli, "template", "list", "--type", "bug_fix")) == 1
    made = task(cli)
    assert "with 2 facts of Start 2" in cli("template", "use", "Start", "one", "--task", made).out
    assert cli("template", "deprecate", "Start", "--version", "2").out.startswith("Deprecated 1 ")
    assert "with 1 fact of Start 1" in cli("template", "use", "Start", "two").out
    assert cli.json("template", "deprecate", "Start")["versions"] == [1, 2]
    assert len(listed(cli, "template", "list", "--deprecated")) == 2
    assert "Its versions are deprecated. `day1 template list`" in cli("template", "use", "Start", "x", code=1).err  # fmt: skip
    assert "`day1 template list`" in cli("template", "deprecate", "Start", "--version", "9", code=1).err  # fmt: skip


def test_a_kept_branch_is_shown_as_closed_and_nothing_advises_to_merge_it(
    cli: CommandLine,
) -> None:
    cli("switch", "-c", "work")
    cli.add(FACT)
    kept = cli.json("template", "create", "Start")["branch_name"]
    cli("switch", kept)
    cli("merge", "work", "--into", "main")
    said = cli("status").out
    assert "It is closed." in said
    assert "day1 merge" not in said
    assert cli.refused("add", "x")["code"] == "branch_closed"
    assert cli("doctor").code == 0
    assert kept not in cli("gc").out


# Bundles


@pytest.mark.line("S1-090")
def test_a_bundle_is_carried_to_another_store(cli: CommandLine, far: CommandLine) -> None:
    cli.add(FACT)
    empty = cli("bundle", "create", "None")
    assert "0 facts" in empty.out
    assert empty.err == "note: No fact is verified: `day1 verify` judges them, `--all` takes all.\n"
    made = cli.json("bundle", "create", "Gate", "--all", "--tag", "x")["id"]
    assert cli("bundle", "export", made, "gate.jsonl").out == "Wrote 2 lines to gate.jsonl\n"
    file = str(cli.folder / "gate.jsonl")
    assert cli("bundle", "export", made).out.encode() == Path(file).read_bytes()
    assert far("bundle", "import", file, "--no-branch").out == f"Took bundle {made} Gate\n"
    assert far("search", "gate").out == ""
    told = far("bundle", "import", "-", stdin=Path(file).read_text()).out
    assert told.startswith("Imported Gate into main: 1 fact, 0 conversations; 0 were there")
    again = far.json("bundle", "import", file)
    assert (again["bundle_id"], again["facts_imported"], again["skipped"]) == (made, 0, 1)
    assert listed(far, "bundle", "list") == [[made, "1", "main", "Gate"]]
    assert "Deprecated" in far("bundle", "deprecate", made).out
    assert far("bundle", "list").out == ""
    assert listed(far, "bundle", "list", "--deprecated")[0][0] == made
    assert "`day1 bundle list`" in far("bundle", "export", "bundle_none", code=1).err


def test_of_a_bundle_that_is_not_sound_nothing_is_taken(cli: CommandLine, far: CommandLine) -> None:
    cli.add(FACT)
    made = cli.json("bundle", "create", "Gate", "--all")["id"]
    whole = cli("bundle", "export", made).out
    file = far.folder / "gate.jsonl"
    for broken in (
        "",
        whole[:-9],
        whole.replace("nine", "five"),
        whole.replace("Gate", "Gute"),
        "\0",
    ):
        file.write_text(broken)
        assert far.refused("bundle", "import", file.name)["code"] == "import_broken"
    assert far.refused("bundle", "import", ".")["code"] == "not_found"
    assert far.json("bundle", "list")["bundles"] == []
    assert [row["branch_name"] for row in far.json("branch")["result"]] == ["main"]


def test_lines_go_through_pipes_and_a_file_that_cannot_be_written_is_named(
    cli: CommandLine, far: CommandLine
) -> None:
    cli.add(FACT)
    made = cli.json("bundle", "create", "Gate", "--all")["id"]
    pipe = far.folder / "pipe"
    os.mkfifo(pipe)
    took: list[Any] = []
    reader = threading.Thread(target=lambda: took.append(pipe.read_bytes()), daemon=True)
    reader.start()
    cli("bundle", "export", made, str(pipe))
    reader.join(timeout=10)
    assert pipe.is_fifo(), "the pipe was put out of the way"
    assert took[0].decode() == cli("bundle", "export", made).out
    writer = threading.Thread(target=pipe.write_bytes, args=(took[0],), daemon=True)
    writer.start()
    assert far.json("bundle", "import", "pipe")["facts_imported"] == 1
    for refused in (("bundle", "export", made), ("export", "-o")):
        error = cli.refused(*refused, "no/where.jsonl")
        assert error["code"] == "invalid_request"
        assert error["message"].startswith("no/where.jsonl cannot be written: No such file")


# Handoffs


def test_a_handoff_is_made_and_shown(cli: CommandLine) -> None:
    task(cli)
    cli.add(FACT, "-b", OWN)
    first = cli("handoff", "create", OWN, "main")
    assert f"{OWN} hands over to main: 0 facts and 0 conversations." in first.out
    assert first.err == (
        "note: 1 fact was left out: `day1 verify` judges those that are not verified, "
        "`--include-unverified` takes them as they are.\n"
    )
    said = ("--include-unverified", "--summary", "Mind the gate.")
    made = cli.json("handoff", "create", OWN, "main", *said)
    assert (made["fact_count"], made["copied"]) == (1, 1)
    shown = cli("handoff", "show", made["handoff_id"]).out.splitlines()
    assert shown[0] == "Mind the gate."
    assert shown[1].endswith(f"  {FACT}")
    assert "`day1 handoff create`" in cli("handoff", "show", "handoff_none", code=1).err
    assert cli.refused("handoff", "create", "main", "main")["code"] == "invalid_request"


# Branches put away


@pytest.mark.line("S1-090")
def test_a_branch_is_put_away_and_taken_back(cli: CommandLine) -> None:
    cli("branch", "old")
    assert cli("branch", "old", "--archive").out == "Branch old is archived.\n"
    assert "old  (archived)" in cli("branch").out
    assert "old" not in cli("topology").out
    assert "old  archived" in cli("topology", "--archived").out
    cli.add(FACT, "-b", "old")
    assert cli.json("branch", "old", "--unarchive") == {"branch_name": "old", "archived": False}
    assert "archived" not in cli("branch").out
    assert cli.refused("branch", "main", "--archive")["code"] == "refused"
    assert cli.refused("branch", "none", "--archive")["code"] == "unknown_branch"


@pytest.mark.parametrize(
    "options",
    [
        ("--archive",),
        ("--description", "x"),
        ("old", "-d", "--archive"),
        ("old", "main", "-D"),
        ("old", "--archive", "--description", "x"),
    ],
)
def test_a_branch_command_does_one_thing(cli: CommandLine, options: tuple[str, ...]) -> None:
    cli("branch", "old")
    cli("branch", *options, code=2)
    (_, old) = cli.json("branch")["result"]
    assert (old["branch_name"], old["status"]) == ("old", "active")


# All of it


def test_a_store_of_a_team_is_sound_and_goes_out_and_in_as_it_is(
    cli: CommandLine, far: CommandLine, tmp_path: Path
) -> None:
    cli.add(FACT)
    task(cli)
    cli.add("Ada: the hinge squeaks.", "-b", OWN)
    kept = cli.json("template", "create", "Start", "-b", OWN)["branch_name"]
    cli("handoff", "create", OWN, "main", "--include-unverified")
    made = cli.json("bundle", "create", "Gate", "--all")["id"]
    cli("bundle", "export", made, "gate.jsonl")
    far("bundle", "import", str(cli.folder / "gate.jsonl"))
    for number, store in enumerate((cli, far)):
        assert {line.split("\t")[0] for line in store("doctor").out.splitlines()} == {"ok"}
        assert store.json("gc")["offered"] == []
        store("export", "--all", "-o", "all.jsonl")
        fresh = CommandLine(tmp_path / f"fresh{number}")
        fresh("init")
        file = store.folder / "all.jsonl"
        fresh("import", "jsonl", str(file))
        fresh("export", "--all", "-o", "all.jsonl")
        assert (fresh.folder / "all.jsonl").read_bytes() == file.read_bytes()
        closed = [row["branch_name"] for row in fresh.json("branch")["result"] if row["closed"]]
        assert len(closed) == 1
        assert fresh.refused("add", "x", "-b", closed[0])["code"] == "branch_closed"
        assert fresh("import", "jsonl", str(file)).out.startswith("Imported")
    assert kept == "template/start/v1"
