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
"""Seconds between two checks for things that wait for a person."""
_LIMIT_S: Final = 10.0
"""Seconds that the command may take; then it is killed with every process that it started."""
_IDS: Final = 100
"""Maximum number of ids in one variable of the command's environment; counts are complete."""


def noticing(store: OpenStore, report: Report) -> Noticing | None:
    """Make the runner of `DAY1_NOTIFY`; None if that is not set or the store is read-only."""
    command = store.settings.notify
    if command is None or store.read_only:
        return None
    return Noticing(store.repo, SentNotices(store.folder), shlex.split(command), report)


@dataclass(frozen=True, slots=True)
class News:
    """The things that wait for a person now, and the ids of those without a sent notice."""

    waits: Waiting
    new: Sequence[str]

    def environment(self) -> Mapping[str, str]:
        """Return the command's variables: counts and ids, no memory text and no chosen name."""
        ids_by_name = {
            "REVIEWS": [thing.id for thing in self.waits.reviews],
            "HELD": [thing.id for thing in self.waits.held],
            "NEW": self.new,
        }
        value_by_suffix = {"": str(len(self.waits.every))}
        value_by_suffix |= {
            f"_{list_name}": str(len(ids)) for list_name, ids in ids_by_name.items()
        }
        value_by_suffix |= {
            f"_{list_name}_IDS": " ".join(ids[:_IDS]) for list_name, ids in ids_by_name.items()
        }
        return {f"DAY1_WAITING{list_name}": value for list_name, value in value_by_suffix.items()}


class Noticing:
    """Runs the command once for each thing that begins to wait, also across restarts.

    A thing's notice counts as sent just before the command is run, so a failing command is not
    repeated: `day1 status` shows the thing as well.
    """

    def __init__(
        self,
        repo: Repository,
        notices: SentNotices,
        command: Sequence[str],
        report: Report = lambda _: None,
    ) -> None:
        """Watch a memory; `notices` are the sent ones, `command` is a program and its arguments."""
        self._repo, self._notices, self._command = repo, notices, command
        self._stamp: Hashable = None
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: set[str] = set()
        self._guard = threading.Lock()
        chore = Chore("noticing", _PAUSE_S, self.run)
        # Stopping does not wait for a check of a store that hangs: that check runs no command.
        self._runner = ChoreRunner([chore], Clock(), report, _PAUSE_S, 0.0, "noticing")

    def start(self) -> None:
        """Start the thread that checks every two seconds."""
        self._runner.start()

    def stop(self) -> None:
        """Stop the thread and kill a running command; its background processes go on."""
        self._runner.stop()
        self._kill()

    def run(self, stopped: IsStopped) -> bool:
        """Check once, and run the command if something new waits for a person."""
        try:
            news = self.look(stopped)
        except (StoreFull, StoreReadOnly) as exc:
            self._complain(f"no notice is sent, since it cannot be recorded as sent: {exc.code}")
            return False
        if news is not None:
            self._tell(news, stopped)
        return False

    def look(self, stopped: IsStopped) -> News | None:
        """Return news if a thing waits without a notice; from now on its notice counts as sent."""
        stamp = stamp_of(self._repo)
        if stamp is not None and stamp == self._stamp:
            return None
        with self._notices.claimed() as sent_ids:
            if sent_ids is None:  # another process sends notices
                return None
            waiting_things = waiting(self._repo)
            ids = [thing.id for thing in waiting_things.every]
            new_ids = [thing_id for thing_id in ids if thing_id not in sent_ids]
            if stopped():  # the server ends: the next one sends these notices
                return None
            if sent_ids != set(ids):
                self._notices.write(ids)
        self._stamp = stamp
        return News(waiting_things, new_ids) if new_ids else None

    def _tell(self, news: News, stopped: IsStopped) -> None:
        """Run the command once, without input; its output is discarded."""
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
            exit_code = None if stopped() else process.wait(_LIMIT_S)
            if exit_code and not stopped():
                self._complain(f"the command ended with exit code {exit_code}")
        except subprocess.TimeoutExpired:
            self._complain(f"the command took longer than {_LIMIT_S:g} s, and was killed")
        finally:
            self._kill()

    def _kill(self) -> None:
        """Kill the command with its process group, if it runs."""
        with self._guard:
            process, self._process = self._process, None
            if process is not None and process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _complain(self, what: str) -> None:
        """Log a failure; equal texts are logged once."""
        if what not in self._complaints:
            self._complaints.add(what)
            log.warning("DAY1_NOTIFY: %s (said once)", what)
