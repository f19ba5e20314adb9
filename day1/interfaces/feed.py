"""From a store that was written to, by whomever, to everybody who listens in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio
from anyio import to_thread

from day1.errors import Day1Error
from day1.services.deeds import Repository
from day1.services.watching import Moved, Watcher

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
Listener = Callable[[Moved], None]
"""Called on the event loop; it must not wait."""


class Feed:
    """One watcher for all; while nobody listens it does not look."""

    def __init__(self, repo: Repository) -> None:
        """Listen to a memory."""
        self._watcher = Watcher(repo)
        self._listeners: dict[object, Listener] = {}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell a listener of every branch that moves from now on; answers what ends that."""
        if not self._listeners:
            self._watcher = self._watcher.fresh()
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await anyio.sleep(_PAUSE_S)
            watcher = self._watcher
            if not self._listeners or not watcher.moved():
                continue
            try:
                found = await to_thread.run_sync(watcher.look)
            except Day1Error as exc:
                log.info("looking waits: %s", exc.code)
                continue
            for moved in found:
                for listener in list(self._listeners.values()):
                    listener(moved)
