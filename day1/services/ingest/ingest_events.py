"""Ingesting the events of hooks: each event once, the events of a session in order.

The file of a session is removed only after its rows are durable. The ids of rows follow from the
events (`model/files/client_event.py`), so a process that was killed, or a second one, adds nothing
twice.
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

_RETRIED: Final = (StoreUnavailable, StoreReadOnly, StoreDamaged)
"""Errors of the store, not of the event: the event is ingested later."""


def ingest_events(
    repo: Repository, spool: Spool, *, secrets: str, enough: Callable[[], bool]
) -> int:
    """Ingest the waiting events; return the number of lines read.

    Args:
        repo: the store to write to.
        spool: the files in which the events wait.
        secrets: the setting; texts that look like secrets are stored only if it is `ignore`.
        enough: called between events; when it returns true, the other events stay in their files.

    Raises:
        StoreUnavailable, StoreReadOnly, StoreDamaged: nothing can be written; the events wait.
    """
    ingester, line_count = _Ingester(repo, spool, secrets), 0
    with spool.alone() as has_lock, ingester.logging_problems():
        for file_name in spool.waiting() if has_lock else ():
            ingested_lines = []
            for line in spool.read(file_name):
                if enough():
                    break
                ingester.ingest(line)
                ingested_lines.append(line)
            repo.point("taking.after_rows")
            if ingested_lines:
                spool.drop(file_name, sum(len(line) + 1 for line in ingested_lines))
            repo.point("taking.after_drop")
            line_count += len(ingested_lines)
    return line_count


@dataclass(frozen=True, slots=True)
class _Ingester:
    repo: Repository
    spool: Spool
    secrets: str
    problems: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def logging_problems(self) -> Iterator[None]:
        """Log at the end of the block why lines were not stored: each reason with its count."""
        try:
            yield
        finally:
            for problem, count in self.problems.items():
                log.warning("lines of hooks not stored: %s (%s)", problem, f"{count:,}")

    def ingest(self, line: bytes) -> None:
        """Store the event of a line, or put the line aside if it cannot be stored."""
        try:
            event = read_event(line)
        except (ValueError, RecursionError):
            self._put_aside(line, "not an event")
            return
        try:
            self._store(event)
        except _RETRIED:
            raise
        except Day1Error as exc:
            self._put_aside(line, exc.code)

    def _put_aside(self, line: bytes, why: str) -> None:
        self.spool.put_aside(line)
        self.repo.point("taking.after_aside")
        self.problems[f"{why}, put aside"] += 1

    def _store(self, event: ClientEvent) -> None:
        session_message = message_of(event)
        if session_message is not None and self._may_keep(event, session_message.text):
            add_message(self.repo, branch_of(self.repo, event), session_message)
            self.repo.point("taking.after_unit")
        elif event.event == "session-start" and event.source == "fork":
            fork_session(self.repo, event)
        elif event.event == "compacted" and event.text and self._may_keep(event, event.text):
            add_handoff(self.repo, branch_of(self.repo, event), event, event.text)
        elif event.event == "session-end":
            end_session(self.repo, branch_of(self.repo, event), event)

    def _may_keep(self, event: ClientEvent, text: str) -> bool:
        """Whether a text may be stored: secrets are allowed, or the text does not look secret."""
        secret_kind = None if self.secrets == "ignore" else looks_secret(text)
        if secret_kind is not None:
            self.problems[f"the text of {event.event} may hold {secret_kind}"] += 1
        return secret_kind is None
