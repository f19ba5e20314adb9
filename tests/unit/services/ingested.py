"""Events of a session of ada's, and what they have become."""

from typing import Any

from day1.formats.events import line_of
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE, Row
from day1.services.conversations.order import messages_of
from day1.services.ingest.ingest_events import ingest_events
from tests.fakes.memory_spool import MemorySpool
from tests.unit.services.conftest import Bench

AT = 1_000_000_000


def event(name: str = "prompt", **more: Any) -> dict[str, Any]:
    told = {"format": 1, "event": name, "agent": "ada", "session": "s1", "at": AT, **more}
    return {key: value for key, value in told.items() if value is not None}


def ingest(bench: Bench, *events: dict[str, Any] | bytes, secrets: str = "refuse") -> MemorySpool:
    """Ingest the events of one session; gives the spool as it is afterwards."""
    lines = [one if isinstance(one, bytes) else line_of(one) for one in events]
    spool = MemorySpool({"s1": b"".join(lines)})

    def enough() -> bool:
        bench.now += 1
        return False

    ingest_events(bench.repo, spool, secrets=secrets, enough=enough)
    return spool


def rows(bench: Bench, branch: str = MAIN, kind: Any = MESSAGE) -> list[Row]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        return reading.find(kind, Query())


def texts(bench: Bench, branch: str = MAIN) -> list[tuple[str, str]]:
    """The messages of all conversations of a branch, each with its role."""
    with bench.store.reading(Ref(branch=branch)) as reading:
        return [
            (str(row["role"]), str(row["content"]))
            for talk in reading.find(CONVERSATION, Query())
            for _, row in messages_of(bench.repo, reading, str(talk["id"]))
        ]
