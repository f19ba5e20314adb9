"""What goes on beside a server: other processes on its store, and what no tool of a client does."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, Kind, Row
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import find
from day1.services.rows.editing import Correction, update
from tests.flows.opened_store import opened
from tests.wires.mcp_session import Session

T = TypeVar("T")


@contextmanager
def peers(core: Session, count: int = 2) -> Iterator[list[Session]]:
    """More servers on the same store, each a process of its own."""
    with ExitStack() as stack:
        yield [stack.enter_context(Session(core.folder)) for _ in range(count)]


def at_once(*calls: Callable[[], T]) -> list[T]:
    """Make the calls at the same moment, each in a thread; gives their answers in order."""
    start = threading.Barrier(len(calls))
    answers: dict[int, T] = {}

    def run(number: int, call: Callable[[], T]) -> None:
        start.wait()
        answers[number] = call()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == len(calls), "a call failed; its thread said why"
    return [answers[number] for number in range(len(calls))]


def rows(core: Session, branch: str, kind: Kind) -> dict[str, Row]:
    """The rows of a branch by id with every column, also those that no tool shows."""
    with opened(core.folder) as store, store.repo.store.reading(Ref(branch=branch)) as reading:
        return {str(row["id"]): row for row in reading.find(kind, Query())}


def judge(core: Session, branch: str, verdict: str, *facts: str) -> None:
    """Give facts a verdict, as a judge in another process does."""
    with opened(core.folder) as store:
        for fact in facts:
            correction = Correction(fact, {"verification": verdict})
            update(store.repo, find(store.repo, branch), correction, Origin(agent_id="judge"))


def same_rows(core: Session, one: str, other: str, kind: Kind, ids: Any) -> None:
    """The rows of these ids are on both branches, equal in every column, and so are their edits."""
    for table in (kind, EDIT):
        mine, theirs = rows(core, one, table), rows(core, other, table)
        if table is EDIT:
            mine, theirs = (
                {i: row for i, row in some.items() if row["row_id"] in ids}
                for some in (mine, theirs)
            )
        else:
            mine, theirs = ({i: some[i] for i in ids} for some in (mine, theirs))
        assert mine == theirs
