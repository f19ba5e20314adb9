"""Runs background work of a server, and starts it again when it fails."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from day1.logs import note_failure

log = logging.getLogger(__name__)

Job = Callable[[], Awaitable[None]]
_PAUSE_S: Final = 1.0


async def run_forever(what: str, work: Job) -> None:
    """Do some work; whatever ends it before its time is logged, and it begins again."""
    while True:
        try:
            await work()
        except Exception as exc:  # noqa: BLE001 - no failure beside the calls may end the server
            note_failure(log, what, exc)
            await anyio.sleep(_PAUSE_S)
        else:
            return
