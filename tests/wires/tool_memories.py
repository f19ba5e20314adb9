"""What other tools keep on a machine, written to their schemas: small, and about nobody."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.wires import tool_databases as databases
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
        databases.claude_mem,
        databases.more_claude_mem,
        (2, 2, 0),
        {
            "Gateway: It waits 30 seconds.",
            "Gateway\n\nFound in the log.\n\nFiles: a.py",
            "Request: Mend it\n\nNext steps: Measure",
        },
    ),
    "mcp-memory-service": Written(
        databases.mcp_memory_service,
        databases.more_mcp_memory_service,
        (3, 0, 1),
        {"It waits 30 seconds.\n\nTags: net, ops", "It waits 45 seconds."},
    ),
    "mem0": Written(
        databases.mem0,
        databases.more_mem0,
        (3, 0, 0),
        {"It waits 45 seconds.", "Tests come first."},
        removed=1,
    ),
    "engram": Written(
        databases.engram,
        databases.more_engram,
        (2, 0, 0),
        {"Timeout: It waits 30 seconds.", "Answers: Short ones."},
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
