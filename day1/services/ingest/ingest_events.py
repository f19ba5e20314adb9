"""Ingest the events of hooks: each event once, those of a session in their order.

The file of a session goes away only after its rows are durable. Whatever is killed in between, or
runs at the same time, the ids of the rows follow from the events (`model/files/client_event.py`).
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from day1.errors import Day1Error, StoreDamaged, StoreReadOnly, StoreUnavailable
from day1.model.files.client_event import ClientEvent, read_event
from day1.model.rows.validation import looks_secret
from day1.ports.spool import Spool
from day1.services.ingest.session_branches import branch_of, fork_session
from day1.services.ingest.session_rows import add_handoff, add_message, end_session, message_of
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_LATER: Final = (StoreUnavailable, StoreReadOnly, StoreDamaged)
"""Errors of the store, not of the event: the event waits."""


def ingest_events(
    repo: Repository, spool: Spool, *, secrets: str, enough: Callable[[], bool]
) -> int:
    """Ingest the events that wait; return how many lines were read.

    Args:
        repo: the memory that they become rows of.
        spool: the files in which they wait.
        secrets: the setting; a text that looks like a secret is kept only if it is `ignore`.
        enough: ends the work between two events when it is true; the others wait.

    Raises:
        StoreUnavailable, StoreReadOnly, StoreDamaged: the store takes nothing now; the events wait.
    """
    ingester, count = _Ingester(repo, spool, secrets), 0
    with spool.alone() as alone, ingester.logging_problems():
        for name in spool.waiting() if alone else ():
            lines = []
            for line in spool.read(name):
                if enough():
                    break
                ingester.ingest(line)
                lines.append(line)
            repo.point("taking.after_rows")
            if lines:
                spool.drop(name, sum(len(line) + 1 for line in lines))
            repo.point("taking.after_drop")
            count += len(lines)
    return count


@dataclass(frozen=True, slots=True)
class _Ingester:
    repo: Repository
    spool: Spool
    secrets: str
    problems: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def logging_problems(self) -> Iterator[None]:
        """Log why lines were not kept when the block ends, each reason once."""
        try:
            yield
        finally:
            for problem, count in self.problems.items():
                log.warning("lines of hooks, %s (%s)", problem, f"{count:,}")

    def ingest(self, line: bytes) -> None:
        """Store what a line says, or put the line aside."""
        try:
            event = read_event(line)
        except (ValueError, RecursionError):
            self._put_aside(line, "it is no event")
            return
        try:
            self._store(event)
        except _LATER:
            raise
        except Day1Error as exc:
            self._put_aside(line, exc.code)

    def _put_aside(self, line: bytes, why: str) -> None:
        self.spool.put_aside(line)
        self.repo.point("taking.after_aside")
        self.problems[f"put aside: {why}"] += 1

    def _store(self, event: ClientEvent) -> None:
        message = message_of(event)
        if message is not None and self._may_keep(event, message.text):
            add_message(self.repo, branch_of(self.repo, event), message)
            self.repo.point("taking.after_unit")
        elif event.event == "session-start" and event.source == "fork":
            fork_session(self.repo, event)
        elif event.event == "compacted" and event.text and self._may_keep(event, event.text):
            add_handoff(self.repo, branch_of(self.repo, event), event, event.text)
        elif event.event == "session-end":
            end_session(self.repo, branch_of(self.repo, event), event)

    def _may_keep(self, event: ClientEvent, text: str) -> bool:
        """Whether a text is free of secrets, which nobody has checked before."""
        secret = None if self.secrets == "ignore" else looks_secret(text)
        if secret is not None:
            self.problems[f"not kept of {event.event}: it may hold {secret}"] += 1
        return secret is None
