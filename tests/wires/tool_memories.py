"""What other tools keep on a machine, written to their schemas: small, and about nobody."""

import json
from collections.abc import Callable, Mapping
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
    note(folder, "MEMORY.md", "# Build\n\n- Run `make`.\n- Run `make`.\n")
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
    "lines": Written(
        lines,
        more_lines,
        (2, 0, 0),
        {"Prefers short answers,\nin English.", "Uses tabs."},
        automatic=False,
    ),
}
