"""The context of one call: the caller, the branch, the store and its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from day1.errors import Json, Say
from day1.services.access.caller import Caller
from day1.services.access.calls import BranchRule, active_branch
from day1.services.jobs.job_services import JobServices
from day1.services.prime.prime_services import PrimeServices

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.judge import Judge
    from day1.ports.pinning import Pinning
    from day1.services.repository.repository import Repository
    from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits and rules from the settings that operations obey."""

    raw_characters: int = 4_000
    """Maximum number of characters kept of `raw_input` and of `raw_output`."""
    secrets: str = "warn"
    """What to do with texts that look like a secret: warn, refuse or ignore."""
    prime_chars: int = 1_200
    """Maximum number of characters of a prime."""
    answer_bytes: int = 268_435_456
    """Maximum number of bytes of the values that one call answers."""


def unseen(done: int, total: int | None) -> None:
    """Ignore a report of progress: the default of `Context.progress`."""


def never() -> bool:
    """Return False: the default of `Context.stopped`, for a call that nobody can cancel."""
    return False


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one call."""

    repo: Repository
    search: SearchEngine
    clock: Callable[[], int]
    judge: Judge
    caller: Caller = field(default_factory=Caller)
    limits: Limits = field(default_factory=Limits)
    chat: Chat | None = None
    """The chat model; None without a configured one."""
    pinning: Pinning | None = None
    """The service that keeps files of archives; None without a configured one."""
    progress: Callable[[int, int | None], None] = unseen
    """Reports progress to the caller; each report is a message, so not for each row."""
    stopped: Callable[[], bool] = never
    """The function that tells whether the caller cancelled; operations ask between their parts."""

    branch_rule: BranchRule = active_branch
    """The function that chooses the branch of a call that names none."""
    say: Say = str
    """The function that writes an advised next step in the words of the wire."""
    configuration: Mapping[str, Json] = field(default_factory=dict)
    """The settings in force, without secrets and paths."""
    prime: PrimeServices = field(default_factory=PrimeServices)
    """The services that make primes."""
    jobs: JobServices = field(default_factory=JobServices)
    """When jobs run, and whether a server runs them."""
    place: str = ""
    """Where the store is: a path, or HOST:PORT/DATABASE. Only for callers who administer it."""
