"""Tells every listener in this process what changed in the memory, whoever changed it."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio import to_thread

from day1.services.repository.repository import Repository
from day1.services.upkeep.poller import ChangePoller, News

_PAUSE_S = 0.5
Listener = Callable[[News], None]
"""Called on the event loop; it must not wait."""


class Broadcaster:
    """One watcher for all; while nobody listens it does not look.

    The store is asked in worker threads, since it may be slow or gone.
    """

    def __init__(self, repo: Repository) -> None:
        """Listen to a memory."""
        self._watcher = ChangePoller(repo)
        self._listeners: dict[object, Listener] = {}

    async def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell a listener of every change from now on; answers what ends that.

        Cancelled, it ends at once and subscribes nobody.
        """
        if not self._listeners:
            fresh = await to_thread.run_sync(self._watcher.fresh, abandon_on_cancel=True)
            if not self._listeners:  # else another, who came meanwhile, has begun already
                self._watcher = fresh
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    async def run(self) -> None:
        """Look until cancelled, or until looking fails: it may be called again then."""
        while True:
            await anyio.sleep(_PAUSE_S)
            if not self._listeners:
                continue
            watcher = self._watcher
            found = await to_thread.run_sync(watcher.look)
            if watcher is not self._watcher:  # what changed before those came who listen now
                continue
            for news in found:
                for listener in list(self._listeners.values()):
                    listener(news)
