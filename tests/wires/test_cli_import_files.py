"""Files that tools export or keep, each with rules of its own, on the command line."""

import json
import zipfile

import pytest

from tests.flows.git_repository import GitRepository
from tests.wires import tool_memories as tools
from tests.wires.command_line import CommandLine
from tests.wires.tool_memories import note, texts


def test_the_rules_of_basic_memorys_notes(cli: CommandLine) -> None:
    tools.basic_memory(cli)
    done = cli.json("import", "basic-memory")
    rows = texts(cli, done["branch"])
    assert {text: row["category"] for text, row in rows.items() if row["category"] != "note"} == {
        "Gateway: It waits 30 seconds #net (measured)": "timeout",
        "Gateway: Ten calls a second": "limit",
        "Gateway: #slow Only at noon": "Note",
    }
    (prose,) = (text for text, row in rows.items() if row["category"] == "note")
    for kept in ("[ ] not done", "[x] done", "[00:01:02]", "[text](https", "[code] no observation"):
        assert kept in prose
    exported = map(json.loads, cli("export", "-b", done["branch"]).out.splitlines())
    relations = (line.get("row", line) for line in exported)
    assert {
        (row["relation_type"], row["target_entity"]) for row in relations if "relation_type" in row
    } == {
        ("is_a", "service"),
        ("links_to", "Mill"),
        ("depends_on", "Mill"),
        ("relates_to", "Desk"),
        ("part of", "Plant"),
        ("links_to", "Manual"),
    }


def test_the_issues_of_beads_are_left_out_and_said(cli: CommandLine) -> None:
    tools.beads(cli)
    assert cli.json("import", "beads")["left_out"] == {"issues": ["bd-1"]}


def test_an_agent_file_of_letta(cli: CommandLine) -> None:
    agent = {"name": "desk", "block_ids": ["block-0"], "messages": [{"role": "user"}] * 3}
    block = {"id": "block-0", "label": "human", "value": "Runs a mill.\n\nLikes tea."}
    note(cli.folder, "a.af", json.dumps({"agents": [agent], "blocks": [block]}))
    done = cli.json("import", "letta", "a.af")
    assert set(texts(cli, done["branch"])) == {"human: Runs a mill.", "human: Likes tea."}
    assert done["left_out"] == {"latest messages of conversations": ["3 messages"]}
    agent["name"] = "other"
    note(cli.folder, "b.af", json.dumps({"agents": [agent], "blocks": [block]}))
    assert cli.json("import", "letta", "b.af")["added"] == 2


def test_the_git_history_of_a_lettas_memory_comes_too(cli: CommandLine) -> None:
    folder = cli.home / ".letta" / "agents" / "agent-1" / "memory"
    folder.parent.mkdir(parents=True)
    git = GitRepository(folder)
    git.commit("Remember the desk", {"system/desk.md": "It is staffed.\n"})
    done = cli.json("import", "letta")
    assert (done["facts"], done["observations"], done["relations"]) == (1, 1, 2)
    row = next(row for text, row in texts(cli, done["branch"]).items() if "Remember" in text)
    assert row["happened_at"] == git.authored(1) * 1_000_000
    assert cli.json("import", "letta")["added"] == 0


def test_memories_in_the_zip_file_of_an_export(cli: CommandLine) -> None:
    file = tools.claude_ai(cli)
    with zipfile.ZipFile(cli.folder / "export.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
        archive.write(file, "data/memories.json")
    done = cli.json("import", "claude-ai", "export.zip")
    assert done["added"] == 4
    assert cli.json("import", "claude-ai", ".")["added"] == 0
    file.unlink()
    assert cli.refused("import", "claude-ai", ".")["code"] == "not_found"
    with zipfile.ZipFile(cli.folder / "without.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
    refused = cli.refused("import", "claude-ai", "without.zip")
    assert refused["code"] == "not_found"
    assert "[date] - text" in refused["message"]


@pytest.mark.parametrize("added", ["", " and the user is ada"])
def test_a_redacted_memory_is_left_and_listed(cli: CommandLine, added: str) -> None:
    note(cli.folder, "key.txt", "The password is x7.")
    cli("import", "text", "key.txt")
    (row,) = cli.json("call", "memory_list", json.dumps({"type": "fact"}))["rows"]
    cli("redact", row["id"], "--confirm", row["id"])
    exported = cli("export").out
    note(cli.folder, "key.txt", f"The password is x7{added}.")
    done = cli.json("import", "text", "key.txt")
    assert done["left"] == [{"id": row["id"], "branch": "main", "why": "redacted"}]
    assert cli("export").out == exported


@pytest.mark.parametrize("tool", ["text", "lines"])
def test_an_import_takes_no_writer_that_arguments_may_not_have(cli: CommandLine, tool: str) -> None:
    note(cli.folder, "memories.txt", "[2026-03-01] - The gateway listens on 8787.")
    refused = cli.refused("import", tool, "memories.txt", "--agent", "a" * 256)
    assert refused["code"] == "invalid_request"
    assert "agent_id: String should have at most 255 characters" in refused["message"]
