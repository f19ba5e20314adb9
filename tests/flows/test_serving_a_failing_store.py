"""A server whose store has a bad day: each call says so in a code, and the server lives on."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.flows.opened_store import fill, make, mounted, read_only
from tests.forkserver import python
from tests.waiting import until
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Session

ROOT = Path(__file__).parents[2]
CALLS = (
    ("memory_search", {"query": "one"}),
    ("memory_timeline", {"branch": "side"}),
    ("memory_write_fact", {"fact_text": "new"}),
    ("memory_branch_create", {"branch_name": "new"}),
)
ENRICH = ("memory_branch_enrich", {"branch_name": "side", "owner": "new"})


@pytest.fixture
def session(store):
    with Session(store, DAY1_STORE__WAIT_S="0.3") as session:
        yield session


def failed(session: Session, tool: str, **arguments) -> dict:
    """Call a tool that must fail with an error a client can read."""
    answer = session.call(tool, arguments)
    assert answer.is_error, answer.structured
    error = answer.structured["error"]
    assert error["code"] != "internal", session.log.read_text()
    return error


def test_a_server_says_that_the_store_is_busy_and_lives_on(session, store):
    with (store / "lock").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert failed(session, "memory_write_fact", fact_text="new")["code"] == "store_busy"
        assert session.found("memory_search", query="one")
    session.ok("memory_write_fact", fact_text="new")


def test_a_server_says_that_the_memory_is_damaged_and_serves_its_backup(session, store):
    backup = (store / "memory.db").read_bytes()
    session.ok("memory_write_fact", fact_text="after the backup")
    (store / "memory.db").write_bytes(b"junk" * 5_000)
    for tool, arguments in CALLS:
        error = failed(session, tool, **arguments)
        assert error["code"] == "store_damaged"
        assert "a backup of" in error["message"]
    assert (store / "memory.db").read_bytes() == b"junk" * 5_000
    (store / "memory.db").write_bytes(backup)
    assert session.ok("memory_write_fact", fact_text="and on")["written"]["pending"] == 1
    found = session.found("memory_timeline")
    assert [item["content"] for item in found] == ["one", "two", "three", "and on"]


def test_a_server_whose_store_is_deleted_says_so(session, store):
    session.found("memory_search", query="one")
    shutil.rmtree(store)
    for tool, arguments in (*CALLS, ENRICH):
        assert failed(session, tool, **arguments)["code"] in {"store_unavailable", "not_a_store"}
    assert not (store / "memory.db").exists()


def test_a_server_on_a_disk_that_fills_up_lives_on(tmp_path):
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=3m", "tmpfs") as disk:
        make(disk / "store")
        with Session(disk / "store") as session:
            session.ok("memory_write_fact", fact_text="before")
            fill(disk, 0)
            for tool, arguments in CALLS[2:]:
                assert failed(session, tool, **arguments)["code"] == "store_full"
            assert len(session.found("memory_timeline")) == 4
            (disk / "filler").unlink()
            session.ok("memory_write_fact", fact_text="after")
            session.ok("memory_branch_create", branch_name="new")
            assert len(session.found("memory_timeline")) == 5


def test_a_server_on_a_read_only_folder_reads(store):
    with read_only(store), Session(store.parent / "log", DAY1_HOME=str(store)) as session:
        assert session.found("memory_search", query="one")
        assert failed(session, "memory_write_fact", fact_text="new")["code"] == "store_read_only"
        assert session.found("memory_timeline")


@pytest.mark.parametrize("damage", ["memory.db", "ledger.db"])
def test_a_server_that_cannot_open_its_store_says_why_and_leaves(store, damage):
    (store / damage).write_bytes(b"junk" * 5_000)
    done = subprocess.run(
        [*python(), "-m", "day1", "mcp"],
        cwd=ROOT,
        env={**os.environ, "DAY1_HOME": str(store), "DAY1_EMBEDDER__KIND": "none"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert damage in done.stderr
    assert "backup" in done.stderr


def test_a_page_that_listens_while_the_memory_is_away_breaks_nothing(store, tmp_path):
    """B1: what listens looks again later, and agents are served as soon as the memory is back."""
    with HttpServer(store) as server, server.http.stream("GET", "/review/events") as page:
        lines = page.iter_lines()
        assert next(lines).startswith("retry")
        (store / "memory.db").rename(tmp_path / "away")
        until(
            lambda: "looking waits: store_unavailable" in server.log.read_text(), "the feed met it"
        )
        away = server.ask("GET", "/ready")
        assert (away.status, away.code) == (503, "store_unavailable")
        assert server.ask("GET", "/health").status == 200
        (tmp_path / "away").rename(store / "memory.db")
        assert server.ask("GET", "/ready").status == 200
        with HttpSession(server) as agent:
            agent.ok("memory_write_fact", fact_text="afterwards")
        assert "event: moved" in lines
    assert "Traceback" not in server.log.read_text()
