"""Calls of a memory that this process has open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from day1.interfaces.open_store import OpenStore
from day1.interfaces.python.calls import Who
from day1.interfaces.python.lifetime import Lifetime

if TYPE_CHECKING:
    from day1.call.fields import Response
    from day1.call.operation import Effect

logging.getLogger("day1").addHandler(logging.NullHandler())  # a library prints nothing unasked


class LocalCalls:
    """Calls operations in this process, on a store that it has open.

    What answers a call is loaded by the first one: to connect takes less time without it.
    """

    def __init__(
        self,
        store: OpenStore,
        called: Callable[[Effect], None],
        close: Callable[[], None],
    ) -> None:
        """Take an open store.

        Args:
            store: the open store.
            called: called when a call begins, with its effect.
            close: closes the store and ends its background work.
        """
        self._store, self._called = store, called
        self._lifetime = Lifetime(self, close)

    @property
    def place(self) -> str:
        """Where the store is: its folder, or HOST:PORT/DATABASE."""
        return self._store.where

    def ask(self, operation: str, arguments: Mapping[str, Any], who: Who) -> Response:
        """Call an operation: see `Calls.ask`."""
        from day1.interfaces.python import answering  # noqa: PLC0415 - see the class

        with self._lifetime.using(), answering.in_python():
            call = answering.prepared(operation, arguments)
            self._called(call.effect)
            return call.answer(self._store, who)

    def ask_plainly(self, operation: str, arguments: Mapping[str, Any], who: Who) -> dict[str, Any]:
        """Call an operation and return its answer as JSON: see `Calls.ask_plainly`."""
        from day1.interfaces.python import answering  # noqa: PLC0415 - see the class

        with self._lifetime.using(), answering.in_python():
            call = answering.prepared(operation, arguments)
            self._called(call.effect)
            return call.answer_plainly(self._store, who)

    def close(self) -> None:
        """Wait for running calls, end the background work and close the store."""
        self._lifetime.close()
