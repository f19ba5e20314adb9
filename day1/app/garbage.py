"""When a process looks for garbage: objects that refer to one another in circles.

Each look goes through all objects that are young, or through all, and a start makes a quarter of
a million that stay.
"""

import gc
from typing import Final

_WHILE_LOADING: Final = 400_000
"""New objects until the next look: more than a start makes, where a look takes 70 ms."""
_WHILE_SERVING: Final = 2_000


def while_loading() -> None:
    """Look seldom: a command lives for a moment, and modules load without garbage."""
    gc.set_threshold(_WHILE_LOADING, 20, 100)


def while_serving() -> None:
    """Look through no object that is there now, and soon through what sessions leave behind."""
    gc.freeze()
    gc.set_threshold(_WHILE_SERVING, 20, 20)


def before_leaving() -> None:
    """Look through nothing at the end: it takes a quarter of a short command's time."""
    gc.freeze()
