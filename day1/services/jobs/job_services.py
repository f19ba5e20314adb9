"""The settings of a process for jobs: when they run, and what they may remove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from day1.model.jobs.schedule import Calendar

if TYPE_CHECKING:
    from day1.ports.chat import Chat

CHORE: Final = "jobs"
"""The name of the chore that runs jobs, and of its lease."""


def _nobody() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class JobServices:
    """The settings of this process for jobs, and whether some process runs them."""

    calendar: Calendar = field(default_factory=Calendar)
    transcript_days: int | None = None
    """The least age in days of transcripts that a cleanup may remove; None: it removes none."""
    is_served: Callable[[], bool] = _nobody
    """Whether some process runs the schedules and background jobs of the store now."""
    chat: Chat | None = None
    """The model that extracts facts from turns; None: nothing is extracted."""
