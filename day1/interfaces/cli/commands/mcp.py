"""`day1 mcp`: serve an agent over stdin and stdout."""

from __future__ import annotations

import click

from day1.interfaces.cli.options import agent_option
from day1.interfaces.cli.session import Session, with_session


@click.command("mcp")
@click.option("--toolsets", default="core", show_default=True, metavar="NAMES", help="With commas.")
@click.option("--tools", metavar="NAMES", help="Only these: core14, or tools by name. With commas.")
@click.option(
    "--branch", metavar="NAME", help="The branch to start on. Default: DAY1_BRANCH, else main."
)
@agent_option
@with_session
def mcp_command(
    session: Session, toolsets: str, tools: str | None, branch: str | None, agent: str | None
) -> None:
    """Serve an agent over stdin and stdout until it leaves; the store is made if needed.

    The agent has a HEAD of its own: the command line's HEAD does not matter, and stays.
    """
    settings = session.settings
    if agent is not None:
        settings = settings.model_copy(update={"agent_id": agent})
    session.app.serve_stdio(settings, tools or toolsets, branch)
