"""What other tools keep on a machine, written to their schemas: small, and about nobody."""

import json
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.wires.command_line import CommandLine


@dataclass(frozen=True)
class Written:
    """One tool's memory: how it is written and grows, and what an import makes of it."""

    write: Callable[[CommandLine], Path]
    """Write it where the tool keeps it; answers the path that an import can be given."""
    grow: Callable[[CommandLine], None]
    """Add one memory, which is one row."""
    counts: tuple[int, int, int]
    """Facts, observations and relations."""
    texts: set[str]
    """Some of the texts that come in."""
    removed: int = 0
    """Of the facts: their removal comes in too."""
    automatic: bool = True
    """Whether `day1 import auto` finds it."""


def texts(cli: CommandLine, branch: str) -> dict[str, dict[str, object]]:
    """The rows of a branch by their text, if they have one."""
    rows = [json.loads(line) for line in cli("export", "-b", branch).out.splitlines()]
    return {
        str(row.get("fact_text", row.get("summary"))): row
        for row in (line.get("row", line) for line in rows)
        if "fact_text" in row or "summary" in row
    }


def slug(cli: CommandLine) -> str:
    return "".join(c if c.isalnum() else "-" for c in str(cli.folder))


def note(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def claude_code(cli: CommandLine) -> Path:
    folder = cli.home / ".claude" / "projects" / slug(cli) / "memory"
    index = "# Memory\n\n- [Deploys](deploys.md): when\n- [[gateway]]\n\n## Old notes\n\nUse uv.\n"
    note(folder, "MEMORY.md", index)
    head = "---\nname: deploy-day\ndescription: When we deploy\nmetadata:\n  type: project\n---\n"
    body = "On Tuesdays.\n**Why:** the desk is staffed. See [[gateway]] and [[deploy-day]].\n"
    note(folder, "deploys.md", head + body)
    note(folder, "gateway.md", "---\ntype: reference\n---\nIt waits 30 seconds.\n")
    note(folder, "empty.md", "---\nname: empty\n---\n")
    return folder


def more_claude_code(cli: CommandLine) -> None:
    folder = cli.home / ".claude" / "projects" / slug(cli) / "memory"
    note(folder, "later.md", "---\nname: later\n---\nBackups run at night.\n")


def codex(cli: CommandLine) -> Path:
    folder = cli.home / ".codex" / "memories"
    summary = "# Preferences\n\n- Short answers.\n- Tests first,\n  then code.\n\nNo emoji.\n"
    note(folder, "memory_summary.md", summary)
    groups = (
        f"# Build\n\napplies_to: cwd={cli.folder}; reuse_rule=look again\n\n"
        "- Run `make`.\n- Run `make`.\n\n### keywords\n\n- make, build\n\n"
        "# Mill\n\napplies_to: cwd=/elsewhere\n\n## Task 1\n\n- Turn it.\n"
    )
    note(folder, "MEMORY.md", groups)
    note(folder, "raw_memories.md", "raw\n")
    head = "thread_id: {}\nupdated_at: 2025-03-01T10:00:00+00:00\ncwd: {}\ngit_branch: fix\n\n"
    sessions = folder / "rollout_summaries"
    note(sessions, "a.md", head.format("t-1", cli.folder / "api") + "# Login\n\nFixed it.\n")
    note(sessions, "b.md", head.format("t-2", "/elsewhere") + "Of another project.\n")
    return folder


def more_codex(cli: CommandLine) -> None:
    folder = cli.home / ".codex" / "memories" / "rollout_summaries"
    note(folder, "c.md", "thread_id: t-3\n\nAdded a cache.\n")


def lines(cli: CommandLine) -> Path:
    said = "Of course:\n```\n# Style\n[2024-05-01] - Prefers short answers,\nin English.\n"
    return note(cli.folder, "said.txt", said + "- [unknown] - Uses tabs.\n```\nThat is all.\n")


def more_lines(cli: CommandLine) -> None:
    with (cli.folder / "said.txt").open("a") as file:
        file.write("[2024-06-01] - Works on a mill.\n")


def basic_memory(cli: CommandLine) -> Path:
    folder = cli.home / "basic-memory"
    head = "---\ntitle: Gateway\ntype: service\npermalink: ops/gateway\ntags: [net, ops]\n---\n"
    body = """# Gateway

It stands before [[Mill]].

- [timeout] It waits 30 seconds #net (measured)
- [limit] Ten calls a second
- #slow Only at noon
- [ ] not done
- [x] done
- [00:01:02] on a clock
- [text](https://example.com)
- depends_on [[Mill]] (always)
- [[Desk]]
- "part of" [[Plant]]
- see also [[Manual]]

```
- [code] no observation
```
"""
    note(folder / "ops", "gateway.md", head + body)
    return folder


def more_basic_memory(cli: CommandLine) -> None:
    with (cli.home / "basic-memory" / "ops" / "gateway.md").open("a") as file:
        file.write("\n- [owner] The night shift\n")


OBSERVATIONS = """CREATE TABLE observations (
    id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,
    subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
    files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER, created_at TEXT,
    created_at_epoch INTEGER, content_hash TEXT, merged_into_project TEXT);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
    investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
    created_at_epoch INTEGER);
CREATE TABLE user_prompts (
    id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT);
"""
OBSERVE = """INSERT INTO observations (memory_session_id, project, type, title, facts, narrative,
    files_modified, created_at_epoch) VALUES ('s', ?, ?, ?, ?, ?, '["a.py"]', 1740823200000)"""


def database(file: Path, schema: str = "") -> sqlite3.Connection:
    """A file of SQLite, which keeps a log beside it while it is open."""
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(schema)
    return connection


def claude_mem(cli: CommandLine) -> Path:
    file = cli.home / ".claude-mem" / "claude-mem.db"
    with closing(database(file, OBSERVATIONS)) as there:
        facts = json.dumps(["It waits 30 seconds.", "It retries twice."])
        project = cli.folder.name
        there.execute(OBSERVE, (project, "discovery", "Gateway", facts, "Found in the log."))
        there.execute(OBSERVE, (project, "sensitive", "Safe", "[]", "Its key is 4711."))
        there.execute(OBSERVE, ("elsewhere", "change", "Other", "[]", "Elsewhere."))
        there.execute(
            "INSERT INTO session_summaries (memory_session_id, project, request, next_steps, "
            "created_at_epoch) VALUES ('s', ?, 'Mend it', 'Measure', 1740823300000)",
            (project,),
        )
        there.execute("INSERT INTO user_prompts VALUES (1, 's', 1, 'Please mend it')")
    return file


def more_claude_mem(cli: CommandLine) -> None:
    with closing(database(cli.home / ".claude-mem" / "claude-mem.db")) as there:
        there.execute(OBSERVE, (cli.folder.name, "decision", "Cache", '["Use Redis."]', None))


MEMORIES = """CREATE TABLE memories (
    id INTEGER PRIMARY KEY, content_hash TEXT UNIQUE, content TEXT, tags TEXT, memory_type TEXT,
    metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT, updated_at_iso TEXT,
    deleted_at REAL, superseded_by TEXT);
CREATE TABLE memory_graph (source_hash TEXT, target_hash TEXT, similarity REAL,
    connection_types TEXT, metadata TEXT, created_at REAL, relationship_type TEXT);
"""
MEMORIZE = """INSERT INTO memories (content_hash, content, tags, memory_type, created_at, deleted_at,
    superseded_by) VALUES (?, ?, ?, ?, 1740823200.5, ?, ?)"""


def mcp_memory_service(cli: CommandLine) -> Path:
    kept = ".local/share" if sys.platform != "darwin" else "Library/Application Support"
    file = cli.home / kept / "mcp-memory" / "sqlite_vec.db"
    with closing(database(file, MEMORIES)) as there:
        for row in (
            ("h1", "It waits 30 seconds.", "net, ops", "note", None, "h2"),
            ("h2", "It waits 45 seconds.", "", "note", None, None),
            ("h3", "Gone.", "", None, 1740823300.0, None),
            ("h4", "Replaced by what is gone.", "", None, None, "h3"),
            ("h0", "Replaced before that.", "", None, None, "h4"),
            ("h5", "The gateway is slow.", "", None, None, None),
        ):
            there.execute(MEMORIZE, row)
        for ends in (("h2", "h5", "causes"), ("h1", "h2", "related"), ("h3", "h5", "causes")):
            there.execute(
                "INSERT INTO memory_graph (source_hash, target_hash, relationship_type) "
                "VALUES (?, ?, ?)",
                ends,
            )
    return file


def more_mcp_memory_service(cli: CommandLine) -> None:
    with closing(database(mcp_file(cli))) as there:
        there.execute(MEMORIZE, ("h6", "Backups run at night.", "", None, None, None))


def mcp_file(cli: CommandLine) -> Path:
    (file,) = cli.home.rglob("sqlite_vec.db")
    return file


HISTORY = """CREATE TABLE history (
    id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
    created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT);
"""
HAPPEN = """INSERT INTO history (id, memory_id, old_memory, new_memory, event, created_at,
    updated_at, actor_id) VALUES (?, ?, ?, ?, ?, ?, ?, 'desk')"""
_FIRST, _NEXT = "2025-03-01T10:00:00-07:00", "2025-04-01T10:00:00-07:00"


def mem0(cli: CommandLine) -> Path:
    file = cli.home / ".mem0" / "history.db"
    with closing(database(file, HISTORY)) as there:
        for event in (
            ("e1", "m1", None, "It waits 30 seconds.", "ADD", _FIRST, None),
            ("e2", "m2", None, "Deploys are on Mondays.", "ADD", _FIRST, None),
            ("e3", "m1", "It waits 30 seconds.", "It waits 45 seconds.", "UPDATE", _FIRST, _NEXT),
            ("e4", "m2", "Deploys are on Mondays.", None, "DELETE", _FIRST, _NEXT),
            ("e5", "m3", None, "Tests come first.", "ADD", _FIRST, None),
            ("e6", "m3", "Tests come first.", "Tests come first.", "UPDATE", _FIRST, None),
            ("e7", "m4", None, "", "NOOP", _FIRST, None),
        ):
            there.execute(HAPPEN, event)
    return file


def more_mem0(cli: CommandLine) -> None:
    with closing(database(cli.home / ".mem0" / "history.db")) as there:
        there.execute(HAPPEN, ("e8", "m5", None, "Backups run at night.", "ADD", _FIRST, None))


def beads(cli: CommandLine) -> Path:
    lines = [
        {"id": "bd-1", "title": "Mend it", "status": "open"},
        {"_type": "memory", "key": "gateway", "value": "It waits 30 seconds."},
        {"_type": "memory", "key": "deploys", "value": "On Tuesdays."},
    ]
    return note(cli.folder / ".beads", "issues.jsonl", "".join(json.dumps(x) + "\n" for x in lines))


def more_beads(cli: CommandLine) -> None:
    with (cli.folder / ".beads" / "issues.jsonl").open("a") as file:
        file.write(json.dumps({"_type": "memory", "key": "backups", "value": "At night."}))


def letta(cli: CommandLine) -> Path:
    folder = cli.home / ".letta" / "agents" / "agent-1" / "memory"
    text = "---\ndescription: About the desk\n---\nIt is staffed.\n\n- Until six.\n"
    note(folder / "system", "desk.md", text)
    return folder


def more_letta(cli: CommandLine) -> None:
    folder = cli.home / ".letta" / "agents" / "agent-1" / "memory"
    note(folder / "system", "mill.md", "It turns.\n")


def claude_ai(cli: CommandLine) -> Path:
    memory = "**Work**\n\n- Runs a mill.\n- Likes short answers.\n"
    accounts = [
        {
            "conversations_memory": memory,
            "project_memories": {"p-1": "# Plan\n\nOpen in May."},
            "account_uuid": "a-1",
        }
    ]
    return note(cli.folder, "memories.json", json.dumps(accounts))


def more_claude_ai(cli: CommandLine) -> None:
    file = cli.folder / "memories.json"
    (account,) = json.loads(file.read_text())
    account["conversations_memory"] += "- Uses tabs.\n"
    file.write_text(json.dumps([account]))


ALL: Mapping[str, Written] = {
    "claude-code": Written(
        claude_code,
        more_claude_code,
        (3, 0, 1),
        {
            "deploy-day: When we deploy\n\nOn Tuesdays.\n**Why:** the desk is staffed. "
            "See [[gateway]] and [[deploy-day]].",
            "gateway: It waits 30 seconds.",
            "Memory > Old notes: Use uv.",
        },
    ),
    "codex": Written(
        codex,
        more_codex,
        (4, 1, 0),
        {
            "Preferences: Tests first,\n  then code.",
            "Preferences: No emoji.",
            "Build: Run `make`.",
            "On branch fix: # Login\n\nFixed it.",
        },
    ),
    "basic-memory": Written(
        basic_memory,
        more_basic_memory,
        (4, 0, 6),
        {
            "Gateway: It waits 30 seconds #net (measured)",
            "Gateway: Ten calls a second",
            "Gateway: #slow Only at noon",
        },
    ),
    "claude-mem": Written(
        claude_mem,
        more_claude_mem,
        (2, 2, 0),
        {
            "Gateway: It waits 30 seconds.",
            "Gateway\n\nFound in the log.\n\nFiles: a.py",
            "Request: Mend it\n\nNext steps: Measure",
        },
    ),
    "mcp-memory-service": Written(
        mcp_memory_service,
        more_mcp_memory_service,
        (3, 0, 1),
        {"It waits 30 seconds.\n\nTags: net, ops", "It waits 45 seconds."},
    ),
    "mem0": Written(
        mem0,
        more_mem0,
        (3, 0, 0),
        {"It waits 45 seconds.", "Tests come first."},
        removed=1,
    ),
    "beads": Written(beads, more_beads, (2, 0, 0), {"gateway: It waits 30 seconds."}),
    "letta": Written(
        letta,
        more_letta,
        (2, 0, 0),
        {
            "system/desk (About the desk): It is staffed.",
            "system/desk (About the desk): Until six.",
        },
    ),
    "claude-ai": Written(
        claude_ai,
        more_claude_ai,
        (4, 0, 0),
        {"Runs a mill.", "Plan: Open in May."},
        automatic=False,
    ),
    "lines": Written(
        lines,
        more_lines,
        (2, 0, 0),
        {"Prefers short answers,\nin English.", "Uses tabs."},
        automatic=False,
    ),
}
