"""`day1 call`: any operation by its name."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from day1.errors import InvalidRequest, UnknownTool
from day1.interfaces.cli.session import Session, porcelain

if TYPE_CHECKING:
    from day1.call.operation import Operation


@click.command("call")
@click.argument("tool", required=False)
@click.argument("arguments", metavar="[JSON]", required=False)
@click.option("--toolset", metavar="NAME", help="Default: the first that has TOOL.")
@porcelain
def call_command(
    session: Session, tool: str | None, arguments: str | None, toolset: str | None
) -> None:
    """Call any operation with a JSON object of arguments (`-` reads it from stdin).

    The answer is its structured form as one JSON document. Without TOOL all operations are
    listed.
    """
    from day1.call.operation import Effect

    if tool is None:
        _list(session, toolset)
        return
    operation = _find(tool, toolset)
    given = sys.stdin.read() if arguments == "-" else arguments or "{}"
    try:
        parsed = json.loads(given)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest(f"{tool}: the arguments are no JSON.") from exc
    if not isinstance(parsed, dict):
        raise InvalidRequest(f"{tool}: the arguments are a JSON object.")
    context = session.context(create=operation.effect is not Effect.READ)
    session.screen.json(operation.call(context, parsed))


def _toolsets(toolset: str | None) -> dict[str, tuple[Operation[Any, Any], ...]]:
    from day1.toolsets import TOOLSETS, operations

    return {name: operations(name) for name in ([toolset] if toolset else TOOLSETS)}


def _find(tool: str, toolset: str | None) -> Operation[Any, Any]:
    found = [o for toolset_ in _toolsets(toolset).values() for o in toolset_]
    for operation in found:
        if operation.name == tool:
            return operation
    names = sorted({operation.name for operation in found})
    raise UnknownTool(f"There is no operation {tool[:80]!r}; `day1 call` lists them.", tools=names)


def _list(session: Session, toolset: str | None) -> None:
    rows = [
        (name, operation.name, operation.description.partition("\n")[0])
        for name, operations in _toolsets(toolset).items()
        for operation in operations
    ]
    documents = [{"toolset": a, "name": b, "description": c} for a, b, c in rows]
    if not session.answer({"result": documents}):
        session.screen.table(("toolset", "operation", "what it does"), rows)
