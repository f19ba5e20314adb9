"""`day1 import engram`: the database and the chunks of the Go program become facts."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from day1.adapters.sources.engram import EngramSource
from day1.errors import ImportBroken, InvalidRequest, NotFound
from day1.ports.source import FactDraft

COLUMNS = (
    "session_id, type, title, content, tool_name, project, scope, topic_key, normalized_hash, "
    "revision_count, created_at, updated_at, deleted_at"
)
ROWS = [
    ("s1", "bugfix", "Timeout", "Raised to 30 s", "2026-01-02 03:04:05", None, None),
    ("s1", "decision", "Store", "We use SQLite", "2026-01-03 00:00:00", "stack/db", None),
    ("s1", "note", "Gone", "Removed", "2026-01-04 00:00:00", None, "2026-01-05 00:00:00"),
    ("s2", "note", "", "", "never", None, None),
]


def database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"CREATE TABLE observations (id INTEGER PRIMARY KEY, {COLUMNS})")
        for session, kind, title, content, created, topic, deleted in ROWS:
            values = (session, kind, title, content, "Metal", "project", topic, created, deleted)
            made.execute(
                "INSERT INTO observations (session_id, type, title, content, project, scope, "
                "topic_key, created_at, deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        made.commit()
    return path


def chunks(folder: Path, *lines: bytes) -> Path:
    (folder / "chunks").mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / "chunks" / "ab12.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines)))
    return folder


def as_json() -> list[dict[str, object]]:
    names = ("session_id", "type", "title", "content", "created_at", "topic_key", "deleted_at")
    return [
        {**dict(zip(names, row, strict=True)), "project": "Metal", "scope": "project"}
        for row in ROWS
    ]


def drafts(source: EngramSource) -> list[FactDraft]:
    return [draft for item in source.items() for draft in item]  # type: ignore[misc]  # facts only


def test_a_database_and_chunks_of_the_same_are_the_same_facts(tmp_path: Path) -> None:
    path = database(tmp_path / "engram.db")
    before = path.read_bytes()
    found = drafts(EngramSource(path))
    assert [draft.text for draft in found] == [
        "Timeout: Raised to 30 s",
        "stack/db: Store: We use SQLite",
    ]
    assert {draft.space for draft in found} == {"project:metal"}
    assert [draft.category for draft in found] == ["bugfix", "decision"]
    assert found[0].happened_at == 1767323045000000
    assert path.read_bytes() == before
    assert drafts(EngramSource(tmp_path)) == found
    one = chunks(tmp_path / "a", json.dumps({"sessions": [], "observations": as_json()}).encode())
    assert drafts(EngramSource(one)) == found
    lines = [json.dumps(row).encode() for row in as_json()]
    assert drafts(EngramSource(chunks(tmp_path / "b" / ".engram", *lines))) == found
    assert drafts(EngramSource(tmp_path / "b")) == found


def test_a_topic_that_was_written_anew_is_the_same_fact(tmp_path: Path) -> None:
    row = as_json()[1]
    newer = {**row, "content": "We use DoltLite", "created_at": "2026-02-01 00:00:00"}
    first, second = (
        drafts(EngramSource(chunks(tmp_path / name, json.dumps(one).encode())))
        for name, one in (("a", row), ("b", newer))
    )
    assert first[0].id == second[0].id
    assert first[0].text != second[0].text


@pytest.mark.parametrize(
    "line", [b"[1]", b"{", b'{"observations": [1]}', b'{"content": "\\ud800"}', b"\xff"]
)
def test_a_broken_chunk_is_named(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(ImportBroken, match="ab12"):
        drafts(EngramSource(chunks(tmp_path / "a", line)))


def test_what_is_not_engrams_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        EngramSource(tmp_path)
    other = tmp_path / "engram.db"
    other.write_bytes(b"no database" * 100)
    with pytest.raises(InvalidRequest):
        drafts(EngramSource(other))
    other.unlink()
    with closing(sqlite3.connect(other)) as made:
        made.execute("CREATE TABLE observations (id INTEGER)")
    with pytest.raises(InvalidRequest, match="not engram's"):
        drafts(EngramSource(other))
