"""Exports and databases with repeated keys and a mark in every text, as their tools keep them."""

import gzip
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from day1.adapters.sources.graph import GraphSource
from day1.adapters.sources.tools.beads import Beads
from day1.adapters.sources.tools.claude_ai import ClaudeAi
from day1.adapters.sources.tools.claude_mem import ClaudeMem
from day1.adapters.sources.tools.engram import Engram
from day1.adapters.sources.tools.letta import Letta
from day1.adapters.sources.tools.mcp_memory_service import McpMemoryService
from day1.adapters.sources.tools.mem0 import Mem0
from day1.ports.source import Machine, Source
from tests.wires import tool_databases as databases

MACHINE = Machine(Path("/nowhere"), {}, (Path("/work/metal"),))

_key = st.sampled_from(("a", "b", ""))
_text = st.sampled_from(
    ("m0q", "m0q", "m0q", "# A\n\nm0q\n\n- m0q", "## m0q\n", "same", "", 7, None)
)
_time = st.sampled_from(("2025-01-02 03:04:05", "2025-01-03 00:00:00", None))
_project = st.sampled_from(("metal", "metal", "wood", None))


def _rows(**columns: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries(columns), max_size=5)


ROWS: Mapping[str, st.SearchStrategy[list[dict[str, Any]]]] = {
    "beads": _rows(
        _type=st.sampled_from(("memory", "issue")),
        key=st.sampled_from(("a", "m0q")),
        value=st.sampled_from(("m0q", "same")),
        id=_key,
    ),
    "claude-mem": _rows(
        memory_session_id=_key,
        project=_project,
        type=st.sampled_from(("discovery", "sensitive", "change", "m0q")),
        created_at_epoch=st.sampled_from((1, 2)),
        title=_text,
        subtitle=_text,
        text=_text,
        narrative=_text,
        facts=st.sampled_from(('["m0q"]', '["m0q", 1]', "[m0q", '"m0q"', "[]", None)),
        files_modified=st.sampled_from(('["m0q"]', "[]")),
    ),
    "mem0": _rows(
        id=st.sampled_from(("e1", "e2", "e3")),
        memory_id=_key,
        new_memory=_text,
        event=st.sampled_from(("ADD", "ADD", "UPDATE", "NOOP")),
        created_at=_time,
        actor_id=_key,
    ),
    "mem0 answer": _rows(id=_key, memory=_text, created_at=_time),
    "mcp-memory-service": _rows(
        content_hash=st.sampled_from(("h1", "h2", "h3")),
        content=_text,
        tags=st.sampled_from(("m0q, m0q", "", None)),
        memory_type=st.sampled_from(("note", "m0q", None)),
        deleted_at=st.sampled_from((None, None, 5.0)),
        superseded_by=st.sampled_from((None, None, "h1", "h2", "h9")),
    ),
    "engram": _rows(
        session_id=_key,
        type=st.sampled_from(("bugfix", "m0q", None)),
        title=_text,
        content=_text,
        project=_project,
        scope=st.sampled_from(("project", "personal")),
        topic_key=st.sampled_from((None, None, "a/b", "m0q")),
        created_at=_time,
        updated_at=_time,
        deleted_at=st.sampled_from((None, None, "2025-02-01 00:00:00")),
    ),
    "letta": _rows(
        id=_key, label=st.sampled_from(("a", "m0q")), value=_text
    ),
    "claude-ai": _rows(account_uuid=_key, conversations_memory=_text),
    "graph": _rows(
        type=st.just("entity"),
        name=st.sampled_from(("a", "m0q")),
        entityType=st.sampled_from(("x", "m0q")),
        observations=st.lists(st.sampled_from(("m0q", "same", "")), max_size=3),
    ),
}  # fmt: skip


def write(folder: Path, name: str, rows: Sequence[dict[str, Any]]) -> Source:
    """Write rows as the tool of that name would, and answer what reads them."""
    return _WRITERS[name](folder, rows)


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _text_file(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def _json_file(folder: Path, value: Any) -> Path:
    return _text_file(folder, "export.json", json.dumps(value))


def _database(folder: Path, schema: str, table: str, rows: Sequence[dict[str, Any]]) -> Path:
    """A database without the rules of uniqueness that its tool has."""
    file = folder / "memory.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as there:
        there.executescript(schema.replace("UNIQUE", "").replace("PRIMARY KEY", ""))
        for number, row in enumerate(rows, start=1):
            own = row if "id" in row or "content_hash" in row else {"id": number, **row}
            names = ", ".join(own)
            there.execute(
                f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(own))})",
                list(own.values()),
            )
    return file


def _engram(folder: Path, rows: Sequence[dict[str, Any]]) -> Source:
    """The first half in a database, all of them in chunks, as a project would share them."""
    half = [row for row in rows[: len(rows) // 2] if row["created_at"]]
    file = _database(folder, databases.ENGRAM, "observations", half)
    chunks = folder / ".engram" / "chunks"
    chunks.mkdir(parents=True)
    (chunks.parent / "manifest.json").write_text("{}")
    for number, row in enumerate(rows):
        line = json.dumps({"observations": [row]})
        (chunks / f"{number}.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    return Engram([file, folder], MACHINE)


def _letta(folder: Path, rows: Sequence[dict[str, Any]]) -> Source:
    agents = [{"name": "desk", "block_ids": [row["id"] for row in rows]}]
    file = _text_file(folder, "a.af", json.dumps({"agents": agents, "blocks": list(rows)}))
    return Letta([file], MACHINE)


_WRITERS: Mapping[str, Callable[[Path, Sequence[dict[str, Any]]], Source]] = {
    "beads": lambda f, rows: Beads([_text_file(f, "issues.jsonl", _lines(rows))], MACHINE),
    "claude-mem": lambda f, rows: ClaudeMem(
        [_database(f, databases.OBSERVATIONS, "observations", rows)], MACHINE
    ),
    "mem0": lambda f, rows: Mem0([_database(f, databases.HISTORY, "history", rows)], MACHINE),
    "mem0 answer": lambda f, rows: Mem0([_json_file(f, {"results": list(rows)})], MACHINE),
    "mcp-memory-service": lambda f, rows: McpMemoryService(
        [_database(f, databases.MEMORIES, "memories", rows)], MACHINE
    ),
    "engram": _engram,
    "letta": _letta,
    "claude-ai": lambda f, rows: ClaudeAi([_json_file(f, list(rows))], MACHINE),
    "graph": lambda f, rows: GraphSource(_text_file(f, "memory.jsonl", _lines(rows))),
}
