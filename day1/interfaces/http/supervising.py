"""Supervise the workers of a server by uvicorn's own supervisor: one address, several processes."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from typing import Any, Final, Literal

from uvicorn import _subprocess
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from day1.interfaces.http.serving import address_of, config_of
from day1.settings import HttpSettings

log = logging.getLogger(__name__)

StartMethod = Literal["forkserver", "spawn"]
"""How Python's `multiprocessing` starts a worker: forked from a process that has imported day1
already, or as a new process."""
_CLOSING_S: Final = 10.0
"""Seconds that a worker may take to close the store, after the time for running calls."""
_HUNG_S: Final = 60.0
"""Seconds without an answer after which a worker counts as hung: it may take long to start."""
_UNKNOWN: Final = 255
"""The exit code of a worker if the process was killed from which workers are forked."""


class Supervisor(Multiprocess):
    """uvicorn's supervisor: reports when all workers take calls, and ends them within a time.

    At SIGHUP it replaces the workers one after the other; at SIGTTIN and SIGTTOU there is one more
    or one less.
    """

    def __init__(
        self,
        make_app: Callable[[], Any],
        bound: socket.socket,
        settings: HttpSettings,
        ready: Callable[[str], None],
        method: StartMethod,
    ) -> None:
        """Prepare the workers.

        Args:
            make_app: makes the app of a worker; it is pickled. It exits with uvicorn's
                `STARTUP_FAILURE` if no worker can start, and with another code if a later one can.
            bound: the socket at which all workers listen.
            settings: the settings of the server.
            ready: gets the address once, when all workers take calls.
            method: how the workers start.
        """
        # uvicorn has no setting for it, and names the type of its own choice.
        _subprocess.spawn = get_context(method)  # type: ignore[assignment]  # see above
        super().__init__(config_of(make_app, settings, workers=settings.workers), [bound])
        self._ready: Callable[[str], None] | None = ready
        self._limit_s = settings.grace_s + _CLOSING_S
        self._asked_at: dict[Process, float] = {}
        """When each worker was asked whether it is well; without those that have answered."""
        self._started: set[Process] = set()
        """The workers that take calls."""
        self.is_failed = False
        """Whether a worker could not start, so that the server ended."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that ended or hang; report the address when all have started.

        It waits for no worker: so a signal is obeyed at once, also while a worker hangs or starts.
        """
        for index, process in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if process.process.is_alive() and not self._hangs(process):
                continue
            process.kill()
            process.join()
            # Then it may still run, and `kill` does nothing.
            if process.exitcode == _UNKNOWN and process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            self._asked_at.pop(process, None)
            self._started.discard(process)
            if process.exitcode == STARTUP_FAILURE:
                self.is_failed = True
                self.should_exit.set()
                return
            self.processes[index] = Process(self.config, self.sockets)
            self.processes[index].start()
            log.warning(
                "worker %s ended (%s), and worker %s takes its place",
                process.pid,
                process.exitcode,
                self.processes[index].pid,
            )
        if self._ready is not None and self._started.issuperset(self.processes):
            self._ready(address_of(self.sockets[0]))
            self._ready = None

    def _hangs(self, process: Process) -> bool:
        """Whether a worker has not answered for long; ask it if it has answered."""
        answers = process.parent_conn
        while answers.poll():
            if answers.recv():
                self._started.add(process)
            self._asked_at.pop(process, None)
        if process not in self._asked_at:
            answers.send(b"ping")
            self._asked_at[process] = time.monotonic()
        return time.monotonic() - self._asked_at[process] > _HUNG_S

    def join_all(self) -> None:
        """Wait until all workers have ended; kill those that take too long."""
        deadline = time.monotonic() + self._limit_s
        for process in self.processes:
            process.process.join(max(0.0, deadline - time.monotonic()))
            if process.exitcode is None:
                log.warning(
                    "worker %s did not end in %g s, and is killed", process.pid, self._limit_s
                )
                process.kill()
                process.join()
