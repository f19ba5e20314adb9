"""Functions that callers hand in, where several layers take the same one."""

from collections.abc import Callable
from typing import Final

Clock = Callable[[], int]
"""A function that returns the time: microseconds since 1970 UTC."""
KillPoint = Callable[[str], object]
"""A function called with the name of a point in the code at which a test may kill the process."""
no_kill_point: Final[KillPoint] = str
"""A `KillPoint` that does nothing: only tests kill the process."""
ReportProgress = Callable[[int, int | None], None]
"""A function called with how many items are done, and with the total if it is known."""
