"""Functions that callers hand in, where several layers take the same one."""

from collections.abc import Callable
from typing import Final

Clock = Callable[[], int]
"""Tells the time: microseconds since 1970 UTC."""
KillPoint = Callable[[str], object]
"""Called with the name of a point in the code, where a test may kill the process."""
no_kill_point: Final[KillPoint] = str
"""Does nothing: points are for tests."""
ReportProgress = Callable[[int, int | None], None]
"""Called with how many items are done, and with their total if that is known."""
