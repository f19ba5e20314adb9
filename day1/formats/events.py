"""The events that clients report to hooks, in one form for all clients.

Each client names its events in its own way: `docs/clients.md` has the names in a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from zlib import crc32

FORMAT: Final = 1
EVENTS: Final = (
    "session-start",
    "prompt",
    "turn-end",
    "compacting",  # from hooks that an earlier day1 set up; ignored
    "compacted",
    "session-end",
    "subagent-start",
    "subagent-stop",
)
CLIENTS: Final = ("claude", "codex", "cursor", "vscode", "gemini", "opencode", "windsurf")
"""The clients that have hooks."""

MOST_TEXT: Final = 1_000_000
"""Maximum number of characters kept of a message: more than a turn of a model has."""
MOST_SUMMARY: Final = 32_000
"""Maximum number of characters kept of a context's summary, which becomes one record."""
_MOST_NAME: Final = 200

_SESSION: Final = ("session_id", "sessionId", "conversation_id", "trajectory_id", "sessionID")
_TURN: Final = ("prompt_id", "turn_id", "generation_id", "execution_id", "messageID")
_PARENT: Final = ("parent_session_id", "forked_from", "parentSessionId")
_TEXTS: Final[Mapping[str, Sequence[str]]] = {
    "prompt": ("prompt", "user_prompt"),
    "turn-end": ("last_assistant_message", "prompt_response", "text", "response"),
    "compacted": ("compact_summary", "summary"),
    "subagent-start": ("prompt", "description", "task"),
    "subagent-stop": ("last_assistant_message", "summary", "text"),
}
"""The fields that hold the text of an event, by event."""
_HOOK_CONTEXT: Final = ("<hook_context>", "</hook_context>")
"""The marks that Gemini puts around the output of hooks."""


def agent_of(client: str) -> str:
    """Return an agent's name in a client; its memories carry that name."""
    return "claude-code" if client == "claude" else client


def event_of(
    event: str, client: str, payload: Mapping[str, Any], environment: Mapping[str, str], now: int
) -> dict[str, Any] | None:
    """Build an event for a line of the spool; None if the client names no session.

    Args:
        event: one of `EVENTS`.
        client: the client that the hook's command line names.
        payload: the JSON object that the client sends.
        environment: the process's variables; those of `day1 mcp` count here too.
        now: the present instant, microseconds UTC.
    """
    session_id = session_of(payload)
    if session_id is None:
        return None
    client = really(client, payload)
    tool_info = payload.get("tool_info")  # Windsurf's
    merged_payload = {**tool_info, **payload} if isinstance(tool_info, dict) else payload
    event_fields: dict[str, Any] = {
        "format": FORMAT,
        "event": event,
        "client": client,
        "agent": _name(environment.get("DAY1_AGENT_ID")) or agent_of(client),
        "session": session_id,
        "turn": _first(payload, _TURN),
        "at": now,
        "branch": _name(environment.get("DAY1_BRANCH")),
        "task": _name(environment.get("DAY1_TASK_ID")),
        "space": _name(environment.get("DAY1_SPACE")),
        "subagent": _name(payload.get("agent_id") or payload.get("subagent_id")),
        "kind": _name(payload.get("agent_type") or payload.get("subagent_type")),
        "source": _name(payload.get("source") or payload.get("reason") or payload.get("trigger")),
        "parent": _first(payload, _PARENT) if event == "session-start" else None,
        "model": _name(payload.get("model")),
        "text": _unwrapped(event, client, _text(merged_payload, event)),
    }
    if event == "subagent-stop" and payload.get("agent_type") == "":
        # No subagent: Claude Code reports the summary of its context so, too.
        del event_fields["text"]
    return {name: value for name, value in event_fields.items() if value is not None}


def session_of(payload: Mapping[str, Any]) -> str | None:
    """Return the id of the session that a client names; None without one."""
    return _first(payload, _SESSION)


def line_of(event: Mapping[str, Any]) -> bytes:
    """Write an event as a line of the spool, with a checksum of its other fields."""
    checked_event = {**event, "sum": sum_of(event)}
    return json.dumps(checked_event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def sum_of(event: Mapping[str, Any]) -> int:
    """Compute the checksum of an event's content."""
    fields_without_sum = {name: value for name, value in event.items() if name != "sum"}
    return crc32(json.dumps(fields_without_sum, sort_keys=True).encode())


def really(client: str, payload: Mapping[str, Any]) -> str:
    """Return the client that sent an event: VS Code and Cursor also run Claude's hooks."""
    if "cursor_version" in payload:
        return "cursor"
    if "sessionId" in payload and "hookEventName" in payload:
        return "vscode"
    return client


def _unwrapped(event: str, client: str, text: str | None) -> str | None:
    """Remove the parts of a text that the client itself put around it."""
    if text is None or (client == "claude" and text.startswith("<task-notification>")):
        return None  # no prompt: Claude Code reports the end of another agent so
    if client == "gemini" and text.startswith(_HOOK_CONTEXT[0]):  # the output of hooks
        text = text.partition(_HOOK_CONTEXT[1])[2].lstrip()
    if event == "compacted":  # the model's analysis stands before its summary
        text = text.rpartition("</analysis>")[2]
        text = text.replace("<summary>", "").replace("</summary>", "").strip()
    return text or None


def _first(payload: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((value for name in names if (value := _name(payload.get(name)))), None)


def _name(value: Any) -> str | None:
    """Return a short name; one that is too long or not printable becomes its hash."""
    if not isinstance(value, str) or not value.strip():
        return None
    if len(value) <= _MOST_NAME and value.isprintable():
        return value
    import hashlib  # noqa: PLC0415 - names are seldom so

    return hashlib.sha256(value.encode(errors="replace")).hexdigest()


def _text(payload: Mapping[str, Any], event: str) -> str | None:
    """Return the first text of an event that is not blank, cut, without unstorable characters."""
    max_length = MOST_SUMMARY if event == "compacted" else MOST_TEXT
    for name in _TEXTS.get(event, ()):
        raw_text = payload.get(name)
        if not isinstance(raw_text, str):
            continue
        clean_text = raw_text.replace("\0", "").encode(errors="replace").decode()
        if clean_text.strip():
            excess_length = len(clean_text) - max_length
            return (
                clean_text
                if excess_length <= 0
                else f"{clean_text[:max_length]}\n[{excess_length} more characters]"
            )
    return None
