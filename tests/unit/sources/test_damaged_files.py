"""Whatever is damaged in a file of another tool: it is imported or refused with its place."""

import gzip
import json
import random
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from day1.adapters.sources.graph import GraphSource
from day1.adapters.sources.markdown import MarkdownSource
from day1.adapters.sources.tools.basic_memory import BasicMemory
from day1.adapters.sources.tools.beads import Beads
from day1.adapters.sources.tools.claude_ai import ClaudeAi
from day1.adapters.sources.tools.claude_code import ClaudeCode
from day1.adapters.sources.tools.claude_mem import ClaudeMem
from day1.adapters.sources.tools.codex import Codex
from day1.adapters.sources.tools.dated_lines import DatedLines
from day1.adapters.sources.tools.engram import Engram
from day1.adapters.sources.tools.letta import Letta
from day1.adapters.sources.tools.mcp_memory_service import McpMemoryService
from day1.adapters.sources.tools.mem0 import Mem0
from day1.errors import ImportBroken, InvalidRequest, NotFound
from day1.ports.source import Machine, Source
from tests.sampling import cases
from tests.unit.sources import generated_values as values
from tests.unit.sources.generated_notes import _HEADINGS, _KEYS, _LINES
from tests.unit.sources.imported_rows import rows_of
from tests.wires import tool_databases as databases

MACHINE = Machine(Path("/nowhere"), {})
_MOST_S = 1.0
"""Of the process's own time, for one damaged file."""

Read = Callable[[Path], Source]


def note(name: str) -> bytes:
    head = "thread_id: t\n" if name.startswith("rollout") else ""
    lines = (head, "---", *_KEYS, "---", *_HEADINGS, *_LINES, *_HEADINGS, *_LINES)
    return "\n".join(lines).encode()


def rows(name: str) -> list[dict[str, object]]:
    """Some entries of a tool, the same ones in every run."""
    made: dict[str, list[dict[str, object]]] = {
        "claude-mem": [
            {"memory_session_id": "s", "project": "metal", "type": "change", "title": "A" * at,
             "created_at_epoch": at, "facts": '["a", "b"]', "narrative": "n" * 40 * at}
            for at in range(1, 9)
        ],
        "mem0": [
            {"id": f"e{at}", "memory_id": f"m{at % 3}", "new_memory": "word " * at,
             "event": ("ADD", "UPDATE", "DELETE")[at % 3], "created_at": "2025-01-02T03:04:05"}
            for at in range(1, 9)
        ],
        "mcp-memory-service": [
            {"content_hash": f"h{at}", "content": "word " * at, "tags": "a,b",
             "superseded_by": f"h{at + 1}" if at % 2 else None}
            for at in range(1, 9)
        ],
        "engram": [
            {"session_id": "s", "type": "bugfix", "title": "T" * at, "content": "word " * at,
             "project": "metal", "created_at": f"2025-01-0{at} 00:00:00"}
            for at in range(1, 9)
        ],
    }  # fmt: skip
    return made[name]


def database(schema: str, table: str, name: str) -> Callable[[Path], bytes]:
    return lambda folder: values._database(folder, schema, table, rows(name)).read_bytes()


def zipped(method: int) -> Callable[[Path], bytes]:
    def pack(folder: Path) -> bytes:
        account = {"account_uuid": "a", "conversations_memory": "- a point\n" * 60}
        with zipfile.ZipFile(folder / "made.zip", "w", method) as archive:
            archive.writestr("conversations.json", "[]")
            archive.writestr("memories.json", json.dumps([account]))
        return (folder / "made.zip").read_bytes()

    return pack


def as_json(value: object) -> Callable[[Path], bytes]:
    return lambda _folder: json.dumps(value, indent=1).encode()


def as_lines(*entries: object) -> Callable[[Path], bytes]:
    return lambda _folder: "".join(f"{json.dumps(entry)}\n" for entry in entries).encode()


def chunk(_folder: Path) -> bytes:
    lines = [json.dumps({"observations": rows("engram"), "sessions": [], "prompts": [1]})] * 2
    return gzip.compress("\n".join(lines).encode())


_ENTITY = {"type": "entity", "name": "a", "entityType": "b", "observations": ["c", "d"]}
_RELATION = {"type": "relation", "from": "a", "to": "b", "relationType": "c"}
_AGENT = {"agents": [{"name": "a", "block_ids": ["1"], "messages": [1]}],
          "blocks": [{"id": "1", "label": "l", "value": "# A\n\n- a\n- b"}]}  # fmt: skip
_MEMORY = {"_type": "memory", "key": "k", "value": "v"}

SAMPLES: Mapping[str, tuple[str, Callable[[Path], bytes], Read]] = {
    "markdown": ("a.md", lambda _: note("a"), lambda f: MarkdownSource([f], f.parent)),
    "claude-code": ("a.md", lambda _: note("a"), lambda f: ClaudeCode([f.parent], MACHINE)),
    "claude-code index": ("MEMORY.md", lambda _: note("a"), lambda f: ClaudeCode([f.parent], MACHINE)),
    "codex": ("MEMORY.md", lambda _: note("a"), lambda f: Codex([f.parent], MACHINE)),
    "codex summary": (
        "rollout_summaries/a.md", lambda _: note("rollout"), lambda f: Codex([f.parent], MACHINE),
    ),
    "basic-memory": ("a.md", lambda _: note("a"), lambda f: BasicMemory([f.parent], MACHINE)),
    "lines": ("a.txt", lambda _: note("a"), lambda f: DatedLines([f], MACHINE)),
    "letta": ("a.md", lambda _: note("a"), lambda f: Letta([f.parent], MACHINE)),
    "letta file": ("a.af", as_json(_AGENT), lambda f: Letta([f], MACHINE)),
    "beads": (
        "issues.jsonl", as_lines(_MEMORY, {"id": "bd-1"}, _MEMORY), lambda f: Beads([f], MACHINE),
    ),
    "graph": ("memory.jsonl", as_lines(_ENTITY, _RELATION, _ENTITY), GraphSource),
    "claude-mem": (
        "claude-mem.db", database(databases.OBSERVATIONS, "observations", "claude-mem"),
        lambda f: ClaudeMem([f], MACHINE),
    ),
    "claude-mem export": (
        "e.json", as_json({"observations": rows("claude-mem"), "summaries": [{"learned": "a"}]}),
        lambda f: ClaudeMem([f], MACHINE),
    ),
    "mem0": (
        "history.db", database(databases.HISTORY, "history", "mem0"),
        lambda f: Mem0([f], MACHINE),
    ),
    "mem0 answer": (
        "e.json", as_json([{"id": "a", "memory": "b", "created_at": 5}]),
        lambda f: Mem0([f], MACHINE),
    ),
    "mcp-memory-service": (
        "sqlite_vec.db", database(databases.MEMORIES, "memories", "mcp-memory-service"),
        lambda f: McpMemoryService([f], MACHINE),
    ),
    "mcp-memory-service export": (
        "e.json", as_json({"memories": rows("mcp-memory-service")}),
        lambda f: McpMemoryService([f], MACHINE),
    ),
    "engram": (
        "engram.db", database(databases.ENGRAM, "observations", "engram"),
        lambda f: Engram([f], MACHINE),
    ),
    "engram chunk": ("c.jsonl.gz", chunk, lambda f: Engram([f], MACHINE)),
    "engram export": (
        "e.json", as_json({"observations": rows("engram")}), lambda f: Engram([f], MACHINE),
    ),
    "claude-ai": (
        "memories.json", as_json([{"account_uuid": "a", "conversations_memory": "- b"}]),
        lambda f: ClaudeAi([f], MACHINE),
    ),
    **{
        f"claude-ai zip {method}": ("e.zip", zipped(method), lambda f: ClaudeAi([f], MACHINE))
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    },
}  # fmt: skip


def damaged(data: bytes, drawn: random.Random) -> bytes:
    """A few bytes are flipped, cut, put in or repeated, or lines change places."""
    for _ in range(drawn.choice((1, 1, 1, 2, 5))):
        at, size = drawn.randrange(len(data) + 1), drawn.choice((1, 1, 2, 8, 100))
        match drawn.randrange(6):
            case 0:
                flip = bytes((data[at] ^ (1 << drawn.randrange(8)),)) if at < len(data) else b""
                data = data[:at] + flip + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + size :]
            case 2:
                data = data[:at] + drawn.randbytes(size) + data[at:]
            case 3:
                data = data[:at] + data[at : at + size] * drawn.choice((2, 50)) + data[at + size :]
            case 4:
                lines = data.split(b"\n")
                drawn.shuffle(lines)
                data = b"\n".join(lines)
            case 5:
                data = data[:at]
    return data


def outcomes(name: str, folder: Path, count: int) -> Iterator[tuple[int, str, float]]:
    """What becomes of damaged files: the number of each, its outcome, and the seconds it took."""
    place, make, read = SAMPLES[name]
    file = folder / "memory" / place
    file.parent.mkdir(parents=True)
    data = make(folder)
    drawn = random.Random(name)
    for number in range(count):
        file.write_bytes(damaged(data, drawn) if number else data)
        before = time.process_time()
        try:
            rows_of(read(file))
            outcome = "rows"
        except ImportBroken as exc:
            outcome = "refused" if exc.details.get("path") else "refused without a place"
        except (InvalidRequest, NotFound) as exc:  # a name is damaged: of a table, in a zip file
            outcome = "refused" if exc.details.get("path") else repr(exc)
        except Exception as exc:
            outcome = repr(exc)
        yield number, outcome, time.process_time() - before


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_imported_or_refused_with_its_place(name: str, tmp_path: Path) -> None:
    done = list(outcomes(name, tmp_path, cases(40)))
    assert done[0][1] == "rows"
    assert [one for one in done if one[1] not in ("rows", "refused")] == []
    assert [one for one in done if one[2] > _MOST_S] == []
