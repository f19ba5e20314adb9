"""The page of maintenance: schedules with their last jobs, and background work that fails."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from starlette.responses import Response

from day1.errors import InvalidRequest, NotFound
from day1.interfaces.web.site import HOME, Visit
from day1.model.jobs.job import JobKind
from day1.model.values.instant import show

PAGE: Final = f"{HOME}/jobs"
_ACTIONS: Final = {
    "pause": "compose.schedules_pause",
    "resume": "compose.schedules_resume",
    "trigger": "compose.schedules_trigger",
}

_MEANINGS: Final[Mapping[JobKind, str]] = {
    "consolidate": "supersedes facts that say the same as another",
    "patterns_extract": "finds runs of tools that recur",
    "archive_create": "puts the memory in an archive",
    "decay_update": "counts faded facts, and changes nothing",
    "cleanup": "archives expired facts, and removes ended sessions",
}


def listed(visit: Visit) -> Response:
    """Show the schedules of each agent with their last jobs, and the chores that fail."""
    schedules = visit.call("compose.schedules_list")["schedules"]
    schedule_rows = [
        {
            **schedule,
            **_times(schedule),
            "job": _last_job(visit, schedule),
            "meaning": _MEANINGS[schedule["type"]],
        }
        for schedule in schedules
    ]
    agents_with_rows = [
        (agent, list(rows_of_agent))
        for agent, rows_of_agent in groupby(schedule_rows, itemgetter("agentWallet"))
    ]
    schedule_note = next((schedule["note"] for schedule in schedules if "note" in schedule), None)
    failing_chores = visit.site.server.failing_chores()
    return visit.page(
        "jobs.html", agents=agents_with_rows, note=schedule_note, chores=failing_chores
    )


def changed(visit: Visit) -> Response:
    """Pause or resume a schedule, or run its job now."""
    operation_name = _ACTIONS.get(visit.form.get("do", ""))
    if operation_name is None:
        raise InvalidRequest(f"Schedules have no such action: use {', '.join(_ACTIONS)}.")
    visit.call(operation_name, scheduleId=visit.form.get("schedule", ""))
    return visit.go(PAGE)


def _times(schedule: dict[str, Any]) -> dict[str, str | None]:
    """Write the times of a schedule, which are milliseconds, as pages have them."""
    milliseconds_by_field = {field: schedule.get(field) for field in ("nextRunAt", "lastRunAt")}
    return {
        field: None if milliseconds is None else show(milliseconds * 1_000)
        for field, milliseconds in milliseconds_by_field.items()
    }


def _last_job(visit: Visit, schedule: dict[str, Any]) -> dict[str, Any] | None:
    if "lastJobId" not in schedule:
        return None
    try:
        return {"error": None, **visit.call("compose.jobs_get", jobId=schedule["lastJobId"])}
    except NotFound:  # only the newest jobs are kept
        return None
