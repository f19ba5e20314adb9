"""What every server does, done once before any is forked: what is slow only once, none does again.

The engine is loaded, and the statements, validators and settings that all stores need are built.
"""

import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from mcp import Client
from mcp.server.lowlevel import Server

from day1.app.open import open_store
from day1.call.context import Context
from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.server import build_server
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import EVERYTHING
from day1.settings import EmbedderSettings, SearchSettings, Settings
from day1.toolsets import TOOLSETS

CALLS = (("memory_write_fact", {"fact_text": "A fact."}), ("memory_search", {"query": "fact"}))


def use_a_store() -> None:
    """Make a store, serve it to a client, and leave nothing of it: no file, thread or connection."""
    with TemporaryDirectory(prefix="day1-forkserver-") as folder:
        settings = Settings(
            home=Path(folder) / "store",
            embedder=EmbedderSettings(kind="none"),
            search=SearchSettings(chroma=False),
        )
        with closing(open_store(settings, create=True)) as store:
            anyio.run(_serve, store)
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        thread.join(10.0)
        assert not thread.is_alive(), f"{thread} would be missing in forked processes"


async def _serve(store: OpenStore) -> None:
    listening = Listening(Broadcaster(store.repo), lambda _: EVERYTHING)
    context = partial(_context, store, ProcessHead(store.repo, "main"))
    server: Server[Any] = build_server(TOOLSETS.choose("core,review"), context, listening)
    async with Client(server) as client:
        await client.list_tools()
        for tool, arguments in CALLS:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer


def _context(store: OpenStore, head: ProcessHead, meta: Any, _: Any) -> Context:
    return store.context(caller_of(store.settings, head, meta))
