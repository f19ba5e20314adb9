"""What the commands ask of the composition root: implements `Application` of the command line."""

from __future__ import annotations

from collections.abc import Callable

from day1.app.engines import archives, copying, create_store, rewriting
from day1.app.open import (
    copied_to,
    embedder,
    found_memories,
    import_source,
    install_model,
    model_place,
    open_store,
    place_of,
    point,
    seen_through,
    tool_memory,
)
from day1.call.context import now
from day1.settings import Settings

__all__ = [
    "archives",
    "copied_to",
    "copying",
    "create_store",
    "embedder",
    "found_memories",
    "import_source",
    "install_model",
    "model_place",
    "now",
    "open_store",
    "place_of",
    "point",
    "rewriting",
    "seen_through",
    "serve_http",
    "serve_stdio",
    "tool_memory",
]


def serve_stdio(settings: Settings, toolsets: str, branch: str | None) -> None:
    """Serve MCP over stdin and stdout until the client leaves."""
    from day1.app import stdio

    stdio.run(settings, toolsets, branch)


def serve_http(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve over HTTP until a signal; `ready` is told the address."""
    from day1.app import http

    http.run(settings, ready)
