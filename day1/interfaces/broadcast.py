"""Changes of the memory, by any process, for every listener in this process."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio import to_thread

from day1.services.repository.repository import Repository
from day1.services.upkeep.poller import ChangePoller, News

_PAUSE_S = 0.5
"""Seconds between two looks for changes."""
Listener = Callable[[News], None]
"""A function that takes news of a change, on the event loop: it must not block."""


class Broadcaster:
    """Polls the memory for changes while somebody listens, once for all listeners.

    The store is asked in worker threads, since it may be slow or gone.
    """

    def __init__(self, repo: Repository) -> None:
        """Prepare to poll a memory for changes."""
        self._watcher = ChangePoller(repo)
        self._listeners: dict[object, Listener] = {}

    async def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a listener at every change from now on; return the function that unsubscribes it.

        If this call is cancelled, it ends at once and subscribes nobody.
        """
        if not self._listeners:
            new_poller = await to_thread.run_sync(self._watcher.fresh, abandon_on_cancel=True)
            if not self._listeners:  # else another listener came first
                self._watcher = new_poller
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    async def run(self) -> None:
        """Poll for changes until cancelled or until polling fails; it may be called again."""
        while True:
            await anyio.sleep(_PAUSE_S)
            if not self._listeners:
                continue
            poller = self._watcher
            changes = await to_thread.run_sync(poller.look)
            if poller is not self._watcher:  # its news are older than the present listeners
                continue
            for news in changes:
                for listener in list(self._listeners.values()):
                    listener(news)
