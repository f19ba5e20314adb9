"""Take in what hooks have heard: each event once, those of a session in their order.

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
from day1.services.ingest.session_rows import add_message, close, hand_over, said_in
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_LATER: Final = (StoreUnavailable, StoreReadOnly, StoreDamaged)
"""What says nothing of the event: it waits."""


def ingest_events(
    repo: Repository, spool: Spool, *, secrets: str, enough: Callable[[], bool]
) -> int:
    """Take in the events that wait; answers how many lines were read.

    Args:
        repo: where they are kept.
        spool: where they wait.
        secrets: the setting; what looks like a secret is kept only where it says `ignore`.
        enough: ends the work between two events; what is left waits for the next time.

    Raises:
        StoreUnavailable, StoreReadOnly, StoreDamaged: nothing can be kept now; it waits.
    """
    taker, done = _Ingester(repo, spool, secrets), 0
    with spool.alone() as alone, taker.telling():
        for name in spool.waiting() if alone else ():
            lines = []
            for line in spool.read(name):
                if enough():
                    break
                taker.take(line)
                lines.append(line)
            repo.point("taking.after_rows")
            if lines:
                spool.drop(name, sum(len(line) + 1 for line in lines))
            repo.point("taking.after_drop")
            done += len(lines)
    return done


@dataclass(frozen=True, slots=True)
class _Ingester:
    repo: Repository
    spool: Spool
    secrets: str
    troubles: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Log at the end of the block what became of lines that were not kept, each kind once."""
        try:
            yield
        finally:
            for trouble, times in self.troubles.items():
                log.warning("lines of hooks, %s (%s)", trouble, f"{times:,}")

    def take(self, line: bytes) -> None:
        """Make of a line what it says, or put it aside."""
        try:
            event = read_event(line)
        except (ValueError, RecursionError):
            self._put_aside(line, "it is no event")
            return
        try:
            self._take(event)
        except _LATER:
            raise
        except Day1Error as exc:
            self._put_aside(line, exc.code)

    def _put_aside(self, line: bytes, why: str) -> None:
        self.spool.put_aside(line)
        self.repo.point("taking.after_aside")
        self.troubles[f"put aside: {why}"] += 1

    def _take(self, event: ClientEvent) -> None:
        said = said_in(event)
        if said is not None and self._may_keep(event, said.text):
            add_message(self.repo, branch_of(self.repo, event), said)
            self.repo.point("taking.after_unit")
        elif event.event == "session-start" and event.source == "fork":
            fork_session(self.repo, event)
        elif event.event == "compacted" and event.text and self._may_keep(event, event.text):
            hand_over(self.repo, branch_of(self.repo, event), event, event.text)
        elif event.event == "session-end":
            close(self.repo, branch_of(self.repo, event), event)

    def _may_keep(self, event: ClientEvent, text: str) -> bool:
        """Whether a text is kept: nobody looked at it before it came here."""
        found = None if self.secrets == "ignore" else looks_secret(text)
        if found is not None:
            self.troubles[f"not kept of {event.event}: it may hold {found}"] += 1
        return found is None
