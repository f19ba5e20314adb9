"""`day1 hook`: take in what a client tells of a session."""

from __future__ import annotations

import click

from day1.formats.events import CLIENTS, EVENTS


@click.command("hook", epilog=f"EVENT is one of {', '.join(EVENTS)}.")
@click.argument("event")
@click.option("--client", required=True, help=f"Whose event it is: {', '.join(CLIENTS)}.")
def hook_command(event: str, client: str) -> None:
    """Take in an EVENT that a client tells of as JSON on stdin. `day1 setup` has clients call it.

    The exit code is 0 within a second, whatever happens. At the start of a session it prints what
    the memory has for it. Other events wait in the store's spool for the next server or command.
    """
    from day1.interfaces.hook import entry

    entry.run([event, "--client", client])
