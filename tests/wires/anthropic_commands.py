"""Commands of the memory tool, as a model sends them, and the answers of tools."""

from collections.abc import Mapping
from typing import Any

from anthropic.lib.tools import ToolError

Command = Mapping[str, Any]


def create(path: str, text: str = "") -> Command:
    return {"command": "create", "path": path, "file_text": text}


def view(path: str, view_range: list[int] | None = None) -> Command:
    more = {} if view_range is None else {"view_range": view_range}
    return {"command": "view", "path": path, **more}


def str_replace(path: str, old: str, new: str) -> Command:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Command:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> Command:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> Command:
    return {"command": "rename", "old_path": old, "new_path": new}


def answer(tool: Any, command: Command) -> str:
    """The answer of a tool to a command, or its refusal after `error: `."""
    try:
        return str(tool.call(dict(command)))
    except ToolError as exc:
        return f"error: {exc}"
