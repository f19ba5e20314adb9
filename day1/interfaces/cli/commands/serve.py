"""`day1 serve`: serve agents, scripts and people over HTTP."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.session import Session, with_session


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="Default: DAY1_HTTP__HOST, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Default: 8420; 0: any free one.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes that answer calls; default: 1.",
)
@click.option("--sse", is_flag=True, help="Also serve MCP's older transport, at /sse.")
@with_session
def serve_command(session: Session, **options: Any) -> None:
    """Serve agents (/mcp), scripts (/api/v1) and people (/review) over HTTP until a signal.

    On loopback nobody needs a token until the first one is made (`day1 token create`), and the
    store is made if needed. Any other address needs a store and a token first.
    """
    settings = session.settings
    http_settings = settings.http.model_copy(
        update={k: v for k, v in options.items() if v is not None and v is not False}
    )
    settings = settings.model_copy(update={"http": http_settings})

    def ready(address: str) -> None:
        for path, audience in (("/review", "people"), ("/mcp", "agents"), ("/api/v1", "scripts")):
            click.echo(f"{address}{path:<9} {audience}", err=True)

    session.app.serve_http(settings, ready)
