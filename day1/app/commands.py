"""Fulfils the command line's `Application`: one module for each subject."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from day1.app import archives, models, sources, stores
from day1.git_folders import repository_of
from day1.services.access.calls import now

if TYPE_CHECKING:
    from day1.ports.setup import Setup
    from day1.settings import Settings

__all__ = [
    "archives",
    "models",
    "now",
    "serve_http",
    "serve_stdio",
    "setup",
    "sources",
    "stores",
]


def serve_stdio(settings: Settings, toolsets: str, branch: str | None) -> None:
    """Serve MCP over stdin and stdout until the client leaves."""
    from day1.app import stdio

    stdio.run(settings, toolsets, branch)


def serve_http(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve over HTTP until a signal; `ready` is called with the address."""
    if settings.http.workers > 1:
        from day1.app import workers

        workers.run(settings, ready)
    else:
        from day1.app import http

        http.run(settings, ready)


def setup() -> Setup:
    """Return the setup that connects this machine's clients to day1."""
    from day1.adapters.clients.setup import ClientSetup

    folder = Path.cwd()
    repository = repository_of(folder)
    project_folder = folder if repository is None else repository.worktree
    return ClientSetup(Path.home(), project_folder, os.environ)
