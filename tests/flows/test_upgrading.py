"""A store of an earlier day1 opens, has all that it had, and takes what is new."""

import os
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from day1.adapters.sql.sqlite_ledger import VERSION
from tests.flows.opened_house import MERGE, call, facts, opened, read_only, refused

ROOT = Path(__file__).parents[2]
STORE = Path(__file__).with_name("ledger_version_1.tar.gz")
"""Made by the day1 whose ledger was version 1: a merge with a held item, a snapshot, a task, a
template, a conversation, a waiting row. It had no reviews, tokens, redactions and protection."""
FACTS = [
    "The deploy job waits 60 seconds.",
    "Deploys run on Fridays.",
    "The deploy job needs 4 GB.",
    "This one waits.",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with tarfile.open(STORE) as tar:
        tar.extractall(folder, filter="data")
    assert version(folder) == 1
    return folder


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        return int(ledger.execute("PRAGMA user_version").fetchone()[0])


def test_it_has_all_that_it_had(store: Path) -> None:
    with opened(store) as house:
        assert facts(house) == FACTS
        (held,) = call(house, "memory_held", action="list")["items"]
        assert "30 seconds" in str(held["offered"])
        assert [s["label"] for s in call(house, "memory_snapshot_list")["result"]] == ["v1"]
        assert call(house, "memory_search", query="4 GB deploy job")["result"]
    assert version(store) == VERSION


def test_it_takes_what_is_new(store: Path) -> None:
    with opened(store) as house:
        call(house, "memory_branch_create", branch_name="side")
        one = call(house, "memory_write_fact", fact_text="aside", branch="side")["id"]
        review = call(house, "review_open", source_branch="side")
        call(house, "memory_branch_protect", branch_name="main", requires=["review"])
        refused(lambda: call(house, "memory_branch_merge", **MERGE), "branch_protected")
        call(house, "review_merge", review_id=review["id"])
        call(house, "memory_redact", id=one, confirm=one)
    with opened(store) as house:
        assert "aside" not in facts(house)
        assert len(facts(house)) == 5


def test_opened_again_it_is_not_brought_up_again(store: Path) -> None:
    with opened(store):
        pass
    with closing(sqlite3.connect(store / "ledger.db")) as ledger:
        before = ledger.execute("PRAGMA schema_version").fetchone()
    with opened(store) as house:
        assert house.repo.ledger.branches()
    with closing(sqlite3.connect(store / "ledger.db")) as ledger:
        assert ledger.execute("PRAGMA schema_version").fetchone() == before


def test_where_it_may_not_be_written_that_is_said_and_nothing_is_touched(store: Path) -> None:
    before = (store / "ledger.db").read_bytes()
    with read_only(store):
        refused(lambda: opened(store).__enter__(), "store_read_only", "older day1")
    assert (store / "ledger.db").read_bytes() == before


def test_an_upgrade_that_was_killed_is_done_again(store: Path) -> None:
    """The version is written last, so a part of the new tables and columns may be there."""
    with opened(store):
        pass
    with closing(sqlite3.connect(store / "ledger.db", isolation_level=None)) as ledger:
        ledger.execute("DROP TABLE reviews")
        ledger.execute("ALTER TABLE branches DROP COLUMN protection")
        ledger.execute(f"PRAGMA user_version = {VERSION - 1}")
    with opened(store) as house:
        call(house, "memory_branch_create", branch_name="new")
        call(house, "memory_write_fact", fact_text="new", branch="new")
        assert call(house, "review_open", source_branch="new")["status"] == "open"
        call(house, "memory_branch_protect", branch_name="new", requires=["review"])
    assert version(store) == VERSION


@pytest.fixture
def indexed(store: Path) -> Path:
    """With an index as its first version was."""
    with opened(store) as house:
        assert call(house, "memory_search", query="4 GB")["result"]
    with closing(sqlite3.connect(store / "index.db", isolation_level=None)) as index:
        index.execute("ALTER TABLE texts DROP COLUMN text")
        index.execute("PRAGMA user_version = 1")
    return store


def test_an_index_of_an_earlier_day1_is_begun_anew_by_an_import(indexed: Path) -> None:
    notes = indexed.with_name("notes.md")
    notes.write_text("# Windows\n\nThe maintenance window is on Sundays.\n")
    done = subprocess.run(
        [sys.executable, "-m", "day1", "import", "markdown", str(notes)],
        env={
            **os.environ,
            "DAY1_HOME": str(indexed),
            "DAY1_EMBEDDER__KIND": "none",
            "PYTHONPATH": str(ROOT),
        },
        cwd=indexed.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with opened(indexed) as house:
        assert call(house, "memory_search", query="maintenance window")["result"]


def test_an_index_of_an_earlier_day1_is_begun_anew_by_a_search(indexed: Path) -> None:
    store = indexed
    with opened(store) as house:
        call(house, "memory_write_fact", fact_text="After the upgrade.")
        (hit,) = call(house, "memory_search", query="upgrade")["result"]
        assert hit["fact_text"] == "After the upgrade."
        assert call(house, "memory_search", query="4 GB")["result"]
