"""Few numbers under each key, such as the requests that a token has left."""

from collections.abc import Callable
from typing import Protocol

Numbers = tuple[float, ...]
"""The numbers of a key: at most five; a key that is new or forgotten has none."""


class Counters(Protocol):
    """Numbers by key, shared by all threads and, where a server has several, by its workers.

    The least used keys may be forgotten, since a table has a fixed size.
    """

    def change(self, key: str, rule: Callable[[Numbers], Numbers]) -> None:
        """Replace the numbers of a key by those that `rule` returns; nobody changes them meanwhile.

        If `rule` raises an error, the numbers stay.
        """
