"""The answer of a call that finds several items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from day1.call.fields import Read

T = TypeVar("T")


class Results(Sequence[T], Generic[T]):
    """The items that a call found, in order, with the branch and commit of the answer.

    Attributes:
        read: the branch and the commit of the answer.
        total: how many there are in all; more than `len()` where the answer is a page.
    """

    __slots__ = ("_found", "read", "total")

    def __init__(self, found: Sequence[T], read: Read, total: int | None = None) -> None:
        """Wrap a sequence; `total` is its length unless it is a page of more."""
        self._found = tuple(found)
        self.read = read
        self.total = len(self._found) if total is None else total

    @property
    def notes(self) -> list[str]:
        """What day1 has to say about the answer, such as how many vectors are missing."""
        return [str(note) for note in self.read.notes]

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Return the found item at an index, or the items of a slice."""
        return self._found[index]

    def __len__(self) -> int:
        """Return the number of items in this answer."""
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same items in the same order."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as for every sequence that compares its parts

    def __repr__(self) -> str:
        """Show the found items."""
        return f"Results({list(self._found)!r})"
