"""Other tools' databases and exports on the command line: nothing is touched, much is left out."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from day1.model.values import instant
from tests.wires import tool_databases as tools
from tests.wires.command_line import CommandLine
from tests.wires.tool_databases import database
from tests.wires.tool_memories import ALL, note, texts

DATABASES = {
    "claude-mem": ("observations", tools.claude_mem),
    "mem0": ("history", tools.mem0),
    "mcp-memory-service": ("memories", tools.mcp_memory_service),
    "engram": ("observations", tools.engram),
}
TEXTS = {
    "claude-mem": "narrative",
    "mem0": "new_memory",
    "mcp-memory-service": "content",
    "engram": "content",
}
"""The column that holds the text of a table."""


@pytest.fixture(params=DATABASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def beside(file: Path) -> dict[str, tuple[int, bytes]]:
    """A file and all beside it; a folder's time of change tells of files that came and went."""
    folder = file.parent
    files = {f.name: (f.stat().st_mtime_ns, f.read_bytes()) for f in folder.iterdir()}
    return {**files, ".": (folder.stat().st_mtime_ns, b"")}


def test_a_database_in_use_is_read_whole_and_left_as_it_is(cli: CommandLine, name: str) -> None:
    table, write = DATABASES[name]
    file = write(cli)
    with closing(database(file)) as in_use:
        in_use.execute("PRAGMA wal_autocheckpoint = 0")
        ALL[name].grow(cli)
        before = beside(file)
        assert before[f"{file.name}-wal"][1]
        done = cli.json("import", name)
        assert done["added"] == sum(ALL[name].counts) + 1
        after = beside(file)
        del before[f"{file.name}-shm"], after[f"{file.name}-shm"]
        assert after == before
        assert in_use.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 1


def test_a_database_at_rest_gets_nothing_beside_it(cli: CommandLine, name: str) -> None:
    file = DATABASES[name][1](cli)
    before = beside(file)
    assert set(before) == {file.name, "."}
    assert cli.json("import", name, "--dry-run")["facts"]
    assert beside(file) == before


def test_half_of_a_database_is_refused(cli: CommandLine, name: str) -> None:
    file = DATABASES[name][1](cli)
    whole = file.read_bytes()
    for part in (whole[: len(whole) // 2], b"no database at all" * 100):
        file.write_bytes(part)
        refused = cli.refused("import", name)
        assert refused["code"] in {"import_broken", "invalid_request"}
        assert str(file) in refused["message"]
    assert "import/" not in cli("branch").out


def test_a_foreign_version_is_named(cli: CommandLine, name: str) -> None:
    table = DATABASES[name][0]
    file = cli.folder / "other.db"
    with closing(database(file)) as there:
        there.execute("CREATE TABLE other (a)")
        refused = cli.refused("import", name, str(file))
        assert refused["code"] == "invalid_request"
        assert f"there is no table {table}" in refused["message"]
        there.execute(f"CREATE VIEW {table} AS SELECT 1 AS id")
        assert f"there is no table {table}" in cli.refused("import", name, str(file))["message"]
        there.execute(f"DROP VIEW {table}")
        there.execute(f"CREATE TABLE {table} (id, content)")
        refused = cli.refused("import", name, str(file))
        assert refused["details"]["table"] == table
        assert refused["details"]["missing"]


def test_a_pipe_and_an_endless_value_are_refused(cli: CommandLine, name: str) -> None:
    pipe = cli.folder / "pipe.db"
    os.mkfifo(pipe)
    assert cli.refused("import", name, str(pipe))["code"] == "import_broken"
    table, write = DATABASES[name]
    file = write(cli)
    with closing(database(file)) as there:
        there.execute(f"UPDATE {table} SET {TEXTS[name]} = hex(zeroblob(9000000))")
    assert "too big" in cli.refused("import", name)["message"]


def test_what_is_sensitive_comes_only_when_it_is_asked_for(cli: CommandLine) -> None:
    tools.claude_mem(cli)
    done = cli.json("import", "claude-mem", "--dry-run")
    assert done["left_out"] == {
        "sensitive notes (--sensitive)": ["id 2"],
        "notes of other projects": ["id 3"],
        "prompts of people": ["1 prompts"],
    }
    assert cli.json("import", "claude-mem", "--sensitive", "--dry-run")["observations"] == 3
    assert cli.json("import", "claude-mem", "--all-projects", "--dry-run")["observations"] == 3
    done = cli.json("import", "claude-mem")
    rows = texts(cli, done["branch"])
    assert not any("plover" in text for text in rows)
    fact = rows["Gateway: It waits 30 seconds."]
    assert (fact["category"], fact["happened_at"]) == (
        "discovery",
        instant.parse("2025-03-01T10:00:00Z"),
    )
    assert rows["Gateway\n\nFound in the log.\n\nFiles: a.py"]["observation_type"] == "discovery"


def test_an_older_database_names_its_sessions_otherwise(cli: CommandLine) -> None:
    file = tools.claude_mem(cli)
    with closing(database(file)) as there:
        for table in ("observations", "session_summaries"):
            there.execute(f"ALTER TABLE {table} RENAME memory_session_id TO sdk_session_id")
        there.execute("ALTER TABLE observations DROP COLUMN merged_into_project")
    assert cli.json("import", "claude-mem")["added"] == 4
    with closing(database(file)) as there:
        for table in ("observations", "session_summaries"):
            there.execute(f"ALTER TABLE {table} RENAME sdk_session_id TO memory_session_id")
    assert cli.json("import", "claude-mem")["added"] == 0


def test_a_broken_list_is_said_and_the_rest_of_its_row_comes(cli: CommandLine) -> None:
    file = tools.claude_mem(cli)
    with closing(database(file)) as there:
        for facts in ("[cut off", "[" * 100_000, "{}"):
            there.execute(tools.OBSERVE, (cli.folder.name, "change", "Odd", facts, "Told."))
        bad = "INSERT INTO observations (id, memory_session_id, project, type, title, narrative) "
        there.execute(bad + "VALUES (9, 's', ?, 'change', 'x', CAST(x'61ff' AS TEXT))", ("p",))
        there.execute(tools.OBSERVE, (cli.folder.name, "change", b"\0blob", "[]", "a\0b"))
    done = cli.json("import", "claude-mem", "--dry-run")
    assert done["left_out"]["lists that are no JSON (facts)"] == ["id 4", "id 5"]
    assert done["left_out"]["rows whose text is not UTF-8"] == ["id 9"]
    assert done["observations"] == ALL["claude-mem"].counts[1] + 4


def test_an_export_says_the_same_as_its_database(cli: CommandLine) -> None:
    file = tools.claude_mem(cli)
    assert cli.json("import", "claude-mem")["added"] == 4
    with closing(sqlite3.connect(file)) as there:
        there.row_factory = sqlite3.Row
        told = [dict(row) for row in there.execute("SELECT * FROM observations")]
        ends = [dict(row) for row in there.execute("SELECT * FROM session_summaries")]
    for row in told:
        row["facts"] = json.loads(row["facts"])
    export = {"observations": told, "summaries": ends, "prompts": []}
    note(cli.folder, "export.json", json.dumps(export))
    again = cli.json("import", "claude-mem", "export.json")
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 4)


def test_a_memory_that_was_replaced_is_superseded_here_too(cli: CommandLine) -> None:
    file = tools.mcp_memory_service(cli)
    done = cli.json("import", "mcp-memory-service")
    rows = texts(cli, done["branch"])
    old, new = rows["It waits 30 seconds.\n\nTags: net, ops"], rows["It waits 45 seconds."]
    assert (old["status"], old["superseded_by"]) == ("superseded", new["id"])
    assert (new["status"], new["category"]) == ("active", "note")
    assert new["happened_at"] == 1740823200500000
    assert done["left_out"] == {
        "deleted memories": ["h3"],
        "memories whose successor was deleted": ["h4", "h0"],
        "relations of nearness, or of memories that are gone": ["h1", "h3"],
    }
    with closing(database(file)) as there:
        there.execute(tools.MEMORIZE, ("h6", "It waits 60 seconds.", "", "note", None, None))
        there.execute("UPDATE memories SET superseded_by = 'h6' WHERE content_hash = 'h2'")
    again = cli.json("import", "mcp-memory-service")
    assert (again["added"], again["changed"]) == (1, 1)
    rows = texts(cli, done["branch"])
    newest = rows["It waits 60 seconds."]["id"]
    assert rows["It waits 45 seconds."]["superseded_by"] == newest


def test_an_export_of_memories_is_read_too(cli: CommandLine) -> None:
    memory = {"content": "At night.", "content_hash": "h9", "tags": ["a"], "created_at": 1.5}
    note(cli.folder, "e.json", json.dumps({"memories": [memory, 1, {}]}))
    done = cli.json("import", "mcp-memory-service", "e.json")
    assert list(texts(cli, done["branch"])) == ["At night.\n\nTags: a"]
    assert done["left_out"] == {"entries without a hash": ["memories 1", "memories 2"]}


@pytest.mark.parametrize(
    ("name", "file", "text", "line"),
    [
        ("beads", "issues.jsonl", '{"_type":"issue"}\n{"_type":"memory","key":"a","va', 2),
        ("beads", "issues.jsonl", "{}\n\n[1]\n", 3),
        ("beads", "issues.jsonl", '{"_type":"memory","key":"a"}\n', 1),
        ("beads", "issues.jsonl", "[" * 100_000, 1),
        ("beads", "issues.jsonl", '{}\n{"a":"\\ud800"}\n', 2),
        ("claude-ai", "memories.json", '[\n{"conversations_memory":\n', 3),
        ("claude-ai", "memories.json", "{}", 1),
        ("claude-ai", "memories.json", "[1]", 1),
        ("claude-ai", "export.zip", "PK\x03\x04 cut off", 1),
        ("claude-mem", "export.json", "[]", 1),
        ("mcp-memory-service", "export.json", '{"memories":1}', 1),
        ("letta", "agent.af", '{"version":1,"core_memory":[]}', 1),
        ("letta", "agent.af", '{"agents":[],\n"blocks":[', 2),
    ],
)
def test_a_mangled_file_is_refused_with_its_line(cli, name, file, text, line) -> None:
    note(cli.folder, file, text)
    refused = cli.refused("import", name, file)
    assert (refused["code"], refused["details"]["line"]) == ("import_broken", line)
    assert "import/" not in cli("branch").out
