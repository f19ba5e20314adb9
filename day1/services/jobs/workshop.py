"""The store, search engine and settings that jobs run with, and a running job."""

from collections.abc import Callable
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.jobs.job import Job
from day1.model.layers.row_detail import VIA
from day1.model.rows.change import Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import Cell, Row
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.ports.reading import Reading
from day1.services.jobs.job_services import JobServices
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import spaces_below
from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class Workshop:
    """What every job uses: the store, the search engine and the settings of jobs."""

    repo: Repository
    engine: SearchEngine
    services: JobServices


class JobStoppedError(Exception):
    """A job must stop and write nothing more: its process, its caller or its lease has ended."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """A job at work on its branch."""

    shop: Workshop
    job: Job
    branch: Branch
    stopped: Callable[[], bool]

    @property
    def repo(self) -> Repository:
        """The store."""
        return self.shop.repo

    @property
    def origin(self) -> Origin:
        """The author of the job's changes."""
        return Origin(self.job.wallet, source="tool")

    def go_on(self) -> None:
        """Check that the job may continue; called between parts of the work.

        Raises:
            JobStoppedError: it must end.
        """
        if self.stopped():
            raise JobStoppedError

    def number(self, name: str, default: float) -> float:
        """Return a number that the caller asked for, else the default."""
        param_value = self.job.params.get(name)
        return param_value if isinstance(param_value, int | float) else default

    def reading_ref(self) -> Ref:
        """Return the state that the job works on: its branch as it is now."""
        return Ref(branch=self.branch.name)

    def spaces(self, reading: Reading) -> list[str]:
        """List the spaces of the job's wallets, of their users and of the users' devices."""
        wallet_spaces = [Owner(wallet).space for wallet in self.job.wallets]
        space_names = [
            space_name
            for wallet_space in wallet_spaces
            for space_name in spaces_below(reading, wallet_space)
        ]
        return [space_name for space_name in dict.fromkeys(space_names) if space_name is not None]

    def covers(self, row: Row) -> bool:
        """Whether Compose wrote a row within the time range of the job."""
        start_time, end_time = (int(self.number(param_name, 0)) for param_name in ("start", "end"))
        created_at = int(row["created_at"] or 0)
        return (
            is_of_compose(row["detail"])
            and start_time <= created_at
            and (not end_time or created_at <= end_time)
        )


def is_of_compose(detail: Cell) -> bool:
    """Whether a row's detail says that Compose wrote it."""
    return read_detail(detail).get("via") == VIA
