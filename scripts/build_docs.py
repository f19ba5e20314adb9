#!/usr/bin/env python3
"""Write the generated pages of docs/ from the program; with --check, only compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api_snapshot import snapshot
from pydantic import BaseModel

from day1 import errors
from day1.adapters.clients.edits import FORMATS
from day1.adapters.clients.hook_edits import HooksEdit
from day1.adapters.clients.hook_table import HOOKS, PLUGIN
from day1.adapters.clients.table import BRIEFLY, CLIENTS, INSTRUCTIONS, PLACES, SERVER, Client
from day1.call.operation import Operation
from day1.call.toolset import Toolset
from day1.formats.events import agent_of
from day1.interfaces.mcp.schemas import documented_schema, listed_schema, output_schema
from day1.settings import Settings
from day1.toolsets.combined import SHARED
from day1.toolsets.over_http import TOOLSETS

DOCS = Path(__file__).resolve().parent.parent / "docs"
HEAD = "<!-- Written by scripts/build_docs.py: do not edit. -->\n"


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    toolsets = {**TOOLSETS, SHARED.name: SHARED}
    tools = {DOCS / "tools" / f"{name}.md": tool_page(name, ops) for name, ops in toolsets.items()}
    schemas = {
        DOCS / "tools" / f"{name}.schema.json": schema_page(ops) for name, ops in toolsets.items()
    }
    return {
        **tools,
        **schemas,
        DOCS / "settings.md": settings_page(),
        DOCS / "errors.md": errors_page(),
        DOCS / "setup.md": setup_page(),
        DOCS / "api.txt": snapshot(),
    }


def tool_page(name: str, toolset: Toolset) -> str:
    """The reference of one toolset."""
    return (
        HEAD
        + f"\n# Toolset `{name}`\n\n{_COMBINED * (toolset is SHARED)}{_ABOUT}\n\n"
        + "\n".join(map(tool_entry, toolset.operations))
    )


_COMBINED = """Its tools are those of [core](core.md), [Kompanion](kompanion.md),
[engram](engram.md) and [gwt](gwt.md). This page has the one that serves the arguments of two.

"""
_ABOUT = """A number behind a type is its bound: of a text its characters, of a list its entries.
An argument that may be left out may also be `null`; both mean the default. `a[].b` is what each
entry of the list `a` has, and `a.b` what the object `a` has."""


_ASKS = ", and a person confirms it"


def tool_entry(operation: Operation[Any, Any]) -> str:
    """One tool: what it does, what it takes, what it answers."""
    lines = [
        f"## {operation.name}",
        "",
        operation.description,
        "",
        f"*{operation.effect.value}{_ASKS * operation.asks}*",
    ]
    rows = list(_arguments(documented_schema(operation)))
    if rows:
        lines += ["", "| argument | type | default | meaning |", "| --- | --- | --- | --- |", *rows]
    answer = output_schema(operation.response).get("properties", {})  # none where it has forms
    lines += [
        "",
        *(["Answers: " + ", ".join(f"`{key}`" for key in answer) + ".", ""] * bool(answer)),
    ]
    return "\n".join(lines)


def _arguments(schema: dict[str, Any], within: str = "") -> Iterator[str]:
    """A row for each argument, and below it for each one inside of it."""
    required_names = schema.get("required", [])
    for name, part in schema.get("properties", {}).items():
        default = "**needed**" if name in required_names else f"`{json.dumps(part.get('default'))}`"
        meaning = part.get("description", "")
        yield f"| {within}{name} | {kind(part)} | {default} | {meaning} |"
        for one in part.get("anyOf", [part]):
            item_schema = one.get("items", one)
            yield from _arguments(item_schema, f"{within}{name}{'[]' * ('items' in one)}.")


def kind(part: dict[str, Any]) -> str:
    """A schema's type and bounds in few words."""
    if "enum" in part:
        return " \\| ".join(str(v) for v in part["enum"])
    if "anyOf" in part:
        return " or ".join(kind(one) for one in part["anyOf"] if one != {"type": "null"})
    type_name = str(part.get("type", "any"))
    maximum = part.get("maxLength", part.get("maxItems"))
    if maximum is not None:
        type_name += f" ≤ {maximum:,}"
    if "minimum" in part:
        last = part.get("maximum", part.get("exclusiveMaximum", 0) - 1)
        type_name += f" {part['minimum']} to {last:,}" if last > 0 else f" ≥ {part['minimum']}"
    if "items" in part:
        return f"{type_name.replace('array', 'list')} of {kind(part['items'])}"
    return type_name


def schema_page(toolset: Toolset) -> str:
    """Input and output schemas: a change of a wire contract shows in review."""
    content = {
        op.name: {"input": listed_schema(op), "output": output_schema(op.response)}
        for op in toolset.operations
    }
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def settings_page() -> str:
    """Every setting by its environment name."""
    introduction = "Read from the environment; a variable that is set to nothing counts as not set."
    lines = [HEAD, "# Settings", "", introduction, ""]
    lines += ["| name | default | meaning |", "| --- | --- | --- |", *_settings(Settings, "DAY1_")]
    return "\n".join(lines) + "\n"


def _settings(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, info in model.model_fields.items():
        section = info.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from _settings(section, f"{prefix}{name.upper()}__")
            continue
        default = "" if info.default is None else str(info.default)
        yield f"| `{prefix}{name.upper()}` | {default} | {info.description} |"


def setup_page() -> str:
    """What `day1 setup` writes for each client."""
    lines = [HEAD, "# What `day1 setup` writes", "", _SETUP, ""]
    for name, client in CLIENTS.items():
        lines += [f"## {client.title}", "", f"`day1 setup {name}`", "", *_files(name, client)]
        lines += [f"- {remark}" for remark in client.remarks]
        command = ["day1", "mcp", *(("--tools", client.tools) if client.tools else ())]
        entry = client.entry(command, agent_of(name))
        document = FORMATS[client.format]
        entry_text = document.shown((client.key, SERVER), entry).rstrip()
        lines += ["", f"```{client.format}", entry_text, "```", "", *_hooks(name)]
    lines += ["## The section of instructions", "", "```markdown", INSTRUCTIONS.strip(), "```"]
    lines += ["", _BRIEFLY, "", "```markdown", BRIEFLY.strip(), "```"]
    return "\n".join(lines) + "\n"


_SETUP = """[Clients](clients.md) says how it is used. A path that the client's own variable or
`XDG_CONFIG_HOME` moves is followed; on macOS, VS Code's files are in
`~/Library/Application Support/Code`. Before each change a file is
[copied](clients.md#copies), and that section says how to go back."""


_BRIEFLY = "In a file that only clients with hooks read:"


def _files(name: str, client: Client) -> Iterator[str]:
    """A table of the files that a client has."""
    yield from ("| | server | hooks | instructions |", "| --- | --- | --- | --- |")
    hooks = PLUGIN if name == "opencode" else {}
    if name in HOOKS:
        hooks = {"user": HOOKS[name].user, "project": HOOKS[name].project}
    for scope, files in (("user", client.user), ("project", client.project)):
        servers = " or ".join(f"`{_place(path)}`" for path in files.servers)
        notes = "" if files.notes is None else f"`{_place(files.notes.path)}`"
        hooks_file = f"`{_place(hooks[scope])}`" if scope in hooks else ""
        yield f"| `--{scope}` | {servers} | {hooks_file} | {notes} |"
    yield ""


def _hooks(name: str) -> Iterator[str]:
    """What a client's file of hooks gets."""
    if name in HOOKS:
        hooks_text = HooksEdit(name, Path(), HOOKS[name], "day1").shown().rstrip()
        yield from ("Hooks:", "", "```json", hooks_text, "```", "")
    elif name == "opencode":
        yield from ("The plugin calls `day1 hook`, as hooks of other clients do.", "")
    else:
        yield from ("It has no hooks.", "")


def _place(path: str) -> str:
    defaults = {name: default for name, (_, default) in PLACES.items()}
    return path.format(**{**defaults, "project": "."}).removeprefix("./")


def errors_page() -> str:
    """Every error code with its meaning."""
    lines = [HEAD, "# Errors", "", "Every failure has one shape:", "", "```json"]
    lines += ['{"error": {"code": "…", "message": "what to do next", "details": {}}}', "```", ""]
    lines += [_NEXT, ""]
    lines += ["| code | meaning | trying again helps |", "| --- | --- | --- |"]
    for error in _descendants(errors.Day1Error):
        meaning = (error.__doc__ or "").strip().splitlines()[0]
        lines.append(f"| `{error.code}` | {meaning} | {'yes' if error.retryable else ''} |")
    return "\n".join(lines) + "\n"


_NEXT = """Where a call to make next helps, `"next": [{"operation": "memory_branch_list"}]` stands
beside `details`: operations by name, with `arguments` where one matters. The message says them in
the words of the wire: MCP names the tool, the command line its command, HTTP the route."""


def _descendants(error: type[errors.Day1Error]) -> Iterator[type[errors.Day1Error]]:
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from _descendants(child)


def main() -> int:
    """Write, or compare and say what differs."""
    stale_pages = []
    for path, text in pages().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale_pages.append(path.relative_to(DOCS.parent))
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale_pages:
        print(f"{'out of date' if '--check' in sys.argv else 'wrote'}: {name}")
    return 1 if stale_pages and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
