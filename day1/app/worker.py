"""Run one worker of an HTTP server of several: its app, its background threads, its end.

What the memory of one process holds in a server without workers, workers share by files in a
folder: the requests of each token, failed sign-ins, the counts of `/metrics`, the lease of the
chores, and MCP's sessions (by sockets).
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from multiprocessing import connection, parent_process
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread
from uvicorn.config import STARTUP_FAILURE

from day1.adapters.file_lease import FileLease
from day1.adapters.flock import LockHandle, take
from day1.adapters.shared_counters import SharedCounters, SharedMoment
from day1.app import garbage
from day1.app.background import WorkerShare, background
from day1.app.http import open_to_serve
from day1.errors import Day1Error, StoreBusy, StoreUnavailable
from day1.interfaces.http.app import Served, build_app
from day1.interfaces.http.probes import share_counts
from day1.interfaces.http.relay import Peers
from day1.logs import to_stderr

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.applications import Starlette

    from day1.settings import Settings

log = logging.getLogger(__name__)

_LOCKS_OF_NUMBERS: Final[list[LockHandle]] = []
"""The lock of this worker's number, which is held until the process ends."""
BLOCKED: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Signals, often sent to all processes of a server, that do not end the process that forks its
workers: it must report how these end. A worker gets them as soon as it unblocks them."""
_TRY_AGAIN: Final = os.EX_TEMPFAIL
"""The exit code of a worker that cannot start now: the supervisor starts another one."""


def worker_app(settings: Settings, folder: Path) -> Starlette:
    """Make the app of a worker; the process exits if the store cannot be opened."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    to_stderr(settings.log_level)
    _end_with_parent(folder)
    try:
        return _worker_app(settings, folder)
    except (StoreBusy, StoreUnavailable) as exc:
        log.warning("a worker cannot start now (%s), and is started again", exc.code)
        sys.exit(_TRY_AGAIN)
    except Day1Error as exc:
        log.warning("a worker cannot start: %s", exc.code)
        sys.exit(STARTUP_FAILURE)
    except Exception:
        log.exception("a worker cannot start")
        sys.exit(STARTUP_FAILURE)


def _worker_app(settings: Settings, folder: Path) -> Starlette:
    number = _free_number(folder)
    share_counts(folder, number)
    store, authenticator = open_to_serve(settings, create=False)
    last_call = SharedMoment(SharedCounters(folder / "last-call"), "last call")
    threads = background(store, share=WorkerShare(FileLease(folder / "chores.lock"), last_call))
    served = Served(
        store,
        authenticator,
        threads.worker.called,
        counters=lambda name: SharedCounters(folder / name),
        peers=Peers(folder, number),
        counts=folder,
    )
    app = build_app(served)
    serving = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(starlette: Any) -> AsyncIterator[Any]:
        threads.start()
        garbage.look_often()
        try:
            async with serving(starlette) as state:
                yield state
        finally:
            await to_thread.run_sync(threads.stop)
            store.close()

    app.router.lifespan_context = lifespan
    return app


def _free_number(folder: Path) -> int:
    """Take the lowest number that no living worker has; it is free again when this process ends."""
    for number in count():
        lock_handle = take(folder / f"{number}.lock")
        if lock_handle is not None:
            _LOCKS_OF_NUMBERS.append(lock_handle)
            return number
    raise AssertionError("numbers have no end")


def _end_with_parent(folder: Path) -> None:
    """End this worker as by SIGTERM when its supervisor is killed: nobody else would end it.

    It also removes the folder that the workers share; open files of it stay usable.
    """
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        connection.wait([parent.sentinel])
        log.warning("the supervisor of this worker was killed, so the worker ends")
        shutil.rmtree(folder, ignore_errors=True)
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait, name="day1-parent", daemon=True).start()
