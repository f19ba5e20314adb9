"""A lease as a record of the ledger, for stores on servers: its owner, and when it expires."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

from day1.errors import Day1Error
from day1.model.access.lease import HeldLease
from day1.model.values.instant import SECOND
from day1.ports.lease import Lease
from day1.ports.ledger import Ledger

LASTS: Final = 60 * SECOND
"""How long a lease outlives a process that died."""
_RENEWED: Final = 20 * SECOND
"""A lease that was renewed so lately is held without asking the ledger."""


@dataclass(slots=True)
class LedgerLease(Lease):
    """The lease `name`, for the process `holder`; clocks of machines may differ by some seconds."""

    ledger: Ledger
    name: str
    holder: str
    clock: Callable[[], int]
    _record: HeldLease | None = None

    @override
    def acquire(self) -> bool:
        now = self.clock()
        if self._record is not None and now < self._record.expires_at - LASTS + _RENEWED:
            return True
        before = self.ledger.record(HeldLease, self.name)
        self._record = None
        is_ours = before is not None and before.holder == self.holder
        if before is not None and not is_ours and now < before.expires_at:
            return False
        since = before.created_at if before is not None and is_ours else now
        record = HeldLease(self.name, self.holder, since, now + LASTS)
        if self.ledger.swap(before, record):
            self._record = record
        return self._record is not None

    @override
    def release(self) -> None:
        record, self._record = self._record, None
        if record is None:
            return
        try:
            self.ledger.swap(record, replace(record, expires_at=0))
        except Day1Error:  # the store is away: the lease expires
            return
