"""A prime: the few lines of a branch's memory with which a session begins."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prime:
    """The text, and the state that it was read from."""

    branch: str
    space: str | None
    """Whose facts it has beside those that all share; None: those alone."""
    at: str
    """The commit; rows that were pending on top of it are in the text too."""
    pending: int
    made_at: int
    """Microseconds UTC."""
    text: str
    pinned: tuple[str, ...]
    """The ids of all facts that are pinned on the branch."""
    evergreen: tuple[str, ...]
    """The ids of the last facts there that say how to work."""
    ends: tuple[tuple[int, int], ...] = ()
    """The lines of facts that end, by their number, and when (microseconds UTC)."""
