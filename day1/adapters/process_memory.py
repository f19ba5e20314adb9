"""Giving memory that this process has freed back to the system."""

import ctypes


def give_back() -> bool:
    """Give freed memory back; return whether the C library can. It takes some milliseconds.

    The engine frees pages among those that it still uses, and the library keeps them all for later
    needs: after an hour they were more than half of a server's memory. Only glibc can do it.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True
