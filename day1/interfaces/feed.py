"""From a store that was written to, by whomever, to everybody who listens in this process."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio import to_thread

from day1.services.deeds import Repository
from day1.services.watching import Moved, Watcher

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
        """Look until cancelled, or until looking fails: it may be called again then.

        The store is asked in a worker thread, since it may be slow or gone.
        """
        while True:
            await anyio.sleep(_PAUSE_S)
            if self._listeners:
                for moved in await to_thread.run_sync(self._watcher.look):
                    for listener in list(self._listeners.values()):
                        listener(moved)
