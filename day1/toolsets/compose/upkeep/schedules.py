"""Schedules of maintenance jobs: one for each wallet and kind of job."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from day1.call.context import Context
from day1.call.fields import Response
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import Branch
from day1.model.jobs.job import Execution, JobKind
from day1.model.jobs.schedule import Schedule
from day1.services.access.calls import branch_of, note_token
from day1.services.branches.lookup import refuse_closed
from day1.services.jobs import schedules
from day1.services.jobs.jobs import run_now
from day1.toolsets.compose.fields import ComposeRequest, Name, milliseconds, missing
from day1.toolsets.compose.upkeep.jobs import Wallets, wallets_of, workshop_of
from day1.toolsets.shared.fields import Maybe, absent

_NOT_SERVED: Final = "No server runs the schedules of this store now: start `day1 serve`."


def _split(value: Any) -> Any:
    """Split the values of a repeated query parameter at commas."""
    if not isinstance(value, list):
        return value
    return [
        wallet_name
        for query_value in value
        for wallet_name in (
            query_value.split(",") if isinstance(query_value, str) else [query_value]
        )
    ]


_Listed = Annotated[Wallets, BeforeValidator(_split)]
"""Wallets in a query: repeated, or divided by commas."""


class SchedulesList(ComposeRequest):
    """The arguments of `schedules_list`.

    Attributes:
        agentWallets: The agents: repeated, or divided by commas. Default: all.
    """

    agentWallets: Maybe[_Listed] = None


class SchedulesDelete(ComposeRequest):
    """The arguments of `schedules_delete`.

    Attributes:
        agentWallets: The agents whose schedules are deleted: repeated, or divided by commas.
    """

    agentWallets: Maybe[_Listed] = None


class MemoryScheduleCreateRequest(ComposeRequest):
    """The arguments of `schedules_create`.

    Attributes:
        agentWallets: The agents whose memory is maintained; at most 100.
    """

    agentWallets: Wallets


class SchedulePath(ComposeRequest):
    """The arguments of the calls about one schedule.

    Attributes:
        scheduleId: The schedule's id, as `schedules_list` gives it.
    """

    scheduleId: Name


class MemoryScheduleStatus(Response):
    """A schedule: what it runs for whom, and when; `branch` is the one that its jobs change."""

    scheduleId: str
    type: JobKind
    agentWallet: str
    branch: Maybe[str] = absent()
    paused: bool
    lastRunAt: Maybe[int] = absent()
    lastJobId: Maybe[str] = absent()
    nextRunAt: Maybe[int] = absent()
    note: Maybe[str] = absent()


class MemoryScheduleListResponse(Response):
    """The schedules, by agent and kind."""

    schedules: list[MemoryScheduleStatus]


class MemoryScheduleCreateResponse(Response):
    """The ids of the created or replaced schedules, and whether there are any."""

    created: bool
    scheduleIds: list[str]


class MemoryScheduleDeleteResponse(Response):
    """Whether there were schedules to delete."""

    deleted: bool


class MemorySchedulePauseResponse(Response):
    """Whether the schedule is paused."""

    paused: bool


class MemoryScheduleResumeResponse(Response):
    """Whether the schedule begins jobs again."""

    resumed: bool


class MemoryScheduleTriggerResponse(Response):
    """Whether a job was made, and its id."""

    triggered: bool
    jobId: str


def schedules_list(ctx: Context, request: SchedulesList) -> MemoryScheduleListResponse:
    """List schedules: when each ran last, when it runs next, and whether a server runs it."""
    listed_schedules = schedules.of_wallets(
        ctx.repo, wallets_of(ctx, *(request.agentWallets or ()))
    )
    schedule_note = None if not listed_schedules or ctx.jobs.is_served() else _NOT_SERVED
    return MemoryScheduleListResponse(
        schedules=[_shown(ctx, schedule, schedule_note) for schedule in listed_schedules]
    )


def schedules_create(
    ctx: Context, request: MemoryScheduleCreateRequest
) -> MemoryScheduleCreateResponse:
    """Create or replace the maintenance schedules of agents, one for each kind of job that runs.

    A replaced schedule keeps its id and stays paused if it was.
    """
    branch = refuse_closed(branch_of(ctx))
    if not branch.protection:
        note_token(ctx, branch)
    schedule_ids = [
        schedule.id
        for wallet in wallets_of(ctx, *request.agentWallets)
        for schedule in schedules.create_all(
            ctx.repo,
            schedules.Plan(branch, wallet, ctx.caller.access.token_id),
            ctx.jobs.calendar,
        )
    ]
    return MemoryScheduleCreateResponse(created=bool(schedule_ids), scheduleIds=schedule_ids)


def schedules_delete(ctx: Context, request: SchedulesDelete) -> MemoryScheduleDeleteResponse:
    """Delete all schedules of agents; their jobs and what these did stay."""
    if request.agentWallets is None:
        raise missing("agentWallets", "is needed: name the agents whose schedules are deleted")
    wallets = wallets_of(ctx, *request.agentWallets)
    return MemoryScheduleDeleteResponse(deleted=schedules.delete(ctx.repo, wallets))


def schedules_pause(ctx: Context, request: SchedulePath) -> MemorySchedulePauseResponse:
    """Pause a schedule: it begins no job until it is resumed."""
    schedule = schedules.pause(ctx.repo, _found(ctx, request))
    return MemorySchedulePauseResponse(paused=schedule.paused)


def schedules_resume(ctx: Context, request: SchedulePath) -> MemoryScheduleResumeResponse:
    """Resume a paused schedule; what was due during the pause is left out."""
    schedule = schedules.resume(ctx.repo, _found(ctx, request), ctx.jobs.calendar)
    return MemoryScheduleResumeResponse(resumed=not schedule.paused)


def schedules_trigger(ctx: Context, request: SchedulePath) -> MemoryScheduleTriggerResponse:
    """Run the job of a schedule now: in the background of a server, else before the answer."""
    execution_mode: Execution = "temporal" if ctx.jobs.is_served() else "inline"
    job = schedules.trigger(ctx.repo, _found(ctx, request), execution_mode)
    if execution_mode == "inline":
        job = run_now(workshop_of(ctx), job, ctx.stopped)
    return MemoryScheduleTriggerResponse(triggered=True, jobId=job.id)


def _found(ctx: Context, request: SchedulePath) -> Schedule:
    """Find the schedule of a call. A token bound to an agent finds only that agent's schedules.

    Raises:
        NotFound: there is none that the caller may see.
    """
    schedule = schedules.find_schedule(ctx.repo, request.scheduleId)
    if ctx.caller.access.agent_id not in {None, schedule.wallet}:
        raise schedules.unknown_schedule()
    return schedule


def _shown(ctx: Context, schedule: Schedule, note: str | None) -> MemoryScheduleStatus:
    last_run_at, job_branch = (
        schedule.last_run_at,
        ctx.repo.ledger.record(Branch, schedule.branch_id),
    )
    return MemoryScheduleStatus(
        scheduleId=schedule.id,
        type=schedule.kind,
        agentWallet=schedule.wallet,
        branch=job_branch and job_branch.name,
        paused=schedule.paused,
        lastRunAt=None if last_run_at is None else milliseconds(last_run_at),
        lastJobId=schedule.last_job_id,
        nextRunAt=None if schedule.paused else milliseconds(schedule.next_run_at),
        note=note,
    )


OPERATIONS: Final = (
    Operation("schedules_list", schedules_list, Effect.READ),
    Operation("schedules_create", schedules_create, Effect.WRITE, idempotent=True),
    Operation("schedules_delete", schedules_delete, Effect.WRITE, idempotent=True),
    Operation("schedules_pause", schedules_pause, Effect.WRITE, idempotent=True),
    Operation("schedules_resume", schedules_resume, Effect.WRITE, idempotent=True),
    Operation("schedules_trigger", schedules_trigger, Effect.WRITE),
)
