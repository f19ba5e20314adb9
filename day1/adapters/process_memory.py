"""The memory of a process that serves for long: the C library keeps more of it than it needs.

Only glibc does, and only there is anything done.
"""

import ctypes
import os
from typing import Final

_ARENA_MAX: Final = -8
"""The number of the option in glibc's `malloc.h`."""
_ARENAS: Final = 2


def few_arenas() -> bool:
    """Let all threads take memory from two arenas, unless the environment says how many.

    Otherwise nearly each thread has an arena of its own, and no other uses again what it freed
    there. Returns whether the library can do it.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None or "MALLOC_ARENA_MAX" in os.environ:
        return False
    return bool(set_option(_ARENA_MAX, _ARENAS))


def give_back() -> bool:
    """Give freed memory back to the system; return whether the library can.

    The engine frees pages among those that it still uses, so the library keeps them all for later
    needs. It takes some milliseconds.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True
