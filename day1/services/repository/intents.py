"""Intents: records of what a process is about to do to engine and ledger, written before it begins.

1. The ledger notes the intent.
2. The engine acts. Its ref or commit message names the subject of the intent.
3. The ledger gets its records, and the intent is removed.

If a process dies in between, the next process finds the intent, looks at what the engine did, and
finishes the operation or withdraws it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from day1.model.records.codec import from_json, to_json
from day1.model.records.intent import Intent
from day1.services.repository.repository import Repository

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class IntentKind(Generic[P]):
    """A kind of intent: an operation with a part in the engine and a part in the ledger.

    Its name and the fields of its payload are kept in stores, so they never change.
    """

    name: str
    payload: type[P]
    """A dataclass: all that finishing or withdrawing the operation needs."""
    finish: Callable[[Repository, P], None]
    """Finishes or withdraws it after its process died; doing that twice is harmless."""

    def recover(self, repo: Repository, intent: Intent) -> None:
        """Finish or withdraw what an intent announced."""
        self.finish(repo, from_json(self.payload, intent.payload))


def open_intent(
    repo: Repository, operation: IntentKind[P], payload: P, now: int
) -> AbstractContextManager[None]:
    """Note an intent in the ledger until the block is left; no other one is open meanwhile."""
    intent = Intent(repo.new_id("intent", now), operation.name, to_json(payload), now)
    return repo.ledger.open_intent(intent, partial(recover, repo))


def recover(repo: Repository, intent: Intent) -> None:
    """Finish or withdraw an operation whose process is gone; doing that twice is harmless."""
    repo.recoveries[intent.op](repo, intent)
