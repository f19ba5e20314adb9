"""`day1 model`: install the embedding model, or say which one is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from day1.interfaces.cli.session import Session, command


@click.group("model")
def model_command() -> None:
    """The model that turns texts into vectors, for search by meaning."""


@model_command.command("install")
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path))
@command
def install_command(session: Session, path: Path | None) -> None:
    """Install all-MiniLM-L6-v2 from PATH (a folder or archive), else by download.

    If neither works, that is no failure: search then uses keywords only.
    """
    folder = session.app.models.install(session.settings.embedder, path, session.screen.note)
    if not session.answer({"installed": folder is not None, "folder": folder and str(folder)}):
        session.screen.line("No model." if folder is None else f"The model is in {folder}")


@model_command.command("status")
@command
def status_command(session: Session) -> None:
    """Say which model is used and whether it works."""
    from day1.errors import EmbedderUnavailable

    settings = session.settings.embedder
    embedder = session.app.models.embedder(settings)
    document: dict[str, Any] = {"kind": settings.kind, "name": None, "works": False}
    document["place"] = session.app.models.place(settings)
    problem = "search is by keywords, by setting"
    if embedder is not None:
        document["name"] = embedder.name
        try:
            embedder.embed(["tried"])
            document["works"] = True
        except EmbedderUnavailable as exc:
            problem = str(exc)
    if not session.answer(document):
        if document["works"]:
            session.screen.line(f"{document['name']} from {document['place']}")
        else:
            session.screen.line(f"No model: {problem}")
