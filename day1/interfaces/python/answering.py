"""Answer calls of an open store, in the words of Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from day1.call.context import Context
from day1.call.fields import Response
from day1.call.operation import Effect
from day1.call.toolset import Tool
from day1.errors import Advice, Day1Error, Say
from day1.interfaces.heads import spaced
from day1.interfaces.open_store import OpenStore
from day1.interfaces.python.answers import reworded
from day1.interfaces.python.calls import Who
from day1.interfaces.python.repeating import repeatable
from day1.interfaces.python.wording import call_of
from day1.services.access.caller import Caller
from day1.toolsets.finding import tool_of


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    tool: Tool
    arguments: Mapping[str, Any]

    @property
    def effect(self) -> Effect:
        """The effect of the operation."""
        return self.tool.operation.effect

    def answer(self, store: OpenStore, who: Who) -> Response:
        """Make the call; return its answer with worded notes."""
        answer = self.tool.answer(_context(store, who), self.arguments)
        word_step = self.tool.wording(call_of)
        worded_answer: Response = reworded(answer, lambda note: _worded(note, word_step))
        return worded_answer

    def answer_plainly(self, store: OpenStore, who: Who) -> dict[str, Any]:
        """Make the call; return its answer as JSON."""
        answer: dict[str, Any] = self.tool.call(_context(store, who), self.arguments)
        return answer


def prepared(operation: str, arguments: Mapping[str, Any]) -> Call:
    """Find the tool of an operation, and give the call an id of its own.

    Raises:
        UnknownTool: there is none.
    """
    tool = tool_of(operation)
    return Call(tool, repeatable(tool, arguments))


def _context(store: OpenStore, who: Who) -> Context:
    space = spaced(who.space)
    caller = Caller(who.agent, who.session, who.task, branch=who.branch, space=space)
    return replace(store.context(caller), say=call_of)


def _worded(note: str | Advice, say: Say) -> str:
    return note if isinstance(note, str) else note.worded(say)


@contextmanager
def in_python() -> Iterator[None]:
    """Reword the advice of errors from the block as calls in Python."""
    try:
        yield
    except Day1Error as exc:
        exc.args = (exc.worded(call_of),)
        raise
