"""Logging to stderr: stdout is the MCP wire."""

import logging
import sys


def to_stderr(level: str) -> None:
    """Send every log line of the process to stderr."""
    logging.basicConfig(
        level=level,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
