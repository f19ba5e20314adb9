"""A store of an earlier day1 opens, has all that it had, and takes what is new."""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from day1.adapters.ledger.tables import SUM, TABLES, VERSION
from day1.interfaces.open_store import OpenStore
from tests.engine import needs_files
from tests.flows.opened_store import MERGE, call, facts, opened, read_only, refused
from tests.forkserver import python

ROOT = Path(__file__).parents[2]
LATER_TABLES = (
    "reviews",
    "tokens",
    "sign_ins",
    "redactions",
    "clones",
    "ratings",
    "desks",
    "eval_runs",
)
LATER_COLUMNS = {"branches": "protection", "sessions": "token_id", "merges": "review_id"}
"""What version 1 of the ledger did not have."""
FACTS = [
    "The deploy job waits 60 seconds.",
    "Deploys run on Fridays.",
    "The deploy job needs 4 GB.",
    "This one waits.",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a ledger of version 1: a held item, a snapshot, a task, a pending row."""
    needs_files()
    folder = tmp_path / "store"
    with opened(folder, create=True) as opened_store:
        conflict = write_one(opened_store, "The deploy job waits 20 seconds.")
        write_one(opened_store, "Deploys run on Fridays.")
        call(opened_store, "memory_branch_create", branch_name="earlier")
        for branch, text in (("earlier", "30"), ("main", "60")):
            text = f"The deploy job waits {text} seconds."
            call(
                opened_store, "memory_update_fact", fact_id=conflict, fact_text=text, branch=branch
            )
        write_one(opened_store, "The deploy job needs 4 GB.", branch="earlier")
        call(opened_store, "memory_branch_merge", source_branch="earlier", strategy="auto")
        call(opened_store, "memory_snapshot", label="v1")
        call(
            opened_store,
            "memory_task_create",
            name="Upgrade",
            objectives=[{"description": "Do it."}],
        )
        write_one(opened_store, "This one waits.")
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as ledger:
        for table in LATER_TABLES:
            ledger.execute(f"DROP TABLE {table}")
        for table, column in LATER_COLUMNS.items():
            ledger.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        without_sums(ledger)
        ledger.execute("PRAGMA user_version = 1")
    assert version(folder) == 1
    return folder


def without_sums(ledger: sqlite3.Connection) -> None:
    """Version 4 had no checksums."""
    for (table,) in ledger.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
    ).fetchall():
        if any(column[1] == SUM for column in ledger.execute(f"PRAGMA table_info({table})")):
            ledger.execute(f"ALTER TABLE {table} DROP COLUMN {SUM}")


def write_one(opened_store: OpenStore, text: str, branch: str = "main") -> str:
    made: str = call(opened_store, "memory_write_fact", fact_text=text, branch=branch)["id"]
    return made


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        return int(ledger.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_store_keeps_facts_held_items_and_snapshots(store: Path) -> None:
    with opened(store) as opened_store:
        assert facts(opened_store) == FACTS
        (held,) = call(opened_store, "memory_held", action="list")["items"]
        assert "30 seconds" in str(held["offered"])
        assert [s["label"] for s in call(opened_store, "memory_snapshot_list")["result"]] == ["v1"]
        assert call(opened_store, "memory_search", query="4 GB deploy job")["result"]
    assert version(store) == VERSION


def test_an_older_store_takes_reviews_protection_and_redactions(store: Path) -> None:
    with opened(store) as opened_store:
        call(opened_store, "memory_branch_create", branch_name="side")
        one = call(opened_store, "memory_write_fact", fact_text="aside", branch="side")["id"]
        review = call(opened_store, "review_open", source_branch="side")
        call(opened_store, "memory_branch_protect", branch_name="main", requires=["review"])
        refused(lambda: call(opened_store, "memory_branch_merge", **MERGE), "branch_protected")
        call(opened_store, "review_merge", review_id=review["id"])
        call(opened_store, "memory_redact", id=one, confirm=one)
    with opened(store) as opened_store:
        assert "aside" not in facts(opened_store)
        assert len(facts(opened_store)) == 5


def test_its_records_get_checksums_and_those_that_an_earlier_day1_writes_need_none(
    store: Path,
) -> None:
    with opened(store):
        pass
    with closing(sqlite3.connect(store / "ledger.db", isolation_level=None)) as ledger:
        for table in TABLES.values():
            one = f"SELECT count(*) FROM {table.name} WHERE {SUM} IS NULL"
            assert ledger.execute(one).fetchone() == (0,), table.name
        ledger.execute(f"UPDATE branches SET {SUM} = NULL, description = 'of an earlier day1'")
    with opened(store) as opened_store:
        assert {branch.description for branch in opened_store.repo.ledger.branches()} == {
            "of an earlier day1"
        }
        assert opened_store.repo.ledger.check() == []


def test_opened_again_it_is_not_brought_up_again(store: Path) -> None:
    with opened(store):
        pass
    with closing(sqlite3.connect(store / "ledger.db")) as ledger:
        before = ledger.execute("PRAGMA schema_version").fetchone()
    with opened(store) as opened_store:
        assert opened_store.repo.ledger.branches()
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
        ledger.execute(f"ALTER TABLE branches DROP COLUMN {SUM}")
        ledger.execute(f"PRAGMA user_version = {VERSION - 1}")
    with opened(store) as opened_store:
        call(opened_store, "memory_branch_create", branch_name="new")
        call(opened_store, "memory_write_fact", fact_text="new", branch="new")
        assert call(opened_store, "review_open", source_branch="new")["status"] == "open"
        call(opened_store, "memory_branch_protect", branch_name="new", requires=["review"])
    assert version(store) == VERSION


@pytest.fixture
def indexed(store: Path) -> Path:
    """With an index as its first version was."""
    with opened(store) as opened_store:
        assert call(opened_store, "memory_search", query="4 GB")["result"]
    with closing(sqlite3.connect(store / "index.db", isolation_level=None)) as index:
        index.execute("ALTER TABLE texts DROP COLUMN text")
        index.execute("PRAGMA user_version = 1")
    return store


def test_an_index_of_an_earlier_day1_is_begun_anew_by_an_import(indexed: Path) -> None:
    notes = indexed.with_name("notes.md")
    notes.write_text("# Windows\n\nThe maintenance window is on Sundays.\n")
    done = subprocess.run(
        [*python(), "-m", "day1", "import", "markdown", str(notes)],
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
    with opened(indexed) as opened_store:
        assert call(opened_store, "memory_search", query="maintenance window")["result"]


def test_an_index_of_an_earlier_day1_is_begun_anew_by_a_search(indexed: Path) -> None:
    store = indexed
    with opened(store) as opened_store:
        call(opened_store, "memory_write_fact", fact_text="After the upgrade.")
        (hit,) = call(opened_store, "memory_search", query="upgrade")["result"]
        assert hit["fact_text"] == "After the upgrade."
        assert call(opened_store, "memory_search", query="4 GB")["result"]
