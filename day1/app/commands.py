"""Fulfils the command line's `Application`: one module for each subject."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from day1.app import archives, models, servers, sources, stores
from day1.git_folders import repository_of
from day1.services.access.calls import now

if TYPE_CHECKING:
    from day1.ports.setup import Setup

__all__ = ["archives", "models", "now", "servers", "setup", "sources", "stores"]


def setup() -> Setup:
    """Return the setup that connects this machine's clients to day1."""
    from day1.adapters.clients.setup import ClientSetup

    folder = Path.cwd()
    repository = repository_of(folder)
    project = folder if repository is None else repository.worktree
    return ClientSetup(Path.home(), project, os.environ)
