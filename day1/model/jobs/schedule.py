"""Schedules: the jobs that a server repeats for a wallet, and their times in UTC."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from day1.model.branches.branch import MAIN, Branch
from day1.model.jobs.job import JobKind, WorkKind
from day1.model.values.ids import short_hash
from day1.model.values.instant import DAY, SECOND
from day1.model.values.record_kind import RecordKind

_HOUR: Final = 3_600 * SECOND
_WEEKDAY_OF_EPOCH: Final = 3
"""1970-01-01 was a Thursday; Monday is 0."""
_PERIODS: Final[Mapping[JobKind, Literal["hour", "day", "week"]]] = {
    "consolidate": "day",
    "patterns_extract": "day",
    "archive_create": "week",
    "decay_update": "hour",
    "cleanup": "day",
}
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""The pattern of a wallet that an id holds as it is; an id holds the hash of any other."""
_HASH: Final = 16
"""Hexadecimal digits of a hash in an id."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """When daily and weekly jobs run, in UTC."""

    hour: int = 2
    weekday: int = 6
    """The day of weekly jobs; 0 is Monday."""

    def next_after(self, kind: JobKind, now: int) -> int:
        """Return the first instant after `now` at which a kind of job is due."""
        period = _PERIODS[kind]
        if period == "hour":
            return now - now % _HOUR + _HOUR
        midnight = now - now % DAY
        next_instant = midnight + self.hour * _HOUR
        if next_instant <= now:
            next_instant += DAY
        if period == "week":
            weekday = (next_instant // DAY + _WEEKDAY_OF_EPOCH) % 7
            next_instant += (self.weekday - weekday) % 7 * DAY
        return next_instant


@dataclass(frozen=True, slots=True)
class Schedule:
    """A kind of job that is repeated for a wallet on a branch."""

    KIND: ClassVar = RecordKind("schedules", ("wallet",), branch_ids=("branch_id",))

    id: str
    kind: JobKind
    wallet: str
    branch_id: str
    token_id: str | None
    """The token that made the schedule; its holder counts as an author of the jobs' rows."""
    paused: bool
    next_run_at: int
    last_run_at: int | None
    last_job_id: str | None
    created_at: int

    def is_due(self, now: int) -> bool:
        """Whether a job must run now."""
        return not self.paused and self.next_run_at <= now


def schedule_id(kind: WorkKind, wallet: str, branch: Branch) -> str:
    """Return the id of a schedule from its kind of job and wallet: `consolidate:W` on main.

    The name can be a part of an address. On another branch it ends in a hash of that branch.
    """
    wallet_and_branch = wallet
    if not _PLAIN.fullmatch(wallet):
        wallet_and_branch = f"~{short_hash('wallet', wallet)[:_HASH]}"
    if branch.name != MAIN:
        wallet_and_branch += f"@{short_hash('branch', branch.id)[:_HASH]}"
    return f"{kind}:{wallet_and_branch}"
