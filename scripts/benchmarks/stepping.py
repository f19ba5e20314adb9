"""The step of a branch of the first schema to the present one: its first write waits for it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.report import Row, quotient
from benchmarks.texts import facts
from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.app.engines import create_store
from day1.home import find_home
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.services.access.calls import now
from day1.services.branches import forking
from day1.services.branches.adopting import adopt
from day1.services.branches.lookup import find
from tests.suites.schema_one import schema_one


def rows(bench: Bench) -> Iterator[Row]:
    """The first write on a branch of an earlier schema, beside reading all of its facts."""
    sizes = bench.sizes
    settings = bench.settings(bench.folder / "stepped")
    bench.remove(bench.folder / "stepped")
    with schema_one():
        create_store(settings, find_home(settings), now)
    with stores.opened(settings) as repo:
        adopt(repo, now())
        repo.store.version = 1  # type: ignore[attr-defined]  # every store here is of SQL
        texts = list(facts(sizes.large, "step"))
        for start in range(0, len(texts), stores.UNIT_ROWS):
            stores.add(repo, texts[start : start + stores.UNIT_ROWS])
        branches = [MAIN, *(f"side-{number}" for number in range(sizes.repeats))]
        for name in branches[1:]:
            forking.create(repo, name, find(repo, MAIN), now())
        repo.store.version = SCHEMA_VERSION  # type: ignore[attr-defined]  # of the adapter, not of the port
        steps, readings = [], []
        for name in branches:
            with repo.store.reading(Ref(branch=name)) as reading:
                started = time.perf_counter()
                reading.scan(FACT, FACT.columns, Query())
                readings.append(time.perf_counter() - started)
            started = time.perf_counter()
            stores.write(repo, "Written after the step.", name)
            steps.append(time.perf_counter() - started)
    name = f"first write on a branch of schema 1 with {sizes.large:,} facts"
    median, reading_all = statistics.median(steps), statistics.median(readings)
    yield quotient(name, median, reading_all, 0.3, "reading them")
