"""What every object of the library has that is used with asyncio."""

from __future__ import annotations

from typing import Any, NoReturn

from day1.interfaces.python.asynchronous.calls import AsyncCalls
from day1.interfaces.python.calls import Who
from day1.interfaces.python.handle import plain, refuse_pickling


class AsyncHandle:
    """An object whose methods call operations; tasks of several event loops may share it."""

    def __init__(self, calls: AsyncCalls, who: Who) -> None:
        """Call through `calls`, as `who`."""
        self._calls, self._who = calls, who

    async def _ask(self, operation: str, /, **arguments: Any) -> Any:
        """Call an operation; arguments that are None are left out."""
        return await self._calls.ask(operation, plain(arguments), self._who)

    async def _ask_plainly(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation and return its answer as JSON."""
        return await self._calls.ask_plainly(operation, plain(arguments), self._who)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: each process connects for itself.

        Raises:
            TypeError: always.
        """
        refuse_pickling(self)

    def __repr__(self) -> str:
        """Name the branch and the place."""
        return f"<day1.{type(self).__name__} {self._who.branch!r} of {self._calls.place}>"
