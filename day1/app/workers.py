"""Run the HTTP server as several worker processes: `day1 serve --workers N`.

The supervisor opens the store once, for the errors that one process would report, and holds the
lock of the one server. Each worker opens the store for itself.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Final

from day1.app.http import open_to_serve, sole_server
from day1.app.starting_worker import WorkerStart
from day1.app.worker import BLOCKED
from day1.errors import Refused
from day1.interfaces.http.serving import address_of, listen
from day1.interfaces.http.supervising import StartMethod, Supervisor
from day1.logs import to_stderr

if TYPE_CHECKING:
    from day1.settings import Settings

log = logging.getLogger(__name__)

CAN_FORK: Final = sys.version_info >= (3, 11, 1)
"""Whether Python's fork server obeys only this user: until 3.11.0 it obeyed all of the machine."""
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of this user's own is made there
"""Where files are in memory, so that no full disk stops the workers."""


def run(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve a store by several workers until a signal; `ready` is called with the address.

    Raises:
        Day1Error: as `day1.app.http.run`; also if a worker cannot be started later.
    """
    to_stderr(settings.log_level)
    with ExitStack() as held:
        socket = held.enter_context(listen(settings.http))
        method = start_method()  # the fork server imports day1 while the store is opened here
        store, _ = open_to_serve(settings, create=True)
        try:
            held.enter_context(sole_server(store, address_of(socket)))
        finally:
            store.close()
        make_app = WorkerStart(settings, held.enter_context(_shared_folder()))
        supervisor = Supervisor(make_app, socket, settings.http, ready, method)
        supervisor.run()
        if supervisor.is_failed:
            store, _ = open_to_serve(settings, create=False)  # raises what the worker met
            store.close()
            raise Refused("A worker could not start, so the server ended: its log says why.")


def start_method() -> StartMethod:
    """Start the process from which workers are forked; `spawn` where that is not possible."""
    if CAN_FORK:
        forkserver.set_forkserver_preload(["day1.app.worker"])
        try:
            resource_tracker.ensure_running()  # now, since it unblocks signals
            former_signals = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
            try:
                forkserver.ensure_running()  # the process inherits what is blocked
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, former_signals)
        except OSError as exc:  # such as a temporary folder that is full, or has a long name
            log.warning("workers start by themselves, which takes longer: %s", exc.strerror)
        else:
            return "forkserver"
    return "spawn"


@contextmanager
def _shared_folder() -> Iterator[Path]:
    """Make a folder for what workers share; it is removed at the end."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="day1-workers-", dir=place, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
