"""What the commands ask of the composition root: implements `Application` of the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from day1.app.background import prime_renewer
from day1.app.engines import archives, copying, create_store, rewriting
from day1.app.open import (
    embedder,
    found_memories,
    import_source,
    install_model,
    model_place,
    open_copy_target,
    open_store,
    open_with_mask,
    point,
    tool_memory,
)
from day1.app.owners import refuse_anothers
from day1.git_folders import repository_of
from day1.services.access.calls import now
from day1.settings import Settings

if TYPE_CHECKING:
    from day1.interfaces.open_store import OpenStore
    from day1.ports.setup import Setup
    from day1.services.health.doctor import StoreLocation

__all__ = [
    "archives",
    "copying",
    "create_store",
    "embedder",
    "found_memories",
    "import_source",
    "install_model",
    "model_place",
    "now",
    "open_copy_target",
    "open_store",
    "open_with_mask",
    "place_of",
    "point",
    "prime_renewer",
    "refuse_anothers",
    "rewriting",
    "serve_http",
    "serve_stdio",
    "setup",
    "tool_memory",
]


def setup() -> Setup:
    """What connects the clients of this machine."""
    from day1.adapters.clients.setup import ClientSetup

    here = Path.cwd()
    repository = repository_of(here)
    project = here if repository is None else repository.worktree
    return ClientSetup(Path.home(), project, os.environ)


def place_of(store: OpenStore) -> StoreLocation:
    """What `day1 doctor` reports of the place where a store is."""
    from day1.app import place

    return place.place_of(store)


def serve_stdio(settings: Settings, toolsets: str, branch: str | None) -> None:
    """Serve MCP over stdin and stdout until the client leaves."""
    from day1.app import stdio

    stdio.run(settings, toolsets, branch)


def serve_http(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve over HTTP until a signal; `ready` is told the address."""
    from day1.app import http

    http.run(settings, ready)
