"""What one call works with: the caller, the branch, the store and its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from day1.errors import Json, Say
from day1.services.access.caller import Caller
from day1.services.access.calls import BranchRule, active_branch
from day1.services.prime.prime_services import PrimeServices

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.judge import Judge
    from day1.services.repository.repository import Repository
    from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings that operations obey."""

    raw_characters: int = 4_000
    """`raw_input` and `raw_output` are cut here."""
    secrets: str = "warn"
    """warn, refuse or ignore what looks like a secret."""
    prime_chars: int = 1_200
    """Characters of a prime."""


def unseen(done: int, total: int | None) -> None:
    """Report progress to nobody."""


def never() -> bool:
    """Nobody can stop this call."""
    return False


@dataclass(frozen=True, slots=True)
class Context:
    """What one call works with."""

    repo: Repository
    search: SearchEngine
    clock: Callable[[], int]
    judge: Judge
    caller: Caller = field(default_factory=Caller)
    limits: Limits = field(default_factory=Limits)
    chat: Chat | None = None
    """A chat model, where one is configured."""
    progress: Callable[[int, int | None], None] = unseen
    """Tell the caller how many of how many are done; it costs a message, so not for each row."""
    stopped: Callable[[], bool] = never
    """Whether the caller wants no more: an operation asks between parts of its work."""

    branch_rule: BranchRule = active_branch
    """The branch of a call that names none."""
    say: Say = str
    """How the wire names a step that an answer advises."""
    configuration: Mapping[str, Json] = field(default_factory=dict)
    """The settings in force, without secrets and places."""
    prime: PrimeServices = field(default_factory=PrimeServices)
    """What primes are made with."""
