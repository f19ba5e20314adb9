"""Find the memory of an adapter: the one passed to it, or a new connection."""

from __future__ import annotations

from pathlib import Path

import day1


def connected(memory: day1.Branch | str | Path | None) -> tuple[day1.Branch, day1.Memory | None]:
    """Return the branch to use, and the memory to close at the end if it was connected here.

    Args:
        memory: a memory or a branch of one, or what `day1.connect` takes.
    """
    if isinstance(memory, day1.Branch):
        return memory, None
    own_memory = day1.connect(memory)
    return own_memory, own_memory
