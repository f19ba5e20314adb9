"""The kinds of records in the ledger; each describes itself by `KIND`."""

from typing import Any, Final

from day1.model.access.lease import HeldLease
from day1.model.access.tokens import SignIn, Token
from day1.model.branches.branch import Branch, DeletedBranch
from day1.model.branches.protection_change import ProtectionChange
from day1.model.jobs.job import Job
from day1.model.jobs.schedule import Schedule
from day1.model.layers.eval_run import EvalRun
from day1.model.lessons.rating import Rating
from day1.model.records.desk import Desk
from day1.model.records.intent import Intent
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.records.session import Session
from day1.model.records.sharing import Bundle, Handoff, Template
from day1.model.records.snapshot import Snapshot
from day1.model.records.store_copy import CopyMark
from day1.model.records.task import Objective, Task, TaskAgent
from day1.model.redaction.redaction import Redaction

RECORDS: Final[tuple[type[Any], ...]] = (
    *(Branch, DeletedBranch, Session, Snapshot, MergeRecord, Task, TaskAgent, Objective),
    *(Template, Handoff, Bundle, Token, SignIn, Intent, Review, Redaction),
    *(ProtectionChange, CopyMark, Rating, Desk, HeldLease, Job, Schedule, EvalRun),
)
