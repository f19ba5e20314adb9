"""Options that several commands have."""

from __future__ import annotations

import click

branch_option = click.option("-b", "--branch", metavar="NAME", help="Default: the current branch.")
at_option = click.option("--at", metavar="TIME", help="As of an ISO time, or 10m, 2h, 3d ago.")
agent_option = click.option("--agent", metavar="NAME", help="The writer. Default: DAY1_AGENT_ID.")
space_option = click.option(
    "--space", metavar="NAME", help="Such as project:metal, or shared. Default: DAY1_SPACE, or all."
)
event_option = click.option("--as-of-event", metavar="TIME", help="Show what was true at TIME.")
valid_until_option = click.option(
    "--valid-until", metavar="TIME", help="When it ceased to be true, or `never`."
)
expires_option = click.option(
    "--expires-at", metavar="TIME", help="When answers stop showing it, or `never`."
)
secret_option = click.option(
    "--sensitivity",
    type=click.Choice(["secret", "public"]),
    help="secret: never searched, and shown in no list.",
)
deprecated_option = click.option("--deprecated", is_flag=True, help="List the deprecated ones.")

description_option = click.option("--description", metavar="TEXT", help="What it holds, for lists.")
tags_option = click.option("--tag", "tags", multiple=True, metavar="NAME", help="Repeatable.")
