"""Set when Python's collector looks for garbage: objects that refer to one another in circles.

Each look goes through the young objects, or through all of them, and a start makes a quarter of
a million objects that stay.
"""

import gc
from typing import Final

_WHILE_LOADING: Final = 400_000
"""New objects until the next look: more than a start makes, since a look takes 70 ms then."""
_WHILE_SERVING: Final = 2_000


def while_loading() -> None:
    """Make looks rare: a command lives for a moment, and modules load without garbage."""
    gc.set_threshold(_WHILE_LOADING, 20, 100)


def while_serving() -> None:
    """Exempt the present objects from looks, and look often for what sessions leave behind."""
    gc.freeze()
    gc.set_threshold(_WHILE_SERVING, 20, 20)


def before_leaving() -> None:
    """Exempt all objects from the last look, which takes a quarter of a short command's time."""
    gc.freeze()
