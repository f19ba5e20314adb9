"""The clients that `day1 setup` knows: where their files are, and what an entry looks like in them.

A path begins with one of `PLACES`. docs/clients.md is written from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

SERVER: Final = "day1"
"""The name of the server, in every client."""

PLACES: Final = {
    "home": ("", "~"),
    "project": ("", "the project"),
    "config": ("XDG_CONFIG_HOME", "~/.config"),
    "claude": ("CLAUDE_CONFIG_DIR", "~"),
    "claude_folder": ("CLAUDE_CONFIG_DIR", "~/.claude"),
    "codex": ("CODEX_HOME", "~/.codex"),
    "code": ("", "~/.config/Code"),
}
"""Base folders: the environment variable that names one, and its default."""

Entry = Callable[[Sequence[str], str], dict[str, Any]]
"""A function that builds a client's server entry from the command and the agent's name."""


def plain(command: Sequence[str], agent: str) -> dict[str, Any]:
    """Build the entry that most clients understand."""
    program, *arguments = command
    return {"command": program, "args": arguments, "env": {"DAY1_AGENT_ID": agent}}


def stdio(command: Sequence[str], agent: str) -> dict[str, Any]:
    """Build an entry with the transport `stdio`."""
    return {"type": "stdio", **plain(command, agent)}


def custom(command: Sequence[str], agent: str) -> dict[str, Any]:
    """Build the entry of Zed: its source is `custom`."""
    return {"source": "custom", **plain(command, agent)}


def local(command: Sequence[str], agent: str) -> dict[str, Any]:
    """Build the entry of opencode: its command is one list."""
    environment = {"DAY1_AGENT_ID": agent}
    return {
        "type": "local", "command": list(command), "environment": environment, "enabled": True,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Notes:
    """A file of instructions."""

    path: str
    head: str = ""
    """The start of a file that day1 makes, before day1's section."""
    brief: bool = False
    """Whether all clients that read the file have hooks that bring the memory into a session."""


@dataclass(frozen=True, slots=True)
class Files:
    """What a client reads, for a user or for a project."""

    servers: Sequence[str] = ()
    """Candidate files for the servers: the first that exists is used, else the first."""
    notes: Notes | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """A program with agents that `day1 setup` sets up: its files and the form of its entry."""

    title: str
    key: str
    """The key that holds the servers."""
    user: Files
    project: Files
    found_by: Sequence[str]
    """Folders that show that the client is installed; one is enough."""
    programs: Sequence[str] = ()
    entry: Entry = plain
    format: Literal["json", "toml"] = "json"
    tools: str | None = None
    """The client's default for `--tools`; None: all tools of core."""
    remarks: Sequence[str] = field(default=())
    """Notes on what a person must know or do."""


_AGENTS: Final = Notes("{project}/AGENTS.md")

CLIENTS: Final[dict[str, Client]] = {
    "claude": Client(
        "Claude Code",
        "mcpServers",
        Files(["{claude}/.claude.json"], Notes("{claude_folder}/CLAUDE.md", brief=True)),
        Files(["{project}/.mcp.json"], Notes("{project}/CLAUDE.md", brief=True)),
        ["{claude_folder}"],
        ["claude"],
        remarks=["Claude Code asks once whether a project's servers may be used."],
    ),
    "codex": Client(
        "Codex CLI",
        "mcp_servers",
        Files(["{codex}/config.toml"], Notes("{codex}/AGENTS.md", brief=True)),
        Files(["{project}/.codex/config.toml"], _AGENTS),
        ["{codex}"],
        ["codex"],
        format="toml",
        remarks=["Codex reads a project's file only in a project that is trusted."],
    ),
    "cursor": Client(
        "Cursor",
        "mcpServers",
        Files(["{home}/.cursor/mcp.json"]),
        Files(
            ["{project}/.cursor/mcp.json"],
            Notes("{project}/.cursor/rules/day1.mdc", "---\nalwaysApply: true\n---\n\n"),
        ),
        ["{home}/.cursor"],
        ["cursor", "cursor-agent"],
        entry=stdio,
        remarks=["Cursor keeps a user's rules in its settings, so only a project gets the rule."],
    ),
    "vscode": Client(
        "VS Code",
        "servers",
        Files(["{code}/User/mcp.json"]),
        Files(["{project}/.vscode/mcp.json"], Notes("{project}/.github/copilot-instructions.md")),
        ["{code}"],
        ["code"],
        entry=stdio,
        remarks=["VS Code asks once whether the server is trusted."],
    ),
    "gemini": Client(
        "Gemini CLI",
        "mcpServers",
        Files(["{home}/.gemini/settings.json"], Notes("{home}/.gemini/GEMINI.md", brief=True)),
        Files(["{project}/.gemini/settings.json"], Notes("{project}/GEMINI.md", brief=True)),
        ["{home}/.gemini"],
        ["gemini"],
        remarks=["Gemini CLI starts servers only in folders that it was told to trust."],
    ),
    "opencode": Client(
        "opencode",
        "mcp",
        Files(
            ["{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"],
            Notes("{config}/opencode/AGENTS.md", brief=True),
        ),
        Files(["{project}/opencode.json", "{project}/opencode.jsonc"], _AGENTS),
        ["{config}/opencode"],
        ["opencode"],
        entry=local,
    ),
    "zed": Client(
        "Zed",
        "context_servers",
        Files(["{config}/zed/settings.json"]),
        Files(["{project}/.zed/settings.json"], _AGENTS),
        ["{config}/zed"],
        ["zed", "zeditor"],
        entry=custom,
        remarks=["Zed reads one file of instructions of a project: .rules, if there is one."],
    ),
    "windsurf": Client(
        "Windsurf",
        "mcpServers",
        Files(
            ["{home}/.codeium/windsurf/mcp_config.json"],
            Notes("{home}/.codeium/windsurf/memories/global_rules.md"),
        ),
        Files(
            (),
            Notes("{project}/.windsurf/rules/day1.md", "---\ntrigger: always_on\n---\n\n"),
        ),
        ["{home}/.codeium/windsurf"],
        ["windsurf"],
        tools="core14",
        remarks=[
            "Windsurf takes 100 tools in all, so it gets the 14 of every day.",
            "It has no servers of a project: `--user` adds the server.",
        ],
    ),
}

INSTRUCTIONS: Final = Path(__file__).with_name("instructions.md").read_text(encoding="utf-8")
"""The section of a file of instructions."""
BRIEFLY: Final = Path(__file__).with_name("instructions_brief.md").read_text(encoding="utf-8")
"""The shorter section, for clients whose hooks bring the memory into each session."""
