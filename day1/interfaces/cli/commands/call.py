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
    called_tool = _find(tool, toolset)
    arguments_json = sys.stdin.read() if arguments == "-" else arguments or "{}"
    try:
        parsed_arguments = json.loads(arguments_json)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest(
            f"The arguments of {tool} are not JSON; give a JSON object, such as '{{}}'."
        ) from exc
    if not isinstance(parsed_arguments, dict):
        raise InvalidRequest(
            f"The arguments of {tool} are JSON, but not an object: give one, such as '{{}}'."
        )
    context = session.context(create=called_tool.operation.effect is not Effect.READ)
    session.screen.json(called_tool.call(context, parsed_arguments))


def _find(name: str, toolset: str | None) -> Tool:
    from day1.toolsets.over_http import TOOLSETS

    tool_by_name = (
        TOOLSETS.tools
        if toolset is None
        else {listed_tool.name: listed_tool for listed_tool in TOOLSETS.choose(toolset, "call")}
    )
    tool = tool_by_name.get(name) or (TOOLSETS.tool(name) if toolset is None else None)
    if tool is None:
        message = f"There is no operation {name[:80]!r}; `day1 call` lists them."
        raise UnknownTool(message, tools=sorted(tool_by_name))
    return tool


def _list(session: Session, toolset: str | None) -> None:
    from day1.toolsets.over_http import TOOLSETS

    table_rows = [
        (tool.toolset.name, tool.name, tool.operation.description.partition("\n")[0])
        for toolset_name in ([toolset] if toolset else TOOLSETS)
        for tool in TOOLSETS.choose(toolset_name, "call")
    ]
    documents = [
        {"toolset": toolset_name, "name": tool_name, "description": first_line}
        for toolset_name, tool_name, first_line in table_rows
    ]
    if not session.answer({"result": documents}):
        session.screen.table(("toolset", "operation", "what it does"), table_rows)
