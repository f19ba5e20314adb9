"""Maintenance jobs: run one now or in the background, and read what became of it."""

from typing import Annotated, Any, Final, cast

from pydantic import AfterValidator, JsonValue, model_validator

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.model.jobs.job import KINDS, Execution, Job, JobKind, JobStatus
from day1.model.values.instant import in_range
from day1.services.access.calls import branch_of, note_token, repeatable
from day1.services.branches.lookup import name_of, refuse_closed
from day1.services.jobs.consolidating import MOST
from day1.services.jobs.jobs import NewJob, create, find_job, run_now
from day1.services.jobs.workshop import Workshop
from day1.toolsets.compose.fields import (
    MILLISECOND,
    ComposeRequest,
    Name,
    Number,
    RepeatableRequest,
    milliseconds,
    missing,
)
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.fields import Maybe, absent

_MOST_WALLETS: Final = 100
_MOST_DAYS: Final = 36_500


def _share(number: float) -> float:
    if not 0 <= number <= 1:
        raise ValueError("must be between 0 and 1")
    return number


def _batch(number: int) -> int:
    if not 1 <= number <= MOST:
        raise ValueError(f"must be between 1 and {MOST:,}")
    return number


def _days(number: int) -> int:
    if not 0 <= number <= _MOST_DAYS:
        raise ValueError(f"must be between 0 and {_MOST_DAYS:,}")
    return number


def _half_life(number: int) -> int:
    if number == 0:
        raise ValueError("must be 1 or more")
    return _days(number)


def _instant(number: int) -> int:
    in_range(number * MILLISECOND)
    return number


def few_wallets(wallets: list[Any]) -> list[Any]:
    """Check that a list names 1 to 100 wallets.

    Raises:
        ValueError: it names none, or more.
    """
    if not 1 <= len(wallets) <= _MOST_WALLETS:
        raise ValueError(f"must name 1 to {_MOST_WALLETS} wallets")
    return wallets


Instant = Annotated[int, AfterValidator(_instant)]
Wallets = Annotated[list[Name], AfterValidator(few_wallets)]


class MemoryTimeRange(ComposeRequest):
    """A time range, both ends included.

    Attributes:
        start: Its first instant, in milliseconds since 1970.
        end: Its last instant, in milliseconds since 1970.
    """

    start: Instant
    end: Instant


class MemoryJobCreateRequest(RepeatableRequest):
    """The arguments of `jobs_create`.

    Attributes:
        type: What the job does. consolidate supersedes facts that say the same as another fact of
            their space; patterns_extract writes runs of tools that recur as patterns;
            archive_create keeps the memory as a bundle with a content id; cleanup archives facts
            that expired, drops ended working sessions, and removes old transcripts
            where the server is set to; decay_update counts the facts whose decay score is low, and
            changes nothing.
        execution: inline runs the job before the answer; temporal runs it in the background of a
            server and answers `running`. Default: inline.
        agentWallet: The agent whose memory the job works on: in its space and in each of its users
            and devices by itself. Default: the agent that the token is bound to.
        agentWallets: Several agents, at most 100.
        timeRange: Only rows that were written in this time.
        dateRange: Another spelling of `timeRange`.
        confidenceThreshold: From 0 to 1. consolidate: the least cosine of two facts that say the
            same, if it is above 0.95; patterns_extract: the least confidence of a new pattern, by
            default 0; decay_update: the score below which a fact is counted, by default 0.1.
        batchSize: How many facts of each space consolidate compares: the newest ones. Default and
            most: 2,000.
        halfLifeDays: Days in which a decay score halves. Default: 30.
        olderThanDays: The age in days at which cleanup acts. Default: 30.
        compress: It counts for archives only.
        syncToIpfs: It counts for archives only.
    """

    type: JobKind
    execution: Maybe[Execution] = None
    agentWallet: Maybe[Name] = None
    agentWallets: Maybe[Wallets] = None
    timeRange: Maybe[MemoryTimeRange] = None
    dateRange: Maybe[MemoryTimeRange] = None
    confidenceThreshold: Maybe[Annotated[Number, AfterValidator(_share)]] = None
    batchSize: Maybe[Annotated[int, AfterValidator(_batch)]] = None
    halfLifeDays: Maybe[Annotated[int, AfterValidator(_half_life)]] = None
    olderThanDays: Maybe[Annotated[int, AfterValidator(_days)]] = None
    compress: Maybe[bool] = None
    syncToIpfs: Maybe[bool] = None

    @model_validator(mode="after")
    def _sound(self) -> "MemoryJobCreateRequest":
        if self.timeRange is not None and self.timeRange.end < self.timeRange.start:
            raise missing("timeRange", "`end` is before `start`")
        wallet, wallets = self.agentWallet, self.agentWallets
        if wallet is not None and wallets is not None and wallet not in wallets:
            raise missing("agentWallet", "is not among `agentWallets`: give one of them")
        return self

    @property
    def params(self) -> dict[str, Any]:
        """The arguments that the job stores."""
        setting_names = ("confidenceThreshold", "batchSize", "halfLifeDays", "olderThanDays")
        value_by_name = {name: getattr(self, name) for name in setting_names}
        if self.timeRange is not None:
            last_instant = self.timeRange.end * MILLISECOND + MILLISECOND - 1
            value_by_name |= {"start": self.timeRange.start * MILLISECOND, "end": last_instant}
        return {name: value for name, value in value_by_name.items() if value is not None}


class MemoryJobRecord(Response):
    """A job: what it is to do, and what became of it."""

    jobId: str
    type: JobKind
    execution: Execution
    status: JobStatus
    agentWallet: Maybe[str] = absent()
    temporalWorkflowId: Maybe[str] = absent()
    temporalRunId: Maybe[str] = absent()
    data: Maybe[JsonValue] = absent()
    error: Maybe[str] = absent()
    createdAt: int
    completedAt: Maybe[int] = absent()
    read: Read


class JobsGet(ComposeRequest):
    """The arguments of `jobs_get`.

    Attributes:
        jobId: The job's id.
    """

    jobId: Name


def workshop_of(ctx: Context) -> Workshop:
    """Gather what a job needs to run: the repository, the search and the job settings."""
    return Workshop(ctx.repo, ctx.search, ctx.jobs)


def wallets_of(ctx: Context, *names: str | None) -> tuple[str, ...]:
    """Check the wallets that a call names; default: the agent that the token is bound to.

    Raises:
        Forbidden: the token is bound to another agent.
    """
    named_wallets = dict.fromkeys(wallet_name for wallet_name in names if wallet_name is not None)
    wallets = [
        ctx.caller.access.writes_as(wallet_name) for wallet_name in (named_wallets or (None,))
    ]
    return tuple(wallet for wallet in wallets if wallet is not None)


def jobs_create(ctx: Context, request: MemoryJobCreateRequest) -> MemoryJobRecord:
    """Run a maintenance job; each job that changes rows makes one commit, which can be reverted.

    On a protected branch the job proposes its change in a review.
    """
    wallets = wallets_of(ctx, request.agentWallet, *(request.agentWallets or ()))
    if not wallets:
        raise missing("agentWallet", "is needed: name the agent whose memory the job works on")
    execution_mode = request.execution or "inline"
    if execution_mode == "temporal" and not ctx.jobs.is_served():
        problem = "needs a server that runs jobs: start `day1 serve`, or use `inline`"
        raise missing("execution", problem)
    branch = refuse_closed(branch_of(ctx))
    if not branch.protection:
        note_token(ctx, branch)
    token_id = ctx.caller.access.token_id
    new_job = NewJob(request.type, execution_mode, branch, wallets, request.params, token_id)
    job = create(repeatable(ctx, request, branch), new_job)
    if execution_mode == "inline":
        job = run_now(workshop_of(ctx), job, ctx.stopped)
    return _shown(job, state_of(ctx, branch.name))


def jobs_get(ctx: Context, request: JobsGet) -> MemoryJobRecord:
    """Read a maintenance job; one whose process ended before it was done has failed."""
    job = find_job(ctx.repo, request.jobId)
    bound_agent_id = ctx.caller.access.agent_id
    if job.kind not in KINDS or (bound_agent_id is not None and job.wallets != (bound_agent_id,)):
        raise NotFound(
            f"There is no job {request.jobId!r}: use the id that the start of a job answered."
        )
    branch_name = name_of(ctx.repo, job.branch_id)
    branch_exists = branch_name in ctx.repo.history.branches()
    return _shown(job, state_of(ctx, branch_name if branch_exists else None))


def _shown(job: Job, read: Read) -> MemoryJobRecord:
    completed_at = job.completed_at
    return MemoryJobRecord(
        jobId=job.id,
        type=cast("JobKind", job.kind),
        execution=job.execution,
        status=job.status,
        agentWallet=job.wallet,
        data=dict(job.data) or None,
        error=job.error,
        createdAt=milliseconds(job.created_at),
        completedAt=None if completed_at is None else milliseconds(completed_at),
        read=read,
    )


OPERATIONS: Final = (
    Operation("jobs_create", jobs_create, Effect.WRITE),
    Operation("jobs_get", jobs_get, Effect.READ),
)
