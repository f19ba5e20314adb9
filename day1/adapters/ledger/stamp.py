"""The stamp of a ledger on a Dolt server, which changes whenever any process writes to it."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection
from typing_extensions import override

from day1.adapters.ledger.lock_and_watch import Watch

STAMP_PARTS: Final = ("DOLT_HASHOF_DB('WORKING')", "DOLT_HASHOF_TABLE('redactions')")
DOLT_STAMP: Final = f"SELECT {', '.join(STAMP_PARTS)}"
"""The query for a hash of the whole database, which any program's write changes, and for one of the
redactions."""
_SAME_VERSION_S: Final = 1.0
"""Seconds for which a call uses a stamp again."""


@dataclass(slots=True)
class _RememberedStamp:
    """The stamp that a call has read, and until when the call may use it."""

    value: Hashable = None
    until: float = 0.0


class Stamp(Watch):
    """A watch on a ledger on a server: reads its stamp by a statement."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Connection]], ask: str) -> None:
        self._opened, self._ask = opened, ask
        self._mine = threading.local()

    @override
    def version(self) -> Hashable:
        remembered_stamp = self._remembered
        if remembered_stamp is not None and self.is_known:
            return remembered_stamp.value
        with self._opened() as connection:
            return self.learn(connection.exec_driver_sql(self._ask).one())

    @property
    def _remembered(self) -> _RememberedStamp | None:
        """What this thread remembers; None outside of `same_version`."""
        return getattr(self._mine, "stamp", None)

    @property
    def is_known(self) -> bool:
        """Whether this thread need not ask for the stamp."""
        remembered_stamp = self._remembered
        return remembered_stamp is not None and time.monotonic() < remembered_stamp.until

    def learn(self, values: Sequence[object]) -> Hashable:
        """Return the stamp that was read, and let this thread's call use it again."""
        stamp = tuple(map(str, values))
        remembered_stamp = self._remembered
        if remembered_stamp is not None:
            remembered_stamp.value = stamp
            remembered_stamp.until = time.monotonic() + _SAME_VERSION_S
        return stamp

    @contextmanager
    def same_version(self) -> Iterator[None]:
        """Let this thread ask for the ledger's stamp only once during the block."""
        self._mine.stamp = _RememberedStamp()
        try:
            yield
        finally:
            self._mine.stamp = None

    def wrote(self) -> None:
        """Forget the stamp, since this thread wrote."""
        if getattr(self._mine, "stamp", None) is not None:
            self._mine.stamp = _RememberedStamp()

    @override
    def close(self) -> None:
        pass
