"""`day1 call`: any operation by its name."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from day1.errors import InvalidRequest, UnknownTool
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.call.toolset import Tool


@click.command("call")
@click.argument("tool", required=False)
@click.argument("arguments", metavar="[JSON]", required=False)
@click.option("--toolset", metavar="NAME", help="Default: the first that has TOOL.")
@command
def call_command(
    session: Session, tool: str | None, arguments: str | None, toolset: str | None
) -> None:
    """Call any operation with a JSON object of arguments (`-` reads it from stdin).

    The answer is one JSON document. Without TOOL all operations are listed.
    """
    from day1.call.operation import Effect

    if tool is None:
        _list(session, toolset)
        return
    tool_found = _find(tool, toolset)
    text = sys.stdin.read() if arguments == "-" else arguments or "{}"
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest(
            f"The arguments of {tool} are not JSON; give a JSON object, such as '{{}}'."
        ) from exc
    if not isinstance(parsed, dict):
        raise InvalidRequest(
            f"The arguments of {tool} are JSON, but no object; give one, such as '{{}}'."
        )
    context = session.context(create=tool_found.operation.effect is not Effect.READ)
    session.screen.json(tool_found.call(context, parsed))


def _find(name: str, toolset: str | None) -> Tool:
    from day1.toolsets.over_http import TOOLSETS

    tool_by_name = (
        TOOLSETS.tools if toolset is None else {t.name: t for t in TOOLSETS.choose(toolset, "call")}
    )
    tool = tool_by_name.get(name) or (TOOLSETS.tool(name) if toolset is None else None)
    if tool is None:
        message = f"There is no operation {name[:80]!r}; `day1 call` lists them."
        raise UnknownTool(message, tools=sorted(tool_by_name))
    return tool


def _list(session: Session, toolset: str | None) -> None:
    from day1.toolsets.over_http import TOOLSETS

    rows = [
        (tool.toolset.name, tool.name, tool.operation.description.partition("\n")[0])
        for name in ([toolset] if toolset else TOOLSETS)
        for tool in TOOLSETS.choose(name, "call")
    ]
    documents = [{"toolset": a, "name": b, "description": c} for a, b, c in rows]
    if not session.answer({"result": documents}):
        session.screen.table(("toolset", "operation", "what it does"), rows)
