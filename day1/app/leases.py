"""Make the leases of a store: locks of files in a folder, records of the ledger on a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from day1.ports.lease import Lease
    from day1.ports.ledger import Ledger


@dataclass(frozen=True, slots=True)
class LeasePlace:
    """Where a store keeps its leases."""

    folder: Path
    node: str
    """This machine's id; empty if the store is a folder."""
    ledger: Ledger
    clock: Callable[[], int]
    present: Callable[[int], int]
    """Gives the store's time for the machine's."""

    def lease(self, name: str) -> Lease:
        """Make the lease of a chore for this process."""
        if not self.node:
            from day1.adapters.file_lease import FileLease

            return FileLease(self.folder / f"{name}.lock")
        from day1.model.values.ids import new_id
        from day1.services.upkeep.ledger_lease import LedgerLease

        holder = new_id("process", self.clock())
        return LedgerLease(self.ledger, name, holder, self.clock, self.present)

    def is_held(self, name: str) -> bool:
        """Whether some process of the store holds the lease of a chore now."""
        if self.node:
            from day1.model.access.lease import HeldLease

            lease_record = self.ledger.record(HeldLease, name)
            now = self.present(self.clock())
            return lease_record is not None and now < lease_record.expires_at
        from day1.adapters.file_lease import is_locked

        return is_locked(self.folder / f"{name}.lock")
