"""The base of the objects that a program uses with asyncio."""

from __future__ import annotations

from typing import Any

from day1.interfaces.python.asynchronous.calls import AsyncCalls
from day1.interfaces.python.handle import Bound, operation_name, plain


class AsyncHandle(Bound[AsyncCalls]):
    """An object whose methods call operations; tasks of several event loops may share it."""

    async def _ask(self, operation: str, /, **arguments: Any) -> Any:
        """Call an operation with the arguments that are not None."""
        return await self._calls.ask(operation, plain(arguments), self._who)

    async def _ask_plainly(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation and return its answer as JSON."""
        name = operation_name(operation)
        return await self._calls.ask_plainly(name, plain(arguments), self._who)
