"""Waiting for what a process does by itself: asked again and again, and given up at last."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_GIVEN_UP_S = 60.0
_PAUSE_S = 0.05


def until(look: Callable[[], T], what: str, within_s: float = _GIVEN_UP_S) -> T:
    """Look until there is something; gives it."""
    end = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < end, f"{what}: not within {within_s:g} s"
        time.sleep(_PAUSE_S)
    return found


def settled(look: Callable[[], T], quiet_s: float = 0.5) -> T:
    """Look until what is seen has stayed the same for a while: nothing more comes of itself."""
    seen, since = look(), time.monotonic()
    while time.monotonic() < since + quiet_s:
        time.sleep(_PAUSE_S)
        if (now := look()) != seen:
            seen, since = now, time.monotonic()
    return seen
