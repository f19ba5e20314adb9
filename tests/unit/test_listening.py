"""Clients that begin to listen while the store does not answer."""

import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.mcp.listening import Listening
from day1.model.access.permissions import EVERYTHING
from day1.model.rows.change import NOTHING_PENDING, ReadState
from day1.services.upkeep.poller import Moved, News
from tests.fakes.memory_ledger import MemoryLedger

CLIENT: Any = SimpleNamespace(request=None, session=None)
MAIN: Any = SimpleNamespace(uri="day1://branch/main")


class SlowStore:
    """One that answers nothing until somebody lets it."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()
        self.stood = 0
        repo: Any = SimpleNamespace(store=self, history=self, ledger=MemoryLedger())
        self.feed = Broadcaster(repo)
        self.listening = Listening(self.feed, lambda _: EVERYTHING)

    def stamp(self) -> int:
        self.asked.set()
        assert self.go.wait(20)
        return self.stood

    def states(self, _stamp: object) -> dict[str, ReadState]:
        return {"main": ReadState(f"commit_{self.stood}", NOTHING_PENDING)}

    def branches(self) -> dict[str, str]:
        return {"main": f"commit_{self.stood}"}

    async def is_asked(self) -> None:
        """Wait for it on the event loop, which is free to do so."""
        with anyio.fail_after(60):
            while not self.asked.is_set():
                await anyio.lowlevel.checkpoint()
        assert not self.go.is_set()


@pytest.mark.parametrize("era", ["listen", "subscribe"])
def test_who_begins_to_listen_waits_beside_the_event_loop(era: str) -> None:
    """B5: while the store is asked how it stands, the server answers others; who leaves is gone."""
    store = SlowStore()
    begin: Callable[..., Coroutine[Any, Any, Any]] = getattr(store.listening, era)

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin, CLIENT, MAIN)
            await store.is_asked()
            tasks.cancel_scope.cancel()
        assert not store.go.is_set()
        store.go.set()
        await store.listening.subscribe(CLIENT, MAIN)
        await store.listening.unsubscribe(CLIENT, MAIN)
        assert not store.feed._listeners

    anyio.run(both)


def test_what_a_client_asks_is_done_in_its_order() -> None:
    """B5: who ends a subscription that has not begun yet is told of nothing."""
    store = SlowStore()

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.listening.subscribe, CLIENT, MAIN)
            await store.is_asked()
            tasks.start_soon(store.listening.subscribe, CLIENT, MAIN)
            tasks.start_soon(store.listening.unsubscribe, CLIENT, MAIN)
            await anyio.wait_all_tasks_blocked()
            store.go.set()
        assert not store.feed._listeners

    anyio.run(both)


def test_two_listeners_that_begin_at_once_miss_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: what moves once one of them listens is told, however long the other had to wait."""
    monkeypatch.setattr("day1.interfaces.broadcast._PAUSE_S", 0.01)
    store = SlowStore()
    told: list[News] = []
    heard = anyio.Event()

    def hear(news: News) -> None:
        told.append(news)
        heard.set()

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.feed.subscribe, lambda _: None)
            await store.is_asked()
            store.go.set()
            await store.feed.subscribe(hear)
            store.stood = 1
            tasks.start_soon(store.feed.run)
            with anyio.fail_after(60):
                await heard.wait()
            tasks.cancel_scope.cancel()

    anyio.run(both)
    assert told == [Moved("main", "commit_1")]
