"""What a message was made from stands beside its content, and goes and hides with it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.errors import ImportBroken
from day1.interfaces.open_store import OpenStore
from day1.model.files import export
from day1.model.redaction.mask import REDACTED
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import MESSAGE, Row
from day1.model.rows.origin import Origin
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.conversations.messages import MessageRequest, NewMessage, log_message
from day1.services.exchange.exporting import export_store
from day1.services.exchange.own_import import import_own
from tests.flows.opened_store import call, opened
from tests.forkserver import python
from tests.suites.engine_memory import EngineMemory
from tests.suites.schema_one import schema_one

MADE_FROM = '{"item":{"type":"function_call"},"word":"plover4711"}'
ENGINES = ("doltlite", "dolt", "matrixone")


def said(
    store: OpenStore | EngineMemory, branch: str = "main", structure: str | None = MADE_FROM
) -> tuple[str, str]:
    """Say something; answers the ids of the message and of its conversation."""
    message = NewMessage("tool", "It called a tool.", structure=structure)
    logged, _ = log_message(
        store.repo, find(store.repo, branch), MessageRequest(message), Origin(agent_id="ada")
    )
    return logged.message_id, logged.conversation_id


def messages(store: OpenStore | EngineMemory, ref: Ref | None = None) -> list[Row]:
    with store.repo.store.reading(ref or Ref(branch="main")) as reading:
        return reading.find(MESSAGE, Query())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    with opened(tmp_path / "store", create=True) as store:
        yield store


@pytest.mark.parametrize("engine", ENGINES)
def test_a_branch_of_schema_2_takes_it_after_the_step_and_merges(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = engine != "doltlite"
    place = request.getfixturevalue(f"documented_{engine}") if server else tmp_path
    memory = EngineMemory(place, old=2)
    memory.store.version = 2
    old, _ = said(memory, structure=None)
    memory.fork("side", "main")
    memory.fork("old", "main")
    memory.store.version = SCHEMA_VERSION
    tip = memory.store.history.branches()["main"]
    new, _ = said(memory, "side")
    assert {str(row["id"]): row["structure"] for row in messages(memory, Ref(branch="side"))} == {
        old: None,
        new: MADE_FROM,
    }
    assert [row["structure"] for row in messages(memory, Ref(branch="old"))] == [None]
    (change,) = memory.store.history.changes(tip, Ref(branch="side"))["messages"]
    assert change.after is not None
    assert (change.id, change.after["structure"]) == (new, MADE_FROM)
    assert memory.merge("side", "old").rejected == 0
    assert memory.merge("old", "main").rejected == 0
    for branch in ("old", "main"):
        assert [row["structure"] for row in messages(memory, Ref(branch=branch))] == [
            None,
            MADE_FROM,
        ]
    assert [row["structure"] for row in messages(memory, Ref(commit=tip))] == [None]
    memory.close()


def test_an_export_has_it_and_names_the_version_that_reads_it(
    store: OpenStore, tmp_path: Path
) -> None:
    said(store, structure=None)
    plain = list(export_store(store.repo))
    assert b'"version":1' in plain[0]
    assert not [line for line in plain if b"structure" in line]
    said(store)
    lines = list(export_store(store.repo))
    assert b'"version":3' in lines[0]
    with opened(tmp_path / "other", create=True) as other:
        import_own(other.repo, find(other.repo, "main"), lines, now(), lambda *_: None)
        assert [row["structure"] for row in messages(other)] == [None, MADE_FROM]
        assert set(export_store(other.repo)) == set(lines)


def test_a_day1_of_schema_2_refuses_such_an_export(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "NEWEST_VERSION", 2)
    with pytest.raises(ImportBroken, match="says version 3, and this day1 reads versions 1 to 2"):
        export.check_version(3, "export")


def test_a_fork_of_a_conversation_copies_it(store: OpenStore) -> None:
    message, conversation = said(store)
    call(
        store,
        "memory_fork_conversation",
        conversation_id=conversation,
        fork_at_message_id=message,
    )
    assert [row["structure"] for row in messages(store)] == [MADE_FROM, MADE_FROM]


def test_a_redacted_message_hides_it_and_a_purge_removes_it(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with schema_one(2), opened(folder, create=True):
        pass
    with opened(folder) as store:
        message, _ = said(store)
        tip = store.repo.store.commit_pending("main")
        call(store, "memory_redact", id=message, confirm=message)
        for ref in (Ref(branch="main"), Ref(commit=tip)):
            (row,) = messages(store, ref)
            assert (row["content"], row["structure"]) == (REDACTED, None)
        assert "plover" not in str(call(store, "memory_get", id=message))
        assert not [line for line in export_store(store.repo) if b"plover" in line]
    line = [*python(), "-m", "day1", "gc", "--purge-redacted"]
    environment = {**os.environ, "DAY1_HOME": str(folder)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [f for f in folder.rglob("*") if f.is_file() and b"plover4711" in f.read_bytes()] == []


def test_another_content_is_made_from_something_else(store: OpenStore) -> None:
    """A cell has the text and what it was made from: a merge takes both or none."""
    assert MESSAGE.group("content") == ("content", "content_hash", "structure")
    assert MESSAGE.rendered == ("structure",)
