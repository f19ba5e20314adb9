"""The hooks of each client: which of its events run `day1 hook`, and how its file states that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from day1.adapters.clients.table import SERVER

HINT: Final = "memory_recall_hint"
"""The tool that answers the facts near a prompt, or nothing."""

EntryValues = Mapping[str, Any]
"""The values of an entry beside its command."""
Events = Mapping[str, tuple[str, EntryValues]]
Shape = Callable[[str, EntryValues], dict[str, Any]]
"""A function that builds the entry of an event from its command and its further values."""


def flat(command: str, values: EntryValues) -> dict[str, Any]:
    """Build an entry that is the command itself."""
    return {"command": command, **values}


def typed(command: str, values: EntryValues) -> dict[str, Any]:
    """Build an entry that is the command with its type."""
    return {"type": "command", **flat(command, values)}


def grouped(command: str, values: EntryValues) -> dict[str, Any]:
    """Build an entry with a list of commands that holds day1's alone."""
    matcher_values = {key: value for key, value in values.items() if key == "matcher"}
    command_values = {key: value for key, value in values.items() if key != "matcher"}
    return {**matcher_values, "hooks": [typed(command, command_values)]}


def hinted(command: str, values: EntryValues) -> dict[str, Any]:
    """Build a group in which the client also asks the server for facts near a prompt.

    The tool is told the event: Claude Code drops what an `mcp_tool` answers unless it is JSON that
    names it.
    """
    group = grouped(command, {key: value for key, value in values.items() if key != HINT})
    if HINT not in values:
        return group
    tool_input = {"prompt": "${prompt}", "session_id": "${session_id}", "event": values[HINT]}
    hint_entry = {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": HINT,
        "input": tool_input,
        "timeout": 2,
    }
    return {**group, "hooks": [*group["hooks"], hint_entry]}


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a client."""

    user: str
    """The file of a user; a path as in `table.py`."""
    project: str
    events: Events
    """By the client's event: the event of `day1 hook`, and further values of the entry."""
    shape: Shape
    head: EntryValues = field(default_factory=dict)
    """The values of the file beside its hooks."""


_SOON: Final = {"timeout": 5}
_MILLISECONDS: Final = {"name": "day1", "timeout": 5000}
_STARTS: Final = "startup|resume|clear|compact"

# None is `async`: `claude -p` ends at once after the last turn, and kills hooks that run beside it.
CLAUDE: Final[Events] = {
    "SessionStart": ("session-start", {"matcher": f"{_STARTS}|fork", **_SOON}),
    "UserPromptSubmit": ("prompt", {**_SOON, HINT: "UserPromptSubmit"}),
    "Stop": ("turn-end", _SOON),
    "SubagentStart": ("subagent-start", _SOON),
    "SubagentStop": ("subagent-stop", _SOON),
    "PostCompact": ("compacted", _SOON),
    "SessionEnd": ("session-end", _SOON),
}
_CODEX: Final[Events] = {
    "SessionStart": ("session-start", {"matcher": _STARTS, **_SOON}),
    "UserPromptSubmit": ("prompt", _SOON),
    "Stop": ("turn-end", _SOON),
    "SubagentStart": ("subagent-start", _SOON),
    "SubagentStop": ("subagent-stop", _SOON),
    "PostCompact": ("compacted", _SOON),
    "SessionEnd": ("session-end", {"timeout": 3}),
}

HOOKS: Final[Mapping[str, Hooks]] = {
    "claude": Hooks(
        "{claude_folder}/settings.json", "{project}/.claude/settings.json", CLAUDE, hinted
    ),
    "codex": Hooks("{codex}/hooks.json", "{project}/.codex/hooks.json", _CODEX, grouped),
    "cursor": Hooks(
        "{home}/.cursor/hooks.json",
        "{project}/.cursor/hooks.json",
        {
            "sessionStart": ("session-start", _SOON),
            "beforeSubmitPrompt": ("prompt", _SOON),
            "afterAgentResponse": ("turn-end", _SOON),
            "sessionEnd": ("session-end", _SOON),
        },
        flat,
        {"version": 1},
    ),
    "vscode": Hooks(
        "{home}/.copilot/hooks/day1.json",
        "{project}/.github/hooks/day1.json",
        {
            "SessionStart": ("session-start", _SOON),
            "UserPromptSubmit": ("prompt", _SOON),
            "Stop": ("turn-end", _SOON),
            "SubagentStart": ("subagent-start", _SOON),
            "SubagentStop": ("subagent-stop", _SOON),
        },
        typed,
    ),
    "gemini": Hooks(
        "{home}/.gemini/settings.json",
        "{project}/.gemini/settings.json",
        {
            "SessionStart": ("session-start", _MILLISECONDS),
            "BeforeAgent": ("prompt", _MILLISECONDS),
            "AfterAgent": ("turn-end", _MILLISECONDS),
            "SessionEnd": ("session-end", _MILLISECONDS),
        },
        grouped,
    ),
    "windsurf": Hooks(
        "{home}/.codeium/windsurf/hooks.json",
        "{project}/.windsurf/hooks.json",
        {
            "pre_user_prompt": ("prompt", {"show_output": False}),
            "post_cascade_response": ("turn-end", {"show_output": False}),
        },
        flat,
    ),
}
"""Clients whose hooks are JSON. opencode has a plugin, and Zed has none."""

PLUGIN: Final = {
    "user": "{config}/opencode/plugins/day1.ts",
    "project": "{project}/.opencode/plugins/day1.ts",
}
"""Where opencode looks for plugins."""


def command_of(program: str, event: str, client: str) -> str:
    """Return a hook's command line. It must not change: Codex would ask the person again."""
    return f"{program} hook {event} --client {client}"
