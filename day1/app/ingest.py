"""Take in what hooks have heard: at each command, and between the calls of a server."""

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
"""How long a command does so before its own work; the rest waits for the next one."""


def spool_ingester(store: OpenStore) -> Callable[[Callable[[], bool]], int]:
    """What takes in the spool of an open store, until what it is given says that it is enough."""
    spool = FolderSpool(store.folder)

    def take(enough: Callable[[], bool]) -> int:
        if store.read_only or not spool.waiting():
            return 0
        from day1.services.ingest.ingest_events import ingest_events

        return ingest_events(store.repo, spool, secrets=store.settings.write.secrets, enough=enough)

    return take


def ingest_before_command(store: OpenStore) -> None:
    """Take in what waits, for a moment; a failure is the command's own to meet."""
    until = time.monotonic() + _COMMAND_S
    try:
        spool_ingester(store)(lambda: time.monotonic() > until)
    except Exception as exc:  # noqa: BLE001 - what waits goes on waiting, whatever it is
        note_failure(log, "what hooks have heard", exc)
