"""Background jobs of a server: they run until cancelled and restart after a failure."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from day1.logs import note_failure

log = logging.getLogger(__name__)

Job = Callable[[], Awaitable[None]]
"""A background job: it returns only when it is finished for good."""
_PAUSE_S: Final = 1.0
"""Seconds between a failure and the next start."""


async def run_forever(what: str, job: Job) -> None:
    """Run a job; log an exception, and start the job again after a pause."""
    while True:
        try:
            await job()
        except Exception as exc:  # noqa: BLE001 - no failure of a background job may end the server
            note_failure(log, what, exc)
            await anyio.sleep(_PAUSE_S)
        else:
            return
