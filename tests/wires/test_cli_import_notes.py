"""Other tools' notes on the command line: whose they are, what is left out, what is refused."""

import os
from pathlib import Path

import pytest

from day1.model.values import instant
from tests.flows.git_repository import GitRepository
from tests.wires.command_line import CommandLine
from tests.wires.tool_memories import claude_code, codex, lines, note, texts


def test_a_note_keeps_its_type_and_its_links(cli: CommandLine) -> None:
    claude_code(cli)
    done = cli.json("import", "claude-code")
    rows = texts(cli, done["branch"])
    categories = {text.split(":")[0]: row["category"] for text, row in rows.items()}
    assert categories == {
        "deploy-day": "project",
        "gateway": "reference",
        "Memory > Old notes": None,
    }
    assert {row["source"] for row in rows.values()} == {"import"}
    assert (done["facts"], done["relations"]) == (3, 1)
    assert list(done["left_out"]) == ["lists of the notes' names", "empty notes"]


def test_only_this_projects_memory_is_read_unless_all_are_asked_for(cli: CommandLine) -> None:
    claude_code(cli)
    other = cli.home / ".claude" / "projects" / "-elsewhere" / "memory"
    note(other, "gateway.md", "Elsewhere it waits 60 seconds.\n")
    assert cli.json("import", "claude-code", "--dry-run")["facts"] == 3
    assert cli.json("import", "claude-code", "--dry-run", "--all-projects")["facts"] == 4
    below = cli.folder / "deep" / "er"
    below.mkdir(parents=True)
    cli.folder = below
    assert cli.json("import", "claude-code", "--dry-run")["facts"] == 3


def test_a_worktree_has_the_memory_of_its_repository(cli: CommandLine, tmp_path: Path) -> None:
    git = GitRepository(cli.folder / "first")
    git.commit("One", {"a": "1"})
    git.git("worktree", "add", "-q", str(tmp_path / "second"))
    cli.folder = git.folder
    claude_code(cli)
    codex(cli)  # its session was in a folder of the first one
    cli.folder = tmp_path / "second"
    assert cli.json("import", "claude-code", "--dry-run")["facts"] == 3
    assert cli.json("import", "codex", "--dry-run")["observations"] == 1


def test_a_note_that_changed_is_changed_and_one_edited_here_is_left(cli: CommandLine) -> None:
    folder = claude_code(cli)
    branch = cli.json("import", "claude-code")["branch"]
    note(folder, "gateway.md", "---\ntype: reference\n---\nIt waits 45 seconds.\n")
    assert cli.json("import", "claude-code")["changed"] == 1
    row = texts(cli, branch)["gateway: It waits 45 seconds."]
    cli("edit", str(row["id"]), "Mine.", "-b", branch)
    note(folder, "gateway.md", "---\ntype: reference\n---\nIt waits 60 seconds.\n")
    (left,) = cli.json("import", "claude-code")["left"]
    assert (left["id"], left["why"]) == (row["id"], "edited")


def test_sessions_of_other_projects_are_left_out_and_said(cli: CommandLine) -> None:
    codex(cli)
    done = cli.json("import", "codex")
    (why,) = (why for why in done["left_out"] if "sessions" in why)
    assert [Path(place).name for place in done["left_out"][why]] == ["b.md"]
    row = texts(cli, done["branch"])["On branch fix: # Login\n\nFixed it."]
    assert row["happened_at"] == instant.parse("2025-03-01T10:00:00Z")
    assert row["observation_type"] == "insight"
    (why,) = (why for why in done["left_out"] if "points about other projects" in why)
    assert done["left_out"][why][0].endswith("MEMORY.md: Mill")
    everywhere = cli.json("import", "codex", "--dry-run", "--all-projects")
    assert (everywhere["observations"], everywhere["facts"]) == (2, 5)


def test_lines_come_from_stdin_with_their_dates(cli: CommandLine) -> None:
    said = lines(cli).read_text()
    done = cli.json("import", "lines", "-", stdin=said)
    assert done["added"] == 2
    rows = texts(cli, done["branch"])
    first = rows["Prefers short answers,\nin English."]
    assert (first["happened_at"], first["category"]) == (instant.parse("2024-05-01"), "style")
    assert rows["Uses tabs."]["happened_at"] is None
    assert done["left_out"] == {
        "lines without a date": ["line 1", "line 8"],
        "dates that do not exist": ["line 6"],
    }
    assert cli.json("import", "lines", "-", stdin=said)["added"] == 0


def test_a_mangled_file_is_refused_with_its_line_before_anything_is_written(
    cli: CommandLine,
) -> None:
    folder = claude_code(cli)
    (folder / "z.md").write_bytes(b"---\nname: z\n---\nfine\nnot \xff fine\n")
    refused = cli.refused("import", "claude-code")
    assert (refused["code"], refused["details"]["line"]) == ("import_broken", 5)
    assert refused["details"]["path"].endswith("z.md")
    assert "import/" not in cli("branch").out
    codex(cli)
    found = cli.json("import", "auto", "--yes", code=1)["found"]
    assert [("error" in one, one.get("added")) for one in found] == [(True, None), (False, 5)]


def test_hostile_notes_do_no_harm(cli: CommandLine, tmp_path: Path) -> None:
    folder = claude_code(cli)
    secret = note(tmp_path / "outside", "secret.md", "The key of the safe is plover.\n")
    (folder / "innocent.md").symlink_to(secret)
    os.mkfifo(folder / "pipe.md")
    note(folder, "long.md", "x" * 40_000)
    note(folder, "nul.md", "a\0b")
    note(folder, "deep.md", "[[" * 5_000 + "- " * 5_000)
    done = cli.json("import", "claude-code")
    found = texts(cli, done["branch"])
    assert not any("plover" in text for text in found)
    assert done["left_out"]["links that lead out of the folder"] == [str(folder / "innocent.md")]
    long = sorted(text for text in found if "xxx" in text)
    assert len(long) == 2
    assert "".join(long).count("x") == 40_000
    assert "nul: ab" in found
    assert cli.json("import", "claude-code")["added"] == 0


def test_a_file_that_is_no_file_is_refused(cli: CommandLine) -> None:
    os.mkfifo(cli.folder / "said.txt")
    assert cli.refused("import", "lines", "said.txt")["code"] == "import_broken"
    assert cli.refused("import", "lines", "nowhere.txt")["code"] == "not_found"
    assert cli.refused("import", "codex")["code"] == "not_found"


def test_what_a_review_left_out_is_not_offered_again(cli: CommandLine) -> None:
    folder = claude_code(cli)
    done = cli.json("import", "claude-code")
    row = texts(cli, done["branch"])["gateway: It waits 30 seconds."]
    cli("review", "decide", done["branch"], f"{row['id']}=ours")
    cli("review", "merge", done["branch"])
    note(folder, "later.md", "Backups run at night.\n")
    again = cli.json("import", "claude-code")
    assert (again["branch"], again["added"]) == (done["branch"], 1)
    cli("review", "merge", again["branch"])
    kept = texts(cli, "main")
    assert "later: Backups run at night." in kept
    assert str(row["fact_text"]) not in kept


def test_a_closed_branch_gets_a_successor(cli: CommandLine) -> None:
    folder = claude_code(cli)
    first = cli.json("import", "claude-code")["branch"]
    cli("review", "merge", first, "--squash")
    note(folder, "later.md", "Backups run at night.\n")
    second = cli.json("import", "claude-code")
    assert (second["branch"], second["added"]) == (f"{first}-2", 1)


def test_a_person_is_asked_about_each_tool(cli: CommandLine) -> None:
    claude_code(cli)
    codex(cli)
    with cli.terminal("import", "auto") as terminal:
        terminal.wait_for("Import claude-code for review?")
        terminal.press("n\n")
        terminal.wait_for("Import codex for review?")
        terminal.press("y\n")
        terminal.wait_for("5 added")
        assert terminal.end() == 0
    branches = cli("branch").out
    assert "import/codex-" in branches
    assert "import/claude-code-" not in branches


def test_what_looks_like_a_secret_is_said_or_refused(cli: CommandLine) -> None:
    folder = claude_code(cli)
    note(folder, "key.md", "The password: correct-horse-battery\n")
    told = cli.json("import", "claude-code", "--dry-run")
    assert [len(ids) for ids in told["secrets"].values()] == [1]
    assert "beware of 1 text" in cli("import", "claude-code", "--dry-run").out
    cli.env["DAY1_WRITE__SECRETS"] = "refuse"
    done = cli.json("import", "claude-code")
    assert (done["facts"], done["secrets"]) == (3, {})
    assert done["left_out"]["texts that look as if they hold a password"]
    assert not any("horse" in text for text in texts(cli, done["branch"]))


def test_an_import_that_was_killed_is_finished_and_reviewed(cli: CommandLine) -> None:
    claude_code(cli)
    killed = cli.process("import", "claude-code", DAY1_KILL_AT="import.after_unit")
    assert killed.returncode == -9
    assert cli.json("review", "list")["result"] == []
    done = cli.json("import", "claude-code")
    assert (done["added"], done["unchanged"]) == (0, 4)
    assert [one["id"] for one in cli.json("review", "list")["result"]] == [done["review"]]


def test_nothing_is_made_where_there_is_nothing_to_import(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "bare")
    empty = note(cli.folder, "empty.txt", "\n")
    assert cli.json("import", "lines", str(empty))["facts"] == 0
    lines(cli)
    assert cli.json("import", "lines", "said.txt", "--dry-run")["facts"] == 2
    assert list(cli.home.iterdir()) == []
    cli("import", "lines", "said.txt")
    assert (cli.home / ".day1").is_dir()


def test_what_any_import_leaves_out_is_said_with_its_place(cli: CommandLine) -> None:
    notes = cli.folder / "notes"
    text = "---\ntags: a\n---\n# Nothing below\n\n# Gateway\n\nIt waits.\n"
    file = note(notes, "a.md", text)
    note(notes, os.fsdecode(b"caf\xe9.md"), "Not read.")
    done = cli.json("import", "markdown", "notes")
    assert (done["added"], done["left_out"]) == (
        1,
        {
            "files whose names are not UTF-8": ["notes/caf\\xe9.md"],
            "other keys of front matter": [f"{file}, 1 line"],
            "headings without a text of their own": [f"{file}, line 4"],
        },
    )
    assert "headings without a text of their own (1)" in cli("import", "markdown", "notes").out
    strange = os.fsdecode(b"caf\xe9.jsonl")
    note(cli.folder, strange, "")
    assert cli.json("import", "graph", strange)["added"] == 0


def test_an_export_is_read_from_no_device_and_no_pipe_without_a_writer(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("day1.foreign_files.PIPE_WAIT_S", 0.1)
    os.mkfifo(cli.folder / "pipe")
    for path in ("pipe", "/dev/zero"):
        assert cli.refused("import", "jsonl", path)["code"] == "import_broken"
    assert cli.refused("bundle", "import", "pipe")["code"] == "import_broken"


@pytest.mark.parametrize(("kind", "added"), [("markdown", 1), ("text", 0)])
def test_a_refused_secret_does_not_come_to_the_branch_itself(
    cli: CommandLine, kind: str, added: int
) -> None:
    cli.env["DAY1_WRITE__SECRETS"] = "refuse"
    note(cli.folder, "key.md", "# Desk\n\nIt is staffed.\n\n# Key\n\nAKIAIOSFODNN7EXAMPLE\n")
    done = cli.json("import", kind, "key.md")
    assert done["added"] == added
    assert len(done["left_out"]["texts that look as if they hold an AWS access key"]) == 1
    assert "AKIA" not in cli("export").out
