"""Intents: records of what a process is about to do to engine and ledger, written before it begins.

1. The ledger notes the intent.
2. The engine acts. Its ref or commit message names the subject of the intent.
3. The ledger gets its records, and the intent is removed.

If a process dies in between, the next process finds the intent, looks at what the engine did, and
finishes the operation or withdraws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from day1.errors import Json
from day1.model.records.codec import from_json
from day1.model.values.record_kind import RecordKind

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Intent:
    """An operation on engine and ledger, with all that is needed to finish or withdraw it."""

    KIND: ClassVar = RecordKind("intents", carried=False)

    id: str
    op: str
    payload: Mapping[str, Json]
    created_at: int
    names: tuple[str, ...] = ()
    """The names that are locked while the intent is open, in lower case: branches, and the id of a
    request. Empty: the whole store."""


@dataclass(frozen=True, slots=True)
class IntentKind(Generic[R, P]):
    """A kind of intent: an operation of a repository with a part in the engine and in the ledger.

    Its name and the fields of its payload are kept in stores, so they never change.
    """

    name: str
    payload: type[P]
    """The dataclass with the data that finishing or withdrawing the operation needs."""
    finish: Callable[[R, P], None]
    """The function that finishes or withdraws the change of a process that died; twice is
    harmless."""

    def recover(self, repo: R, intent: Intent) -> None:
        """Finish or withdraw the operation of an intent."""
        self.finish(repo, from_json(self.payload, intent.payload))
