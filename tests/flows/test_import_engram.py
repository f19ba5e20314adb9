"""`day1 import engram`: the database, the chunks and the export of the Go program become facts."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.sources.tools.engram import Engram
from day1.errors import ImportBroken, InvalidRequest, NotFound
from day1.ports.source import FactDraft, Machine

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


def as_json() -> list[dict[str, Any]]:
    names = ("session_id", "type", "title", "content", "created_at", "topic_key", "deleted_at")
    return [
        {**dict(zip(names, row, strict=True)), "project": "Metal", "scope": "project"}
        for row in ROWS
    ]


def engram(*paths: Path, projects: tuple[Path, ...] = ()) -> Engram:
    return Engram(paths, Machine(Path("/nowhere"), {}, projects))


def drafts(*paths: Path) -> list[FactDraft]:
    every = (draft for item in engram(*paths).items() for draft in item)
    return [draft for draft in every if isinstance(draft, FactDraft)]


def test_a_database_and_chunks_of_the_same_are_the_same_facts(tmp_path: Path) -> None:
    path = database(tmp_path / "engram.db")
    before = path.read_bytes()
    found = drafts(path)
    assert [draft.text for draft in found] == [
        "Timeout: Raised to 30 s",
        "stack/db: Store: We use SQLite",
    ]
    assert {draft.space for draft in found} == {"project:metal"}
    assert [draft.category for draft in found] == ["bugfix", "decision"]
    assert found[0].happened_at == 1767323045000000
    assert path.read_bytes() == before
    assert drafts(tmp_path) == found
    whole = json.dumps({"sessions": [], "observations": as_json()}).encode()
    one = chunks(tmp_path / "a", whole)
    assert drafts(one) == found
    lines = [json.dumps(row).encode() for row in as_json()]
    assert drafts(chunks(tmp_path / "b" / ".engram", *lines)) == found
    assert drafts(tmp_path / "b") == found
    assert drafts(path, one) == found
    exported = tmp_path / "export.json"
    exported.write_bytes(whole)
    assert drafts(exported) == found


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    prompts = json.dumps({"observations": as_json(), "prompts": [{"content": "Please"}]})
    source = engram(chunks(tmp_path, prompts.encode()), projects=(tmp_path / "wood",))
    for _ in range(2):
        assert list(source.items()) == []
        chunk = tmp_path / "chunks" / "ab12.jsonl.gz"
        assert source.left_out == {
            "prompts of people": [f"{chunk}, line 1"],
            "observations of other projects": ["2026-01-02 03:04:05", "2026-01-03 00:00:00"],
            "deleted observations": ["2026-01-04 00:00:00"],
            "empty observations": ["never"],
        }
    assert len(list(engram(tmp_path, projects=(tmp_path / "METAL",)).items())) == 2


def test_the_newest_words_of_a_topic_count_wherever_they_are(tmp_path: Path) -> None:
    """Names of chunks are hashes: their order says nothing."""
    row = as_json()[1]
    newer = {**row, "content": "We use DoltLite", "updated_at": "2026-02-01 00:00:00"}
    gone = {**newer, "deleted_at": "2026-03-01 00:00:00"}
    for name, first, second, texts in (
        ("a", row, newer, ["stack/db: Store: We use DoltLite"]),
        ("b", newer, row, ["stack/db: Store: We use DoltLite"]),
        ("c", gone, newer, []),
    ):
        folder = chunks(tmp_path / name, json.dumps(first).encode())
        later = folder / "chunks" / "cd34.jsonl.gz"
        later.write_bytes(gzip.compress(json.dumps(second).encode()))
        assert [draft.text for draft in drafts(folder)] == texts


@pytest.mark.parametrize(
    "line", [b"[1]", b"{", b'{"observations": [1]}', b'{"content": "\\ud800"}', b"\xff"]
)
def test_a_broken_chunk_is_named(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(ImportBroken, match="ab12"):
        drafts(chunks(tmp_path / "a", line))


def test_a_chunk_that_is_cut_off_is_named(tmp_path: Path) -> None:
    folder = chunks(tmp_path, json.dumps(as_json()[0]).encode())
    chunk = folder / "chunks" / "ab12.jsonl.gz"
    for part in (chunk.read_bytes()[:-9], b"no gzip"):
        chunk.write_bytes(part)
        with pytest.raises(ImportBroken, match="ab12"):
            drafts(folder)


def test_what_is_not_engrams_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        drafts(tmp_path)
    other = tmp_path / "engram.db"
    other.write_bytes(b"no database" * 100)
    with pytest.raises(ImportBroken):
        drafts(other)
    other.unlink()
    with closing(sqlite3.connect(other)) as made:
        made.execute("CREATE TABLE observations (id INTEGER)")
    with pytest.raises(InvalidRequest, match="another program"):
        drafts(other)
