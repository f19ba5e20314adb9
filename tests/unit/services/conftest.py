"""A repository in memory for every test, with a clock that stands still until it is moved."""

from dataclasses import replace
from functools import partial
from itertools import count

import pytest

from day1.model.branches.branch import MAIN, Branch
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, Row
from day1.model.rows.origin import Origin
from day1.services.branches import adopting, forking
from day1.services.branches.lookup import find
from day1.services.recoveries import recover
from day1.services.repository.repository import Repository
from day1.services.rows.recording import NewFact, fact_row
from tests.fakes.memory_ledger import MemoryLedger
from tests.fakes.memory_store import MemoryStore

ADA = Origin("ada")


class Died(BaseException):
    """As good as a kill: no service catches it."""


def dying_at(repo: Repository, point: str) -> Repository:
    """The repository as a process has it that dies at a point."""

    def at(name: str) -> None:
        if name == point:
            raise Died

    return replace(repo, point=at)


class Bench:
    """A repository, and the few things that nearly every test does with it."""

    def __init__(self) -> None:
        self.now = 1_000
        self.store = MemoryStore(lambda: self.now)
        numbers = count(1)
        ledger = MemoryLedger()

        def new_id(prefix: str, now: int) -> str:
            assert prefix.islower(), "a kind of id"
            assert now >= 0, "an id begins with a time"
            return f"{prefix}_{next(numbers):026}"

        self.repo = Repository(
            self.store,
            self.store.history,
            ledger,
            new_id,
            lambda: self.now,
        )
        ledger.recover = partial(recover, self.repo)
        adopting.adopt(self.repo, self.now)

    def branch(self, name: str = MAIN) -> Branch:
        """A branch as the ledger has it now."""
        return find(self.repo, name)

    def fork(self, name: str, parent: str = MAIN) -> Branch:
        """Fork a branch from where its parent is now."""
        return forking.create(self.repo, name, self.branch(parent), self.now)

    def add(self, fact_id: str, text: str, branch: str = MAIN, origin: Origin = ADA) -> None:
        """Add a fact, which is pending then."""
        self.now += 1
        with self.store.adding(branch) as work:
            work.add(FACT, [fact_row(fact_id, NewFact(text), origin, work.now)])

    def present(self, fact_id: str, branch: str = MAIN) -> Row:
        """A fact that a branch has."""
        with self.store.reading(Ref(branch=branch)) as reading:
            return reading.get(FACT, [fact_id])[fact_id]

    def facts(self, branch: str = MAIN) -> set[str]:
        """The ids of a branch's facts."""
        with self.store.reading(Ref(branch=branch)) as reading:
            return {str(row["id"]) for row in reading.find(FACT, Query())}


@pytest.fixture
def bench() -> Bench:
    return Bench()
