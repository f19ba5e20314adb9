"""Serving agents and people, and the plumbing beneath every command: mcp, serve, call."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from day1.errors import InvalidRequest, UnknownTool
from day1.interfaces.cli.session import Session, porcelain, with_session

if TYPE_CHECKING:
    from day1.call.operation import Operation


@click.command("mcp")
@click.option("--toolsets", default="core", show_default=True, metavar="NAMES", help="With commas.")
@click.option("--tools", metavar="NAMES", help="Only these: core14, or tools by name. With commas.")
@click.option("--branch", metavar="NAME", help="Where it starts. Default: DAY1_BRANCH, else main.")
@click.option("--agent", metavar="NAME", help="Who writes. Default: DAY1_AGENT_ID.")
@with_session
def mcp_command(
    session: Session, toolsets: str, tools: str | None, branch: str | None, agent: str | None
) -> None:
    """Serve an agent over stdin and stdout until it leaves; the store is made if needed.

    Its HEAD is its own: it neither starts where the command line is nor moves it.
    """
    settings = session.settings
    if agent is not None:
        settings = settings.model_copy(update={"agent_id": agent})
    session.app.serve_stdio(settings, tools or toolsets, branch)


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="Default: DAY1_HTTP__HOST, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Default: 8420; 0: any free one.")
@click.option("--sse", is_flag=True, help="Also serve MCP's older transport, at /sse.")
@with_session
def serve_command(session: Session, **given: Any) -> None:
    """Serve agents (/mcp), scripts (/api/v1) and people (/review) over HTTP until a signal.

    On loopback nobody needs a token until one was made (`day1 token create`), and the store is
    made if needed. Any other address needs a store and a token first.
    """
    settings = session.settings
    http = settings.http.model_copy(
        update={k: v for k, v in given.items() if v is not None and v is not False}
    )
    settings = settings.model_copy(update={"http": http})

    def ready(address: str) -> None:
        for path, what in (("/review", "people"), ("/mcp", "agents"), ("/api/v1", "scripts")):
            click.echo(f"{address}{path:<9} {what}", err=True)

    session.app.serve_http(settings, ready)


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
