"""Waiting for what a process does by itself: asked again and again, and given up at last."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_GIVEN_UP_S = 60.0


def until(look: Callable[[], T], what: str, within_s: float = _GIVEN_UP_S) -> T:
    """Look until there is something; gives it."""
    end = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < end, f"{what}: not within {within_s:g} s"
        time.sleep(0.05)
    return found
