"""A prime: the lines of a branch's memory with which a session begins."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prime:
    """The text of a prime, and the state that it was read from."""

    branch: str
    space: str | None
    """The space whose facts the prime has beside the shared ones; None: only shared ones."""
    at: str
    """The commit that was read; rows pending on top of it are in the text too."""
    pending: int
    made_at: int
    """Microseconds UTC."""
    text: str
    pinned: tuple[str, ...]
    """The ids of all facts that are pinned on the branch."""
    evergreen: tuple[str, ...]
    """The ids of the newest evergreen facts of the branch."""
    ends: tuple[tuple[int, int], ...] = ()
    """The numbers of the lines whose facts end, each with that time (microseconds UTC)."""
