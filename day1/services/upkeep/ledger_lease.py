"""Leases as records of the ledger, for stores on servers: owner and time of expiry."""

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
"""Microseconds after its last renewal at which a lease expires, as when its process died."""
_RENEWED: Final = 20 * SECOND
"""Microseconds after a renewal in which the lease is held without asking the ledger."""


@dataclass(slots=True)
class LedgerLease(Lease):
    """The lease `name` for the process `holder`, dated by the store's clock.

    If machines dated leases, one whose clock is ahead could keep all others from the chore.
    """

    ledger: Ledger
    name: str
    holder: str
    clock: Callable[[], int]
    present: Callable[[int], int]
    """Gives the store's time for the machine's."""
    _record: HeldLease | None = None
    _renewed_at: int = 0
    """The machine's time at which the lease was last taken or renewed."""

    @override
    def acquire(self) -> bool:
        machine_time = self.clock()
        if self._record is not None and 0 <= machine_time - self._renewed_at < _RENEWED:
            return True
        now = self.present(machine_time)
        earlier_lease = self.ledger.record(HeldLease, self.name)
        self._record = None
        is_ours = earlier_lease is not None and earlier_lease.holder == self.holder
        if earlier_lease is not None and not is_ours and now < earlier_lease.expires_at:
            return False
        held_since = earlier_lease.created_at if earlier_lease is not None and is_ours else now
        new_lease = HeldLease(self.name, self.holder, held_since, now + LASTS)
        if self.ledger.swap(earlier_lease, new_lease):
            self._record, self._renewed_at = new_lease, machine_time
        return self._record is not None

    @override
    def release(self) -> None:
        held_lease, self._record = self._record, None
        if held_lease is None:
            return
        try:
            self.ledger.swap(held_lease, replace(held_lease, expires_at=0))
        except Day1Error:  # the store cannot be reached: the lease expires
            return
