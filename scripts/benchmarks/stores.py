"""Stores of many facts, made through day1's own services, and opened without its wires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.texts import facts
from day1.app.engines import create_store, open_engine
from day1.home import find_home
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.callbacks import Clock
from day1.model.values.ids import new_id
from day1.services.access.calls import now
from day1.services.branches.adopting import adopt
from day1.services.recoveries import recover
from day1.services.repository.repository import Repository
from day1.services.rows.recording import NewFact, fact_row
from day1.settings import Settings

UNIT_ROWS = 2_000
ORIGIN = Origin(agent_id="bench", source="import")


@contextmanager
def opened(settings: Settings, clock: Clock | None = None) -> Iterator[Repository]:
    """A store's rows, history and ledger; times are by the caller's clock, if one is given."""
    with ExitStack() as stack:
        engine = open_engine(settings, find_home(settings), clock or now, stack, clock)
        repo = Repository(engine.store, engine.store.history, engine.ledger, new_id, now)
        engine.ledger.recover = partial(recover, repo)
        yield repo


def make(settings: Settings, count: int, seed: str) -> None:
    """Make a store of `count` facts on `main`, in units of 2,000 rows; not indexed yet."""
    create_store(settings, find_home(settings), now)
    with opened(settings) as repo:
        adopt(repo, now())
        texts = list(facts(count, seed))
        for start in range(0, count, UNIT_ROWS):
            add(repo, texts[start : start + UNIT_ROWS])


def add(repo: Repository, texts: Sequence[tuple[str, str]], branch: str = MAIN) -> None:
    """Put facts on a branch as one unit with a commit of its own."""
    with repo.store.changing(branch) as work:
        work.add(
            FACT,
            [
                fact_row(
                    new_id(FACT.prefix, work.now),
                    NewFact(text, category=category),
                    ORIGIN,
                    work.now,
                )
                for text, category in texts
            ],
        )
        work.commit(Message("import", f"import {len(texts)} rows"))


def write(repo: Repository, text: str, branch: str = MAIN) -> str:
    """Write one fact as an agent does, without a wire; returns its id."""
    with repo.store.adding(branch) as work:
        row = fact_row(new_id(FACT.prefix, work.now), NewFact(text), ORIGIN, work.now)
        work.add(FACT, [row])
    return str(row["id"])


def ids(repo: Repository, count: int, branch: str = MAIN) -> list[str]:
    """The ids of `count` facts, evenly from all over the branch."""
    with repo.store.reading(Ref(branch=branch)) as reading:
        fact_ids = [str(row_id) for (row_id,) in reading.scan(FACT, ["id"], Query())]
    return fact_ids[:: max(1, len(fact_ids) // count)][:count]
