"""`day1 init`: make a store in a folder, or on a server."""

from __future__ import annotations

from pathlib import Path

import click

from day1.interfaces.cli.session import Session, command


@click.command("init")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@command
def init_command(session: Session, folder: Path | None) -> None:
    """Make a store: the folder .day1 in FOLDER (default: here, or DAY1_HOME if that is set).

    In a worktree that git added, the default is the repository's folder: a store would be lost
    with the worktree.

    With DAY1_STORE__URL the store is that database on its server. An existing store is left as it
    is.
    """
    from day1.git_folders import STORE
    from day1.home import find_home

    settings = session.settings
    if settings.store.url is not None and folder is not None:
        raise click.UsageError("DAY1_STORE__URL names the store: leave FOLDER out, or unset it.")
    if folder is None and (settings.home or settings.store.url):
        store_folder = find_home(settings)
    else:
        store_folder = ((folder or _usual_folder()) / STORE).absolute()
        session.app.stores.refuse_anothers(store_folder)
    is_new = session.app.stores.create_store(settings, store_folder, session.now)
    store = session.app.stores.open_store(settings, folder=store_folder)
    store.close()
    if not session.answer({"store": store.where, "created": is_new, "branch": "main"}):
        outcome_phrase = "Initialized empty" if is_new else "Reinitialized existing"
        session.screen.line(f"{outcome_phrase} day1 store in {store.where}")


def _usual_folder() -> Path:
    """Return the present folder; in a worktree without a store, the repository's folder."""
    from day1.git_folders import STORE, repository_of
    from day1.home import is_store

    current_folder = Path.cwd()
    repository = repository_of(current_folder)
    if repository is None or not repository.linked or is_store(current_folder / STORE):
        return current_folder
    return repository.folder
