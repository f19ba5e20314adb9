"""Set when Python's collector looks for garbage: objects that refer to one another in circles.

Each look goes through the young objects, or through all of them, and a start makes a quarter of
a million objects that stay.
"""

import gc
from typing import Final

_RARELY: Final = 400_000
"""New objects until the next look: more than a start makes, since a look takes 70 ms then."""
_OFTEN: Final = 2_000
"""New objects until the next look."""


def look_rarely() -> None:
    """Make looks rare: a command lives for a moment, and loading modules makes no garbage."""
    gc.set_threshold(_RARELY, 20, 100)


def look_often() -> None:
    """Exempt the present objects from looks, and look often for the garbage of sessions."""
    gc.freeze()
    gc.set_threshold(_OFTEN, 20, 20)


def before_leaving() -> None:
    """Exempt all objects from the last look, which takes a quarter of a short command's time."""
    gc.freeze()
