"""Ingest the events that hooks spooled: before each command, and between a server's calls."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from day1.adapters.spool import FolderSpool
from day1.logs import note_failure

if TYPE_CHECKING:
    from day1.interfaces.open_store import OpenStore

log = logging.getLogger(__name__)

_COMMAND_S: Final = 1.0
"""Seconds that a command ingests before its own work; later events wait for the next command."""


def spool_ingester(store: OpenStore) -> Callable[[Callable[[], bool]], int]:
    """Make the function that ingests a store's spool until its argument returns True."""
    spool = FolderSpool(store.folder)

    def ingest(enough: Callable[[], bool]) -> int:
        if store.read_only or not spool.waiting():
            return 0
        from day1.services.ingest.ingest_events import ingest_events

        return ingest_events(store.repo, spool, secrets=store.settings.write.secrets, enough=enough)

    return ingest


def ingest_before_command(store: OpenStore) -> None:
    """Ingest for at most a second; a failure is only logged, and the events wait on."""
    deadline = time.monotonic() + _COMMAND_S
    try:
        spool_ingester(store)(lambda: time.monotonic() > deadline)
    except Exception as exc:  # noqa: BLE001 - a command works without these events
        note_failure(log, "what hooks have heard", exc)
