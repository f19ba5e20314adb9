"""Run the stdio server: `day1 mcp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from day1.app import garbage
from day1.app.background import background
from day1.app.open import open_store
from day1.call.context import Context
from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.server import build_server
from day1.interfaces.mcp.stdio import serve
from day1.logs import to_stderr
from day1.model.access.permissions import EVERYTHING
from day1.model.branches.branch import MAIN
from day1.settings import Settings
from day1.toolsets import TOOLSETS


def run(settings: Settings, toolsets: str = "core", branch: str | None = None) -> None:
    """Serve toolsets over stdin and stdout until the client leaves."""
    to_stderr(settings.log_level)
    tools = TOOLSETS.choose(toolsets)
    store = open_store(settings, create=True, serves=True)
    start_branch = branch or settings.branch or MAIN
    process_head = ProcessHead(store.repo, start_branch)
    background_threads = background(store, start_branch)

    def context(meta: Mapping[str, Any] | None, _: Any) -> Context:
        background_threads.worker.called()
        return store.context(caller_of(settings, process_head, meta))

    broadcaster = Broadcaster(store.repo)
    listening = Listening(broadcaster, lambda _: EVERYTHING)
    server = build_server(tools, context, listening)
    background_threads.start()
    garbage.look_often()

    def close() -> None:
        background_threads.stop()
        store.close()

    serve(server, close, {"looking": broadcaster.run, "telling": listening.run})
