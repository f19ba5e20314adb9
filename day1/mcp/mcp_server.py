"""The stdio server, where the seed places it; `day1 mcp` starts the same."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from day1.app.open import open_store
from day1.call.context import Context
from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.cli.main import run as command
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.server import build_server
from day1.interfaces.mcp.stdio import serve
from day1.logs import to_stderr
from day1.model.access.permissions import EVERYTHING
from day1.model.branches.branch import MAIN
from day1.settings import Settings
from day1.toolsets import operations


def run(settings: Settings, toolsets: str = "core", branch: str | None = None) -> None:
    """Serve toolsets over stdio until the client leaves."""
    to_stderr(settings.log_level)
    chosen = operations(toolsets)
    house = open_store(settings, create=True, serves=True)
    head = ProcessHead(house.repo, branch or settings.branch or MAIN)
    tender = house.tender()

    def context(meta: Mapping[str, Any] | None, _: Any) -> Context:
        tender.called()
        return house.context(caller_of(settings, head, meta))

    feed = Broadcaster(house.repo)
    listening = Listening(feed, lambda _: EVERYTHING)
    server = build_server(chosen, context, listening)
    tender.start()

    def close() -> None:
        tender.stop()
        house.close()

    serve(server, close, {"looking": feed.run, "telling": listening.run})


if __name__ == "__main__":
    sys.exit(command(["mcp", "--toolsets", "core,review"]))
