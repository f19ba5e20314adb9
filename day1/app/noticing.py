"""Runs the command that `DAY1_NOTIFY` names when something begins to wait for a person."""

from __future__ import annotations

import logging
import os
import shlex
import signal
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from day1.adapters.sent_notices import SentNotices
from day1.errors import StoreFull, StoreReadOnly
from day1.services.merges.waiting import Waiting, stamp_of, waiting

if TYPE_CHECKING:
    from anyio.abc import Process

    from day1.interfaces.background import Job
    from day1.interfaces.open_store import OpenStore
    from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_PAUSE_S: Final = 2.0
_LIMIT_S: Final = 10.0
"""How long the command may take; then it is killed, with all that it started."""
_IDS: Final = 100
"""Ids that one variable of its environment holds at most; the counts count all of them."""


def noticing(store: OpenStore) -> Noticing | None:
    """What runs the command beside a server's calls; None if none is set, or nothing may be."""
    command = store.settings.notify
    if command is None or store.read_only:
        return None
    return Noticing(store.repo, SentNotices(store.folder), shlex.split(command))


def job_of(notices: Noticing | None) -> dict[str, Job]:
    """What a server runs beside its calls, by name."""
    return {} if notices is None else {"noticing": notices.run}


@dataclass(frozen=True, slots=True)
class _Found:
    """What waits now, and the ids of it that nobody was told of."""

    waits: Waiting
    new: Sequence[str]

    def environment(self) -> Mapping[str, str]:
        """Counts and ids for the command: no text of a memory, and no name that somebody chose."""
        lists = {
            "REVIEWS": [one.id for one in self.waits.reviews],
            "HELD": [one.id for one in self.waits.held],
            "NEW": self.new,
        }
        said = {"": str(len(self.waits.every))}
        said |= {f"_{name}": str(len(ids)) for name, ids in lists.items()}
        said |= {f"_{name}_IDS": " ".join(ids[:_IDS]) for name, ids in lists.items()}
        return {f"DAY1_WAITING{name}": text for name, text in said.items()}


class Noticing:
    """Looks for what waits, and tells of each thing once, whatever restarts meanwhile.

    A thing counts as told just before the command is run, so a command that fails is not repeated:
    `day1 status` tells as well.
    """

    def __init__(self, repo: Repository, told: SentNotices, command: Sequence[str]) -> None:
        """Look at a memory; `told` knows what was told before, `command` is run as it is."""
        self._repo, self._told, self._command = repo, told, command
        self._stamp: Hashable = None
        self._process: Process | None = None
        self._said: set[str] = set()
        self._leaving = False

    async def run(self) -> None:
        """Look until cancelled; a command that runs then is killed."""
        try:
            await self._look_on()
        finally:
            self._leaving = True

    async def _look_on(self) -> None:
        while True:
            await anyio.sleep(_PAUSE_S)
            try:
                found = await to_thread.run_sync(self._look, abandon_on_cancel=True)
            except (StoreFull, StoreReadOnly) as exc:
                self._complain(f"nobody is told, since what was told cannot be kept: {exc.code}")
                continue
            if found is not None:
                await self._tell(found)

    def _look(self) -> _Found | None:
        """What waits and is not told yet; from now on it counts as told."""
        stamp = stamp_of(self._repo)
        if stamp is not None and stamp == self._stamp:
            return None
        with self._told.claimed() as told:
            if told is None:  # another process tells
                return None
            waits = waiting(self._repo)
            ids = [one.id for one in waits.every]
            new = [one for one in ids if one not in told]
            if self._leaving:  # nobody waits for this look any more, to tell
                return None
            if told != set(ids):
                self._told.write(ids)
        self._stamp = stamp
        return _Found(waits, new) if new else None

    async def _tell(self, found: _Found) -> None:
        """Run the command once, with nothing to read and with nobody who reads what it prints."""
        try:
            self._process = process = await anyio.open_process(
                self._command,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                env={**os.environ, **found.environment()},
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            self._complain(f"the command cannot be started: {type(exc).__name__}")
            return
        try:
            with anyio.fail_after(_LIMIT_S):
                code = await process.wait()
            if code:
                self._complain(f"the command ended with exit code {code}")
        except TimeoutError:
            self._complain(f"the command took longer than {_LIMIT_S:g} s, and was killed")
        finally:
            self.stop()

    def stop(self) -> None:
        """Kill the command if it runs; what it left in the background when it ended goes on."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _complain(self, what: str) -> None:
        """Log a failure, each kind once."""
        if what not in self._said:
            self._said.add(what)
            log.warning("DAY1_NOTIFY: %s (said once)", what)
