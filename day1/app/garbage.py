"""Set how often Python's collector looks for garbage: objects that refer to one another in circles.

Each run goes through the young objects, or through all of them, and a start makes a quarter of
a million objects that stay.
"""

import gc
from typing import Final

_RARELY: Final = 400_000
"""New objects until the collector runs: more than a start makes, as a run takes 70 ms then."""
_OFTEN: Final = 2_000
"""New objects until the collector of a server runs."""


def look_rarely() -> None:
    """Make the collector run rarely: a command is short, and loading modules makes no garbage."""
    gc.set_threshold(_RARELY, 20, 100)


def look_often() -> None:
    """Exempt the present objects from collection, and collect the garbage of sessions often."""
    gc.freeze()
    gc.set_threshold(_OFTEN, 20, 20)


def before_leaving() -> None:
    """Exempt all objects from the last collection: a quarter of a short command's time."""
    gc.freeze()
