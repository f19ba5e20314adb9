"""Start the servers: fulfils the command line's `Servers`."""

from __future__ import annotations

from collections.abc import Callable

from day1.settings import Settings


def serve_stdio(settings: Settings, toolsets: str, branch: str | None) -> None:
    """Serve MCP over stdin and stdout until the client leaves."""
    from day1.app import stdio

    stdio.run(settings, toolsets, branch)


def serve_http(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve over HTTP until a signal; `ready` is called with the address."""
    from day1.app import http

    http.run(settings, ready)
