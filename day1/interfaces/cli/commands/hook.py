"""`day1 hook`: take in the events that a client reports of a session."""

from __future__ import annotations

import click

from day1.formats.events import CLIENTS, EVENTS


@click.command("hook", epilog=f"EVENT is one of {', '.join(EVENTS)}.")
@click.argument("event")
@click.option("--client", required=True, help=f"The client: {', '.join(CLIENTS)}.")
def hook_command(event: str, client: str) -> None:
    """Take in an EVENT, which a client reports as JSON on stdin. `day1 setup` has clients call it.

    The exit code is 0 within a second, whatever happens. At the start of a session it prints what
    memory has for the session. Other events wait in the store's spool for a server or command.
    """
    from day1.interfaces.hook import entry

    entry.run([event, "--client", client])
