"""Jobs: maintenance of a wallet's memory, run once, with a lease of the process that runs it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, get_args

from day1.errors import Json
from day1.model.rows.change import CommitId
from day1.model.values.instant import SECOND
from day1.model.values.record_kind import RecordKind

JobKind = Literal["consolidate", "patterns_extract", "archive_create", "decay_update", "cleanup"]
KINDS: Final[tuple[JobKind, ...]] = get_args(JobKind)
"""The kinds that callers and schedules create."""
WorkKind = Literal[JobKind, "facts_extract"]
"""A kind of job; a turn creates `facts_extract`, whose results no caller is shown."""
Execution = Literal["inline", "temporal"]
"""`inline`: in the request's own thread; `temporal`: in the background of a server."""
JobStatus = Literal["running", "completed", "failed"]
LEASE: Final = 60 * SECOND
"""Microseconds until the lease of a running job is over, unless its process renews it."""
WAITS: Final = 3_600 * SECOND
"""Microseconds until a job that no server began counts as failed."""
ENDED: Final = "The process that ran the job ended before the job was done."
NEVER_BEGUN: Final = "No server began the job within an hour."


@dataclass(frozen=True, slots=True)
class Job:
    """A job; while its status is `running`, it waits (without a holder) or is run by its holder."""

    KIND: ClassVar = RecordKind(
        "jobs", ("wallet", "schedule_id", "status"), branch_ids=("branch_id",)
    )

    id: str
    kind: WorkKind
    execution: Execution
    status: JobStatus
    branch_id: str
    wallet: str | None
    """The only wallet that the job works on; None: it works on several."""
    wallets: tuple[str, ...]
    params: Mapping[str, Json]
    """The arguments of the caller: days, a time range, limits."""
    data: Mapping[str, Json]
    """The result of the job: counts, the commit, the review, notes."""
    error: str | None
    commit: CommitId | None
    schedule_id: str | None
    token_id: str | None
    """The token that created the job; its holder counts as an author of the job's rows."""
    holder: str | None
    """The process that runs the job; None: the job waits for one."""
    lease_until: int
    """The instant from which a job that is still `running` counts as failed."""
    created_at: int
    started_at: int | None = None
    completed_at: int | None = None

    def is_over(self, now: int) -> bool:
        """Whether the job is not done and never will be, since nobody renews its lease."""
        return self.status == "running" and self.lease_until <= now

    def seen_at(self, now: int) -> "Job":
        """Return the job as callers see it: a job whose lease is over has failed."""
        if not self.is_over(now):
            return self
        error = NEVER_BEGUN if self.holder is None else ENDED
        return replace(self, status="failed", error=error, completed_at=self.lease_until)

    def held_by(self, holder: str, now: int) -> "Job":
        """Return the job as begun by a process: with its holder, a new lease and a start time."""
        return replace(self, holder=holder, lease_until=now + LEASE, started_at=now)

    def waiting_again(self, now: int) -> "Job":
        """Return the job as waiting again, for a process that gives it back unchanged."""
        return replace(self, holder=None, lease_until=now + WAITS, started_at=None)

    def ended(self, now: int, **result: Any) -> "Job":
        """Return the job with its result; one whose lease is over has failed, whatever it did."""
        ended_job = replace(self, **result, completed_at=now)
        return replace(ended_job, status="failed", error=ENDED) if self.is_over(now) else ended_job
