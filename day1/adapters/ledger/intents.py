"""Opening intents, and recovering those of dead processes, under locks by name.

An intent locks the names of the branches that it touches; an intent without names locks the whole
store. Its row in the ledger has the names too. Three rules hold:

- Open intents touch no common name: whoever opens one holds the locks of its names, and first
  recovers each open intent that touches one of them.
- Who holds all locks of an open intent, and did not open it, knows that its process is gone.
- Who wants the whole store takes its lock, then reads the open intents, and waits for them by
  taking their locks. Who opens an intent adds its row, then looks at that lock, and takes the row
  back if somebody holds it. So one of the two sees the other.
"""

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final, Protocol, TypeVar

from typing_extensions import override

from day1.adapters.ledger.lock_and_watch import WHOLE, Locks
from day1.errors import StoreBusy, StoreUnavailable
from day1.model.records.intent import Intent, IntentKind
from day1.model.values.ids import new_id
from day1.model.values.instant import show
from day1.ports.ledger import Ledger

P = TypeVar("P")
_LOOK_AGAIN_S: Final = 0.02
"""Seconds between two looks whether the lock of the whole store is free."""


class IntentRows(Protocol):
    """The rows of intents in a ledger."""

    def transaction(self, *, own: bool) -> AbstractContextManager[None]:
        """Make all statements in the block one transaction; `own` as in `Ledger.ending`."""

    def open_intents(self) -> list[Intent]:
        """List the intents that were not ended."""

    def add_intent(self, intent: Intent) -> None:
        """Write the row of a new intent."""

    def end_intent(self, intent_id: str) -> bool:
        """Delete the row of an intent; returns whether it was there."""

    def finish_intent(self, intent: Intent) -> None:
        """Finish or withdraw the intent of a dead process, and delete its row."""


class _Mine(threading.local):
    """The intent that this thread has open."""

    intent: Intent | None = None
    ended: bool = False


class Intents:
    """Opens, ends and recovers the intents of a ledger."""

    def __init__(self, rows: IntentRows, locks: Locks) -> None:
        """Set the ledger's rows of intents and its locks; take no lock yet."""
        self._rows = rows
        self._locks = locks
        self._mine = _Mine()
        self._unfinished: set[str] = set()
        """Ids of this process's intents that failed and could not be withdrawn, as on a full disk.
        """

    @contextmanager
    def opened(self, intent: Intent) -> Iterator[None]:
        """Keep an intent open for the block, and end it after it; recover it if the block raises.

        Raises:
            StoreBusy: another process held one of its locks for longer than the limit.
            StoreUnavailable: its locks were lost, and another process recovered it.
        """
        if self._mine.intent is not None:  # its row would be taken for one of a dead process
            raise RuntimeError(
                f"The intent {intent.op} cannot be opened inside of {self._mine.intent.op}: "
                "end that intent first."
            )
        if self._unfinished:
            self.recover_orphans()
            self._unfinished.clear()
        with self._claimed(intent.names, intent) if intent.names else self.exclusive():
            if not intent.names:
                self._rows.add_intent(intent)
            self._mine.intent, self._mine.ended = intent, False
            try:
                yield
                if not self._mine.ended:
                    self.end()
            except Exception:
                if not self._mine.ended:
                    self._unfinished.add(intent.id)
                    with suppress(StoreUnavailable):  # the first error says more
                        self._rows.finish_intent(intent)
                        self._unfinished.discard(intent.id)
                raise
            finally:
                self._mine.intent = None

    def end(self) -> None:
        """Delete the row of this thread's open intent, as the last write or in its transaction.

        Raises:
            StoreUnavailable: another process has deleted it, since this one lost its locks.
        """
        intent = self._mine.intent
        if intent is not None and not self._rows.end_intent(intent.id):
            self._mine.ended = True
            raise StoreUnavailable(
                "Another day1 process took this operation for one of a dead process, and finished "
                "or undid it: check whether it was done, then try again."
            )

    @contextmanager
    def ending(self, *, own: bool) -> Iterator[None]:
        """Make the writes of the block the last ones of this thread's intent: one transaction."""
        with self._rows.transaction(own=own):
            yield
            self.end()
        self._mine.ended = True

    @contextmanager
    def exclusive(self, names: Collection[str] = WHOLE) -> Iterator[None]:
        """Let no intent on any of these names be open during the block; no names: no intent at all.

        Raises:
            StoreBusy: others held one of the locks for longer than the limit.
        """
        if names:
            with self._claimed(names):
                yield
            return
        deadline = time.monotonic() + self._locks.limit_s
        with self._taken(WHOLE, deadline):
            for open_intent in self._rows.open_intents():
                with ExitStack() as intent_locks:
                    if open_intent.names:
                        intent_locks.enter_context(self._taken(open_intent.names, deadline))
                    self._recover_if_open(open_intent)
            yield

    def recover_orphans(self) -> int:
        """Recover the intents whose locks nobody holds; returns how many."""
        recovered_count = 0
        for intent in self._rows.open_intents():
            with self._locks.held_if_free(intent.names) as got_locks:
                recovered_count += got_locks and self._recover_if_open(intent)
        return recovered_count

    def _recover_if_open(self, intent: Intent) -> bool:
        """Recover an intent if it is still open, under its locks; returns whether it was."""
        is_open = any(open_intent.id == intent.id for open_intent in self._rows.open_intents())
        if is_open:
            self._rows.finish_intent(intent)
        return is_open

    @contextmanager
    def _claimed(self, names: Collection[str], intent: Intent | None = None) -> Iterator[None]:
        """Hold the locks of names that no other open intent touches; `intent` is open meanwhile."""
        deadline = time.monotonic() + self._locks.limit_s
        locked_names = frozenset(names)
        while True:
            with self._taken(locked_names, deadline):
                conflicting_intents = self._added(names, intent)
                if conflicting_intents == []:
                    yield
                    return
                # An orphan is recovered under all of its locks, which may be more than these.
                partly_locked_intents = [
                    open_intent
                    for open_intent in conflicting_intents or ()
                    if not locked_names.issuperset(open_intent.names)
                ]
                for open_intent in conflicting_intents or ():
                    if open_intent.names and open_intent not in partly_locked_intents:
                        self._rows.finish_intent(open_intent)
            locked_names = frozenset(names).union(
                *(open_intent.names for open_intent in partly_locked_intents)
            )
            if conflicting_intents is None or any(
                not open_intent.names for open_intent in conflicting_intents
            ):
                self._wait_for_whole(names, deadline)

    def _added(self, names: Collection[str], intent: Intent | None) -> list[Intent] | None:
        """Add an intent unless open ones touch its names, which are returned.

        Returns:
            The open intents that touch the names; None if somebody holds the whole store.
        """
        open_intents = self._rows.open_intents()
        conflicting_intents = [
            open_intent
            for open_intent in open_intents
            if not open_intent.names or not set(names).isdisjoint(open_intent.names)
        ]
        if conflicting_intents:
            return conflicting_intents
        if intent is not None:
            self._rows.add_intent(intent)
        if self._locks.whole_is_free():
            return []
        if intent is not None:
            self._rows.end_intent(intent.id)
        return None

    def _wait_for_whole(self, names: Collection[str], deadline: float) -> None:
        """Wait a moment for the holder of the whole store; if it is dead, recover its intent."""
        self.recover_orphans()
        if time.monotonic() >= deadline:
            raise self._busy(names)
        time.sleep(_LOOK_AGAIN_S)

    @contextmanager
    def _taken(self, names: Collection[str], deadline: float) -> Iterator[None]:
        with ExitStack() as held_locks:
            try:
                seconds_left = max(0.0, deadline - time.monotonic())
                held_locks.enter_context(self._locks.held(names, seconds_left))
            except StoreBusy as exc:
                raise self._busy(names) from exc
            yield

    def _busy(self, names: Collection[str]) -> StoreBusy:
        """Build the error for a held lock; it names the open intent that holds the lock, if any."""
        limit_s = self._locks.limit_s
        message = f"Another writer has held this store for {limit_s:g} s; try again."
        for open_intent in self._rows.open_intents():
            if not names or not open_intent.names or not set(names).isdisjoint(open_intent.names):
                message = (
                    f"A {open_intent.op} that began at {show(open_intent.created_at)} has held a "
                    f"branch of this call for {limit_s:g} s; try again."
                )
                return StoreBusy(message, limit_s=limit_s, operation=open_intent.op)
        return StoreBusy(message, limit_s=limit_s)


class LedgerWithIntents(Ledger):
    """The part of a ledger by which callers open intents."""

    _intents: Intents

    @override
    def open_intent(
        self, kind: IntentKind[Any, P], payload: P, now: int, names: Collection[str] = ()
    ) -> AbstractContextManager[None]:
        payload_fields = asdict(payload)  # type: ignore[call-overload]  # a dataclass
        lowercase_names = tuple(sorted({name.lower() for name in names}))
        return self._intents.opened(
            Intent(new_id("intent", now), kind.name, payload_fields, now, lowercase_names)
        )

    @override
    def ending(self, *, own: bool = False) -> AbstractContextManager[None]:
        return self._intents.ending(own=own)

    @override
    def exclusive(self, *names: str) -> AbstractContextManager[None]:
        return self._intents.exclusive(tuple(name.lower() for name in names))

    @override
    def recover_orphans(self) -> int:
        return self._intents.recover_orphans()
