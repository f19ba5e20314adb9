"""Log to stderr: stdout is the MCP wire."""

import logging
import sys
import traceback

from day1.errors import Day1Error
from day1.model.values.showing import UNSEEN


class _Visible(logging.Formatter):
    """Escapes characters that would control a terminal, since stderr may be one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as text."""
        return UNSEEN.sub(
            lambda letter: letter[0].encode("unicode_escape").decode(), super().format(record)
        )


def to_stderr(level: str) -> None:
    """Send every log line of the process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Visible("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def note_failure(log: logging.Logger, what: str, exc: BaseException) -> None:
    """Log the failure of background work: the error's code, or the place of an unexpected one.

    An error's message may quote a memory, so only its code or class is logged.
    """
    if isinstance(exc, Day1Error):
        log.info("%s waits: %s", what, exc.code)
        return
    traceback_text = "".join(traceback.format_tb(exc.__traceback__))
    log.error("%s failed with %s:\n%s", what, type(exc).__name__, traceback_text)
