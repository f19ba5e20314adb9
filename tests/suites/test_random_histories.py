"""The same random steps on the engine, by two writers, and on the copying oracle.

After each step the two are alike, and no row has vanished that nobody removed (`nothing_lost`).
A failure that this finds becomes a plain test in `contract.py`.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests import servers
from tests.sampling import sampled
from tests.suites.two_stores import (
    DECISIONS,
    EXAMPLES,
    PARTS,
    SHARES,
    STEPS,
    Run,
    TwoStores,
)

SAMPLE = 6
"""Examples of the first part, which every run tries; the others are tried once a week."""


def profile(examples: int) -> settings:
    """How many histories hypothesis makes, and that no slow one is a fault."""
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def histories(run: Run) -> Callable[[], None]:
    """The property, to be run by calling it."""

    @given(st.binary(min_size=DECISIONS, max_size=DECISIONS))
    def both_agree(decisions: bytes) -> None:
        stores = TwoStores(run, decisions)
        stores.begin()
        for _ in range(STEPS):
            stores.step()
        stores.end()

    return both_agree


@contextmanager
def folders() -> Iterator[Callable[[], Path]]:
    """Places for embedded stores, in memory where there is a folder for that."""
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None) as parent:
        yield lambda: Path(tempfile.mkdtemp(dir=parent))


@contextmanager
def databases(server: Callable[[], str]) -> Iterator[Callable[[], str]]:
    """Places for stores on a server."""
    url = server()
    with ExitStack() as made:
        yield lambda: made.enter_context(servers.database(url))


PLACES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "doltlite": folders,
    "dolt": partial(databases, servers.dolt_url),
    "matrixone": partial(databases, servers.matrixone_url),
}


@pytest.mark.parametrize("part", sampled(range(PARTS), {0}))
@pytest.mark.parametrize("old", [False, True], ids=["", "stepping"])
@pytest.mark.parametrize("engine", PLACES)
def test_both_stores_agree_on_random_histories(
    engine: str, old: bool, part: int, record_property: Callable[[str, object], None]
) -> None:
    examples = EXAMPLES if part else SAMPLE
    with PLACES[engine]() as place:
        run = Run(place, old=old)
        try:
            seed(part)(profile(examples)(histories(run)))()
        finally:
            run.close()
            record_property("summary", run.report())
    assert run.examples >= examples
    for name, least in SHARES.items() if part else ():  # a sample is too small for shares
        assert run.having[name] / run.examples >= least, name
