"""Leases as records: who does a job that only one process of a store on a server may do."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class HeldLease:
    """The lease of a job; a job that no process ever did has none."""

    KIND: ClassVar = RecordKind("leases", carried=False)

    id: str
    """The name of the job."""
    holder: str
    """The process that holds it, by an id of its own."""
    created_at: int
    """When this process took it."""
    expires_at: int
    """Microseconds UTC: from then on any process may take it."""
