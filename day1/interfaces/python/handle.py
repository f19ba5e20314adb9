"""The base of the objects that a program uses: the memory that it calls, and who calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from day1.errors import InvalidRequest, UnknownTool
from day1.interfaces.python.calls import Calls, Who, unfit


class Placed(Protocol):
    """A connection that knows where its memory is."""

    @property
    def place(self) -> str:
        """Where the memory is: see `Calls.place`."""


C = TypeVar("C", bound=Placed)


class Bound(Generic[C]):
    """An object that is bound to the connection of one process."""

    def __init__(self, calls: C, who: Who) -> None:
        """Call through `calls`, as `who`."""
        self._calls: C = calls
        self._who = who

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: each process connects for itself.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"A {type(self).__name__} is a connection and cannot be pickled: call `day1.connect` "
            "in the other process."
        )

    def __repr__(self) -> str:
        """Name the branch and the place."""
        return f"<day1.{type(self).__name__} {self._who.branch!r} of {self._calls.place}>"


class Handle(Bound[Calls]):
    """An object whose methods call operations; threads may share it."""

    def _ask(self, operation: str, /, **arguments: Any) -> Any:
        """Call an operation with the arguments that are not None."""
        return self._calls.ask(operation, plain(arguments), self._who)

    def _ask_plainly(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation and return its answer as JSON."""
        return self._calls.ask_plainly(operation_name(operation), plain(arguments), self._who)


def operation_name(operation: object) -> str:
    """Return the name of an operation.

    Raises:
        UnknownTool: it is no text.
    """
    if isinstance(operation, str):
        return operation
    raise UnknownTool(
        f"The name of an operation is a text, and this is of type {type(operation).__name__}: the "
        "pages in docs/tools list them all."
    )


def moment(when: datetime | str) -> str:
    """Return a time in ISO 8601.

    Raises:
        InvalidRequest: it is None, or has no zone.
    """
    untyped_when: object = when  # callers without a type checker may give anything
    if untyped_when is None:
        raise unfit("when", "must be a `datetime` with a zone or ISO 8601, and is None")
    iso_time: str = _plain("when", when)
    return iso_time


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as JSON values, times in ISO 8601; leave out arguments that are None.

    Raises:
        InvalidRequest: a time has no zone, or an argument contains bytes.
    """
    return {name: _plain(name, value) for name, value in arguments.items() if value is not None}


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy arguments with all that they contain, so that later changes by the caller are ignored.

    Raises:
        InvalidRequest: a value cannot be copied, so it is no JSON.
    """
    try:
        return deepcopy(dict(arguments))
    except Exception as exc:  # the class of the value decides what it raises
        raise InvalidRequest(
            f"An argument cannot be copied, so it is no JSON: {exc}. Give texts, numbers, lists "
            "and objects."
        ) from exc


def _plain(name: str, value: Any) -> Any:
    if _has_bytes(value):
        raise InvalidRequest(
            f"{name}: bytes are no JSON: decode them to a text.",
            problems=[{"argument": name, "problem": "bytes are no JSON"}],
        )
    if not isinstance(value, datetime):
        return list(value) if isinstance(value, tuple) else value
    if value.tzinfo is None:
        raise InvalidRequest(
            f"{name}: the time {value.isoformat()} has no zone: give one, as "
            "`datetime.now(timezone.utc)` has.",
            problems=[{"argument": name, "problem": "the time has no zone"}],
        )
    return value.isoformat()


def _has_bytes(value: object) -> bool:
    """Whether a value is or contains bytes, which models of requests would take as texts."""
    unread_values: list[Iterable[object]] = [(value,)]
    seen_ids: set[int] = set()  # a list may contain itself
    while unread_values:
        for inner_value in unread_values.pop():
            if isinstance(inner_value, str | int | float):
                continue
            if isinstance(inner_value, bytes | bytearray | memoryview):
                return True
            if isinstance(inner_value, dict | list | tuple) and id(inner_value) not in seen_ids:
                seen_ids.add(id(inner_value))
                unread_values.append(inner_value)
                if isinstance(inner_value, dict):
                    unread_values.append(inner_value.values())
    return False
