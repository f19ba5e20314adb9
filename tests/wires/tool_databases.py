"""Databases in which other tools keep memory, written to their schemas: small, about nobody."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from tests.wires.command_line import CommandLine

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
        there.execute(OBSERVE, (project, "sensitive", "Safe", "[]", "Its key is plover."))
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


ENGRAM = """CREATE TABLE observations (
    id INTEGER PRIMARY KEY, session_id TEXT, type TEXT, title TEXT, content TEXT, tool_name TEXT,
    project TEXT, scope TEXT, topic_key TEXT, normalized_hash TEXT, revision_count INTEGER,
    created_at TEXT, updated_at TEXT, deleted_at TEXT);
"""
OBSERVED = """INSERT INTO observations (session_id, type, title, content, project, scope, created_at,
    updated_at, deleted_at) VALUES ('s', ?, ?, ?, ?, ?, '2025-03-01 10:00:00', ?, ?)"""
_LATER = "2025-04-01 10:00:00"


def engram(cli: CommandLine) -> Path:
    file = cli.home / ".engram" / "engram.db"
    with closing(database(file, ENGRAM)) as there:
        project = cli.folder.name.upper()
        for row in (
            ("bugfix", "Timeout", "It waits 30 seconds.", project, "project", None, None),
            ("decision", "Answers", "Short ones.", "elsewhere", "personal", None, None),
            ("decision", "Other", "Elsewhere.", "elsewhere", "project", None, None),
            ("bugfix", "Gone", "Removed.", project, "project", _LATER, _LATER),
        ):
            there.execute(OBSERVED, row)
    return file


def more_engram(cli: CommandLine) -> None:
    with closing(database(cli.home / ".engram" / "engram.db")) as there:
        row = ("note", "Backups", "They run at night.", cli.folder.name, "project", None, None)
        there.execute(OBSERVED, row)
