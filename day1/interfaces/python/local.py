"""Calls of a memory that this process has open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from day1.call.context import Context
from day1.call.fields import Response
from day1.call.operation import Effect
from day1.errors import Advice, Day1Error
from day1.interfaces.heads import spaced
from day1.interfaces.open_store import OpenStore
from day1.interfaces.python.answers import reworded
from day1.interfaces.python.calls import Who
from day1.interfaces.python.finding import tool_of
from day1.interfaces.python.lifetime import Lifetime
from day1.interfaces.python.repeating import repeatable
from day1.interfaces.python.wording import call_of
from day1.services.access.caller import Caller

logging.getLogger("day1").addHandler(logging.NullHandler())  # a library prints nothing unasked


class LocalCalls:
    """Calls operations in this process, on a store that it has open."""

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
        with self._lifetime.using(), _in_python():
            tool = tool_of(operation)
            self._called(tool.operation.effect)
            answer = tool.answer(self._context(who), repeatable(tool, arguments))
            say = tool.wording(call_of)
            worded: Response = reworded(answer, lambda note: _worded(note, say))
            return worded

    def ask_plainly(self, operation: str, arguments: Mapping[str, Any], who: Who) -> dict[str, Any]:
        """Call an operation: see `Calls.ask_plainly`."""
        with self._lifetime.using(), _in_python():
            tool = tool_of(operation)
            self._called(tool.operation.effect)
            answer: dict[str, Any] = tool.call(self._context(who), repeatable(tool, arguments))
            return answer

    def close(self) -> None:
        """Wait for running calls, end the background work and close the store."""
        self._lifetime.close()

    def _context(self, who: Who) -> Context:
        caller = Caller(
            who.agent, who.session, who.task, branch=who.branch, space=spaced(who.space)
        )
        return replace(self._store.context(caller), say=call_of)


def _worded(note: str | Advice, say: Callable[..., str]) -> str:
    return note if isinstance(note, str) else note.worded(say)


@contextmanager
def _in_python() -> Iterator[None]:
    """Put the advice of an error in the words of Python."""
    try:
        yield
    except Day1Error as exc:
        exc.args = (exc.worded(call_of),)
        raise
