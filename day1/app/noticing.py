"""Runs the command that `DAY1_NOTIFY` names when something begins to wait for a person."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from day1.adapters.sent_notices import SentNotices
from day1.errors import StoreFull, StoreReadOnly
from day1.services.merges.waiting import Waiting, stamp_of, waiting
from day1.services.upkeep.chores import Chore, ChoreRunner, Clock, IsStopped

if TYPE_CHECKING:
    from day1.interfaces.open_store import OpenStore
    from day1.services.repository.repository import Repository
    from day1.services.upkeep.chores import Report

log = logging.getLogger(__name__)

_PAUSE_S: Final = 2.0
_LIMIT_S: Final = 10.0
"""How long the command may take; then it is killed, with all that it started."""
_IDS: Final = 100
"""Ids that one variable of its environment holds at most; the counts count all of them."""


def noticing(store: OpenStore, report: Report) -> Noticing | None:
    """What runs the command beside a server's calls; None if none is set, or nothing may be."""
    command = store.settings.notify
    if command is None or store.read_only:
        return None
    return Noticing(store.repo, SentNotices(store.folder), shlex.split(command), report)


@dataclass(frozen=True, slots=True)
class News:
    """What waits now, and the ids of those things that nobody was told of."""

    waits: Waiting
    new: Sequence[str]

    def environment(self) -> Mapping[str, str]:
        """Counts and ids for the command: no text of a memory, and no name that somebody chose."""
        lists = {
            "REVIEWS": [one.id for one in self.waits.reviews],
            "HELD": [one.id for one in self.waits.held],
            "NEW": self.new,
        }
        texts = {"": str(len(self.waits.every))}
        texts |= {f"_{name}": str(len(ids)) for name, ids in lists.items()}
        texts |= {f"_{name}_IDS": " ".join(ids[:_IDS]) for name, ids in lists.items()}
        return {f"DAY1_WAITING{name}": text for name, text in texts.items()}


class Noticing:
    """Looks for what waits, and tells of each thing once, whatever restarts meanwhile.

    A thing counts as told just before the command is run, so a command that fails is not repeated:
    `day1 status` tells as well.
    """

    def __init__(
        self,
        repo: Repository,
        notices: SentNotices,
        command: Sequence[str],
        report: Report = lambda _: None,
    ) -> None:
        """Look at a memory; `notices` has those that were sent, `command` is run as it is."""
        self._repo, self._notices, self._command = repo, notices, command
        self._stamp: Hashable = None
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: set[str] = set()
        self._guard = threading.Lock()
        chore = Chore("noticing", _PAUSE_S, self.run)
        # A look at a store that hangs is not waited for: it tells nothing then.
        self._runner = ChoreRunner([chore], Clock(), report, _PAUSE_S, 0.0, "noticing")

    def start(self) -> None:
        """Start a thread that looks."""
        self._runner.start()

    def stop(self) -> None:
        """End, and kill the command if it runs; what it left in the background goes on."""
        self._runner.stop()
        self._kill()

    def run(self, stopped: IsStopped) -> bool:
        """Look once, and run the command if something new waits."""
        try:
            news = self.look(stopped)
        except (StoreFull, StoreReadOnly) as exc:
            self._complain(f"nobody is told, since what was told cannot be kept: {exc.code}")
            return False
        if news is not None:
            self._tell(news, stopped)
        return False

    def look(self, stopped: IsStopped) -> News | None:
        """What waits and is not told yet; from now on it counts as told."""
        stamp = stamp_of(self._repo)
        if stamp is not None and stamp == self._stamp:
            return None
        with self._notices.claimed() as sent:
            if sent is None:  # another process tells
                return None
            waits = waiting(self._repo)
            ids = [one.id for one in waits.every]
            new = [one for one in ids if one not in sent]
            if stopped():  # nobody waits for this look any more, to tell
                return None
            if sent != set(ids):
                self._notices.write(ids)
        self._stamp = stamp
        return News(waits, new) if new else None

    def _tell(self, news: News, stopped: IsStopped) -> None:
        """Run the command once, with nothing to read and with nobody who reads what it prints."""
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **news.environment()},
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            self._complain(f"the command cannot be started: {type(exc).__name__}")
            return
        with self._guard:
            self._process = process
        try:
            code = None if stopped() else process.wait(_LIMIT_S)
            if code and not stopped():
                self._complain(f"the command ended with exit code {code}")
        except subprocess.TimeoutExpired:
            self._complain(f"the command took longer than {_LIMIT_S:g} s, and was killed")
        finally:
            self._kill()

    def _kill(self) -> None:
        """Kill the command with all that it started, if it runs."""
        with self._guard:
            process, self._process = self._process, None
            if process is not None and process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _complain(self, what: str) -> None:
        """Log a failure, each kind once."""
        if what not in self._complaints:
            self._complaints.add(what)
            log.warning("DAY1_NOTIFY: %s (said once)", what)
