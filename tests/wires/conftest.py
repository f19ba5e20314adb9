"""Servers that the wire tests ask.

Most tests share one (`core`): a server costs a second to start. Each works on branches
of its own, forked from `EMPTY` before anything was written.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import MODEL, ChatServer, gullible
from tests.wires.command_line import CommandLine, made_once
from tests.wires.diverged_branches import Pair
from tests.wires.judged_facts import KEY
from tests.wires.mcp_session import Session
from tests.wires.python_places import (  # noqa: F401 - fixtures
    connect,
    limited,
    memory,
    shared_memory,
)

EMPTY = "empty"
MANY_BRANCHES = 60
_numbers = itertools.count(1)

Fork = Callable[..., str]
Write = Callable[..., str]


@contextmanager
def _serving(folder: Path) -> Iterator[Session]:
    """`day1 mcp --toolsets core,review` on a new store, by keywords only."""
    with Session(folder / "store") as session:
        session.ok("memory_branch_create", branch_name=EMPTY)
        yield session
        assert session.found("memory_timeline", branch=EMPTY) == [], "a test wrote to all others'"


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Session]]:
    """The server that tests share; another one when its store has many branches.

    Some calls look through all branches, and would take longer and longer.
    """
    with ExitStack() as open_now:
        shared: list[tuple[Session, int]] = []

        def server() -> Session:
            if not shared or next(_numbers) - shared[-1][1] > MANY_BRANCHES:
                open_now.close()
                session = open_now.enter_context(_serving(tmp_path_factory.mktemp("core")))
                shared.append((session, next(_numbers)))
            return shared[-1][0]

        yield server


@pytest.fixture(scope="module")
def core(_shared: Callable[[], Session]) -> Session:
    """A server that other modules' tests ask too."""
    return _shared()


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


@pytest.fixture(scope="module")
def write(core: Session) -> Write:
    def fact(branch: str, text: str, **more: Any) -> str:
        made: str = core.ok("memory_write_fact", fact_text=text, branch=branch, **more)["id"]
        return made

    return fact


@pytest.fixture(scope="module")
def pattern(core: Session, write: Write) -> Pair:
    """Both sides changed `conflict`; the source changed one fact, removed one, added three rows."""
    number = next(_numbers)
    source, target = f"pattern/{number}/source", f"pattern/{number}/target"
    core.ok("memory_branch_create", branch_name=target, parent_branch=EMPTY)
    texts = ("kept", "changed", "removed", "conflict")
    pair = Pair(source, target, *(write(target, text, category="old") for text in texts))
    core.ok("memory_branch_create", branch_name=source, parent_branch=target)
    core.ok("memory_update_fact", fact_id=pair.changed, confidence=0.5, branch=source)
    core.ok("memory_retract_fact", fact_id=pair.removed, branch=source)
    core.ok(
        "memory_update_fact", fact_id=pair.conflict, fact_text="conflict, source", branch=source
    )
    core.ok(
        "memory_update_fact", fact_id=pair.conflict, fact_text="conflict, target", branch=target
    )
    write(source, "new", category="new")
    core.ok(
        "memory_write_observation",
        observation_type="decision",
        summary="new too",
        branch=source,
    )
    core.ok(
        "memory_write_relation",
        source_entity="a",
        relation_type="to",
        target_entity="b",
        branch=source,
    )
    write(target, "of the target")
    return pair


@pytest.fixture
def pair(pattern: Pair, fork: Fork) -> Pair:
    """A pair of the test's own, as the pattern is."""
    return pattern._replace(source=fork(pattern.source), target=fork(pattern.target))


@pytest.fixture(scope="session")
def chat_model() -> Iterator[ChatServer]:
    with ChatServer().serving() as server:
        yield server


@pytest.fixture(scope="module")
def _judged_by_chat(core: Session, chat_model: ChatServer) -> Iterator[Session]:
    settings = {"URL": chat_model.url, "MODEL": MODEL, "KEY": KEY, "TRIES": "1", "TIMEOUT_S": "2"}
    env = {f"DAY1_CHAT__{name}": value for name, value in settings.items()}
    with Session(core.folder, DAY1_JUDGE="auto", **env) as session:
        yield session


@pytest.fixture
def chat(_judged_by_chat: Session, chat_model: ChatServer) -> Session:
    """Another server on the store of `core`, whose judge is the fake model, gullible as ever."""
    chat_model.answer = gullible
    chat_model.asked.clear()
    return _judged_by_chat


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The command line in a folder with a new store."""
    return made_once(_begin, tmp_path)


def _begin(cli: CommandLine) -> None:
    cli("init")


@pytest.fixture
def bare(tmp_path: Path) -> CommandLine:
    """The command line in a folder without a store."""
    return CommandLine(tmp_path)
