"""Exit codes; `day1 --help` prints what they mean."""

from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
HELD: Final = 3
WAITS: Final = 4
INTERRUPTED: Final = 130
READER_LEFT: Final = 141
"""The code that a shell reports for a process that SIGPIPE ended."""
