"""Servers that the wire tests ask.

Most share one (`core`): a server costs a second to start. Each works on branches of its own, forked
from `EMPTY` before anything was written.
"""

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.wires.mcp_session import Session

EMPTY = "empty"
_numbers = itertools.count(1)

Fork = Callable[..., str]


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """`day1 mcp --toolsets core,review` on a new store, by keywords only."""
    with Session(tmp_path_factory.mktemp("core") / "store") as session:
        session.ok("memory_branch_create", branch_name=EMPTY)
        yield session


@pytest.fixture(scope="session")
def other(core: Session) -> Iterator[Session]:
    """A second server on the same store, whose environment says who writes."""
    who = {f"DAY1_{name.upper()}_ID": f"env-{name}" for name in ("agent", "session", "task")}
    with Session(core.folder, **who) as session:
        yield session


@pytest.fixture
def fork(core: Session) -> Fork:
    """Make a branch that no other test has: `fork()` an empty one, `fork(parent)` another."""

    def make(parent: str = EMPTY) -> str:
        name = f"b/{next(_numbers)}"
        core.ok("memory_branch_create", branch_name=name, parent_branch=parent)
        return name

    return make


@pytest.fixture
def branch(fork: Fork) -> str:
    """An empty branch of the test's own."""
    return fork()
