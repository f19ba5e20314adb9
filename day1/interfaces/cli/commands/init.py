"""`day1 init`: make a store in a folder, or on a server."""

from __future__ import annotations

from pathlib import Path

import click

from day1.interfaces.cli.session import Session, porcelain


@click.command("init")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@porcelain
def init_command(session: Session, folder: Path | None) -> None:
    """Make a store: the folder .day1 in FOLDER (default: here, or DAY1_HOME if that is set).

    With DAY1_STORE__URL the store is that database on its server. An existing store is left as it
    is.
    """
    from day1.settings import FOLDER, find_home

    settings = session.settings
    if settings.store.url is not None and folder is not None:
        raise click.UsageError("DAY1_STORE__URL names the store: leave FOLDER out, or unset it.")
    if folder is None and (settings.home or settings.store.url):
        here = find_home(settings)
    else:
        here = ((folder or Path()) / FOLDER).absolute()
    made = session.app.create_store(settings, here, session.now)
    store = session.app.open_store(settings, folder=here)
    store.close()
    if not session.answer({"store": store.where, "created": made, "branch": "main"}):
        kind = "Initialized empty" if made else "Reinitialized existing"
        session.screen.line(f"{kind} day1 store in {store.where}")
