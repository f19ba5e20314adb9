"""The interface between a handle and its memory: in this process, or behind a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from day1.errors import InvalidRequest

if TYPE_CHECKING:
    from day1.call.fields import Response


@dataclass(frozen=True, slots=True)
class Who:
    """Who calls, and the branch and space of calls that name none.

    Raises:
        InvalidRequest: a name is no text, or one that has half a character.
    """

    branch: str
    agent: str | None = None
    session: str | None = None
    task: str | None = None
    space: str | None = None

    def __post_init__(self) -> None:
        """Check the names."""
        for field in fields(self):
            name = getattr(self, field.name)
            if name is not None or field.name == "branch":
                require_text(field.name, name)


def require_text(argument: str, value: object) -> None:
    """Refuse an argument that is no text, or one that UTF-8 cannot write.

    Raises:
        InvalidRequest: it names the argument.
    """
    if not isinstance(value, str):
        raise unfit(argument, f"must be a text, and is of type {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise unfit(argument, "must not contain half a character (a lone surrogate)") from None


def unfit(argument: str, problem: str) -> InvalidRequest:
    """Build the refusal of an argument."""
    return InvalidRequest(
        f"{argument} {problem}.", problems=[{"argument": argument, "problem": problem}]
    )


class Calls(Protocol):
    """Calls operations of one memory; threads may share it."""

    @property
    def place(self) -> str:
        """Where the memory is: a folder, HOST:PORT/DATABASE, or the address of a server."""

    def ask(self, operation: str, arguments: Mapping[str, Any], who: Who) -> Response:
        """Call an operation and return its answer, with steps in the words of Python.

        Raises:
            HandleClosed: the handle was closed.
            UsedAfterFork: this process was forked from the one that connected.
            Day1Error: as the operation says.
        """

    def ask_plainly(self, operation: str, arguments: Mapping[str, Any], who: Who) -> dict[str, Any]:
        """Call an operation and return its answer as JSON.

        Raises:
            UnknownTool: there is no operation of that name.
            Day1Error: as `ask`.
        """

    def close(self) -> None:
        """Wait for running calls and close; closing twice is harmless.

        Inside of a call, the last running call closes when it ends.
        """
