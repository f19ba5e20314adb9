"""What another program made stays as it is, on a server and in a folder."""

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from day1.adapters.ledger.tables import SUM, VERSION, metadata
from day1.adapters.rows.tables import TABLES, versioned
from day1.adapters.versioned.doltlite.dbapi import driver
from day1.app.engines import create_store, open_engine
from day1.errors import ForeignStore, NotAStore, StoreDamaged, StoreVersionUnknown
from day1.settings import Settings, settings_at
from tests.adapters.server_ledgers import said
from tests.flows.opened_store import call
from tests.flows.random_store import RandomTeam, opened_at
from tests.servers import DoltServer
from tests.suites.memory import Clock
from tests.wires.command_line import CommandLine

CHAT = (
    "CREATE TABLE conversations (id INT PRIMARY KEY, subject TEXT)",
    "CREATE TABLE messages (id INT PRIMARY KEY, conversation_id INT, body TEXT)",
    "INSERT INTO conversations VALUES (1, 'lunch')",
    "INSERT INTO messages VALUES (1, 1, 'At noon?')",
)
"""Another program's, of which day1 has tables of the same names."""


def init(url: str, tmp_path: Path) -> bool:
    return create_store(settings_at(Settings(), url), tmp_path / "node", Clock())


def parts(url: str) -> tuple[str, str]:
    server, _, name = url.rpartition("/")
    return server, name


def found(url: str) -> dict[str, Any]:
    """All that a database has: for each table how it was made, and its rows."""
    tables = sorted(str(name) for (name,) in said(url, "SHOW TABLES"))
    return {
        name: (said(url, f"SHOW CREATE TABLE `{name}`"), said(url, f"SELECT * FROM `{name}`"))
        for name in tables
    }


@pytest.fixture
def chat(dolt_database: str) -> str:
    """The database of a chat program."""
    server, name = parts(dolt_database)
    said(server, f"CREATE DATABASE `{name}`")
    said(dolt_database, *CHAT)
    return dolt_database


def test_init_leaves_another_programs_tables_alone(chat: str, tmp_path: Path) -> None:
    """F1: `day1 init` dropped the tables of a chat program and said that all was well."""
    before = found(chat)
    cli = CommandLine(tmp_path)
    cli.env["DAY1_STORE__URL"] = chat
    error = cli.refused("init")
    assert error["code"] == "foreign_store"
    assert "conversations, messages" in error["message"]
    assert "DAY1_STORE__URL" in error["message"]
    assert cli.refused("add", "x")["code"] == "foreign_store"
    assert cli.refused("status")["code"] == "not_a_store"
    assert found(chat) == before
    assert (f"{parts(chat)[1]}_ledger",) not in said(chat, "SHOW DATABASES")


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE orders (id INT PRIMARY KEY)"],
        ["CREATE TABLE facts (id INT PRIMARY KEY)"],
        ["CREATE TABLE `schema` (version INT PRIMARY KEY)", "INSERT INTO `schema` VALUES (9)"],
        [
            "CREATE TABLE `schema` (version BIGINT PRIMARY KEY, created_at BIGINT)",
            "INSERT INTO `schema` VALUES (1, 1)",
            "CREATE TABLE facts (id INT PRIMARY KEY)",
        ],
    ],
)
def test_a_mark_alone_makes_no_store(
    dolt_database: str, tmp_path: Path, statements: list[str]
) -> None:
    """F1: a table named as one of day1's was taken for it."""
    server, name = parts(dolt_database)
    said(server, f"CREATE DATABASE `{name}`")
    with ExitStack() as stack, pytest.raises(NotAStore, match="day1 init"):
        open_engine(settings_at(Settings(), dolt_database), tmp_path, Clock(), stack)
    said(dolt_database, *statements)
    before = found(dolt_database)
    with pytest.raises(ForeignStore):
        init(dolt_database, tmp_path)
    with ExitStack() as stack, pytest.raises(NotAStore):
        open_engine(settings_at(Settings(), dolt_database), tmp_path, Clock(), stack)
    assert found(dolt_database) == before


def test_a_store_without_its_mark_keeps_its_rows(dolt_database: str, tmp_path: Path) -> None:
    """F1: a store whose row in `schema` was missing was emptied."""
    with opened_at(dolt_database, create=True) as store:
        RandomTeam(store).write(2, "main")
    said(dolt_database, "DELETE FROM `schema`")
    before = found(dolt_database)
    with pytest.raises(StoreDamaged, match=r"facts.*backup") as caught:
        init(dolt_database, tmp_path)
    assert caught.value.code == "store_damaged"
    assert found(dolt_database) == before


def test_another_programs_tables_may_be_on_a_branch_of_its_own(
    dolt_database: str, tmp_path: Path
) -> None:
    """F1: a database whose main is empty was taken for an empty one."""
    server, name = parts(dolt_database)
    said(server, f"CREATE DATABASE `{name}`", f"USE `{name}`", "CALL DOLT_BRANCH('work')")
    said(f"{dolt_database}/work", *CHAT)
    before = found(f"{dolt_database}/work")
    with pytest.raises(ForeignStore, match="work"):
        init(dolt_database, tmp_path)
    assert found(f"{dolt_database}/work") == before
    assert said(dolt_database, "SHOW TABLES") == []


def test_a_branch_that_another_program_made_in_a_store_stops_no_redaction(
    dolt_database: str, tmp_path: Path
) -> None:
    """A branch of the database's first commit has no tables: every redaction was refused."""
    with opened_at(dolt_database, create=True) as store:
        fact = call(store, "memory_write_fact", fact_text="The deploy job waits.")["id"]
        call(store, "memory_snapshot", label="before")
    ((first,),) = said(
        dolt_database, "SELECT commit_hash FROM dolt_log ORDER BY date, commit_order LIMIT 1"
    )
    said(dolt_database, f"CALL DOLT_BRANCH('theirs', '{first}')")
    with opened_at(dolt_database) as store:
        (problem,) = store.repo.store.check()
        assert call(store, "memory_redact", id=fact, confirm=fact, reason="asked")["masked"]
        assert call(store, "memory_search", query="deploy", branch="theirs")["result"] == []
        said(dolt_database, problem.rpartition("removed by ")[2])
        assert store.repo.store.check() == []


def test_a_database_without_a_main_is_another_programs(own_dolt: DoltServer) -> None:
    """F1: of a database with branches and no main it was said that there is none."""
    own_dolt.stop()
    other = own_dolt.folder / "data" / "other"
    other.mkdir()
    subprocess.run(
        ["dolt", "init", "-b", "trunk"],
        cwd=other,
        env={**os.environ, "HOME": str(own_dolt.folder), "DOLT_ROOT_PATH": str(own_dolt.folder)},
        check=True,
        capture_output=True,
    )
    own_dolt.up()
    with pytest.raises(ForeignStore, match="trunk"):
        init(f"{own_dolt.url}/other", own_dolt.folder)


class Killed(Exception):
    """A process ends."""


@contextmanager
def told(each: Any) -> Iterator[None]:
    """Hand every statement that day1 sends to `each`, before it is sent."""

    def heard(_: Any, __: Any, statement: str, *___: Any) -> None:
        each(statement)

    event.listen(Engine, "before_cursor_execute", heard)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", heard)


@pytest.mark.parametrize("step", [1, 2, 3, 11, 20, 21])
def test_an_init_that_was_killed_goes_on_without_dropping(
    dolt_database: str, tmp_path: Path, step: int
) -> None:
    """F1: what a killed `init` had made was dropped by the next one."""
    made: list[str] = []

    def kill(statement: str) -> None:
        made.extend(re.findall(r"^\s*(CREATE TABLE|CREATE INDEX)", statement))
        if len(made) == step:
            raise Killed

    with told(kill), pytest.raises(Killed):
        init(dolt_database, tmp_path)
    dropped: list[str] = []
    with told(lambda statement: dropped.extend(re.findall(r"\b(?:DROP|ALTER)\b.*", statement))):
        assert init(dolt_database, tmp_path)
    assert dropped == []
    assert not init(dolt_database, tmp_path)
    indexes = {
        row[2] for table in TABLES for row in said(dolt_database, f"SHOW INDEX FROM `{table}`")
    }
    wanted = {str(index.name) for table in TABLES.values() for index in table.indexes}
    assert wanted <= indexes
    with opened_at(dolt_database) as store:
        RandomTeam(store).write(1, "main")


@pytest.mark.parametrize("marked", [False, True])
def test_a_ledgers_database_of_another_program_is_not_altered(
    dolt_database: str, tmp_path: Path, marked: bool
) -> None:
    """F1: tables of another program in NAME_ledger were given day1's columns."""
    server, name = parts(dolt_database)
    url = f"{dolt_database}_ledger"
    said(server, f"CREATE DATABASE `{name}_ledger`")
    said(
        url,
        "CREATE TABLE branches (id INT PRIMARY KEY, city TEXT)",
        "CREATE TABLE tasks (id INT PRIMARY KEY, due DATE)",
        "INSERT INTO branches VALUES (1, 'Bern')",
    )
    if marked:
        said(
            url,
            "CREATE TABLE ledger_schema (version INT PRIMARY KEY)",
            "INSERT INTO ledger_schema VALUES (1)",
        )
    before = found(url)
    with pytest.raises(ForeignStore, match="branches, tasks"):
        init(dolt_database, tmp_path)
    assert found(url) == before
    assert (name,) not in said(server, "SHOW DATABASES")


def test_a_ledger_that_another_program_marked_otherwise_is_none(
    dolt_database: str, tmp_path: Path
) -> None:
    """F1: a table `ledger_schema` says nothing if its columns are another program's."""
    server, name = parts(dolt_database)
    said(server, f"CREATE DATABASE `{name}_ledger`")
    url = f"{dolt_database}_ledger"
    said(url, "CREATE TABLE ledger_schema (step VARCHAR(9) PRIMARY KEY)")
    said(url, "INSERT INTO ledger_schema VALUES ('7')")
    with pytest.raises(ForeignStore, match="ledger_schema"):
        init(dolt_database, tmp_path)


# A folder


def test_a_ledger_file_of_another_program_is_not_touched(tmp_path: Path) -> None:
    """F1: `ledger.db` of an accounting program was altered and given day1's tables."""
    folder = tmp_path / "books"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as books:
        books.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT)")
        books.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, due TEXT)")
        books.execute("INSERT INTO accounts VALUES (1, 'rent')")
    cli = CommandLine(tmp_path)
    cli.env["DAY1_HOME"] = str(folder)
    for version in (0, 1, VERSION + 1):
        with closing(sqlite3.connect(folder / "ledger.db")) as books:
            books.execute(f"PRAGMA user_version = {version}")
        before = (folder / "ledger.db").read_bytes()
        error = cli.refused("init")
        assert (error["code"], "accounts" in error["message"]) == ("foreign_store", True)
        assert (folder / "ledger.db").read_bytes() == before
        assert [path.name for path in folder.iterdir()] == ["ledger.db"]


def test_a_later_ledger_file_is_refused(tmp_path: Path) -> None:
    """F9: a ledger of a later day1 was opened. One with a new column was called another program's."""
    with opened_at(tmp_path / "store", create=True):
        pass
    with closing(sqlite3.connect(tmp_path / "store" / "ledger.db")) as ledger:
        ledger.execute(f"PRAGMA user_version = {VERSION + 1}")
        ledger.execute("ALTER TABLE reviews ADD COLUMN later TEXT")
    with (
        pytest.raises(StoreVersionUnknown, match="install a newer day1"),
        opened_at(tmp_path / "store"),
    ):
        pass


@pytest.mark.parametrize("kind", ["sqlite", "doltlite"])
def test_a_memory_file_of_another_program_is_not_touched(tmp_path: Path, kind: str) -> None:
    """F1: `memory.db` of another program is named and left as it is."""
    path = tmp_path / "memory.db"
    connect: Any = sqlite3.connect if kind == "sqlite" else _doltlite
    with closing(connect(path)) as other:
        other.execute("CREATE TABLE facts (id INTEGER PRIMARY KEY, body TEXT)")
        other.execute("INSERT INTO facts VALUES (1, 'mine')")
        other.execute("CREATE TABLE schema (step TEXT)")
        other.commit()
    before = path.read_bytes()
    cli = CommandLine(tmp_path)
    cli.env["DAY1_HOME"] = str(tmp_path)
    error = cli.refused("init")
    assert (error["code"], "another program" in error["message"]) == ("store_damaged", True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 7])
def test_an_index_file_of_another_program_is_not_touched(tmp_path: Path, version: int) -> None:
    """F1: `index.db` of another program was given tables, or deleted as an index of another day1."""
    path = tmp_path / "index.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, body TEXT)")
        other.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with opened_at(tmp_path, create=True) as store:
        call(store, "memory_write_fact", fact_text="The deploy job waits.")
        found = call(store, "memory_search", query="deploy")
        assert [hit["fact_text"] for hit in found["result"]] == ["The deploy job waits."]
        assert any("cannot be used" in note for note in found["read"]["notes"])
    assert path.read_bytes() == before


def _doltlite(path: Path) -> Any:
    return driver.connect(str(path), mode="rwc")


# Every statement

DDL = re.compile(
    r"\b(CREATE|DROP|ALTER|TRUNCATE|RENAME)\s+(?:UNIQUE\s+)?"
    r"(TABLE|INDEX|DATABASE|VIEW|TRIGGER|COLUMN|PROCEDURE|EVENT|SCHEMA|USER|PITR)\b"
    r"(?:\s+IF\s+(?:NOT\s+)?EXISTS)?\s+[`\"]?([\w{}.]+)",
    re.IGNORECASE,
)
OWN = {*versioned.tables, *metadata.tables, "ledger_schema"}


def test_no_statement_of_a_whole_life_on_a_server_drops_or_alters(
    dolt_database: str, tmp_path: Path
) -> None:
    """F1: every statement of the data definition that day1 sends, heard at the cursor."""
    heard: set[tuple[str, str, str]] = set()
    _, name = parts(dolt_database)

    def note(statement: str) -> None:
        heard.update((a.upper(), b.upper(), c) for a, b, c in DDL.findall(statement))

    with told(note):
        with opened_at(dolt_database, create=True) as store:
            RandomTeam(store).work(40, 4, 6)
        assert {(verb, what) for verb, what, _ in heard} == {
            ("CREATE", "DATABASE"),
            ("CREATE", "TABLE"),
            ("CREATE", "INDEX"),
        }
        assert {one for _, what, one in heard if what == "DATABASE"} == {name, f"{name}_ledger"}
        assert {one for _, what, one in heard if what == "TABLE"} == OWN
        heard.clear()
        said(
            f"{dolt_database}_ledger",
            "ALTER TABLE branches DROP COLUMN protection",
            "ALTER TABLE sessions DROP COLUMN token_id",
            f"ALTER TABLE branches DROP COLUMN {SUM}",
            f"ALTER TABLE sessions DROP COLUMN {SUM}",
            f"UPDATE ledger_schema SET version = {VERSION - 1}",
        )
        with opened_at(dolt_database):
            pass
    earlier = {("ALTER", "TABLE", "branches"), ("ALTER", "TABLE", "sessions")}
    assert heard == earlier, "what an earlier day1 made"


def test_no_statement_of_a_whole_life_in_a_folder_drops_or_alters(tmp_path: Path) -> None:
    """F1: the same of the files of a folder, and of a ledger that an earlier day1 made."""
    heard: set[tuple[str, str, str]] = set()

    def note(statement: str) -> None:
        heard.update((a.upper(), b.upper(), c) for a, b, c in DDL.findall(statement))

    folder = tmp_path / "store"
    with told(note):
        with opened_at(folder, create=True) as store:
            RandomTeam(store).work(40, 4, 6)
        assert {verb for verb, _, _ in heard} == {"CREATE"}
        assert {table for _, what, table in heard if what == "TABLE"} == OWN - {"ledger_schema"}
        heard.clear()
        with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as ledger:
            ledger.execute("ALTER TABLE sessions DROP COLUMN token_id")
            ledger.execute(f"PRAGMA user_version = {VERSION - 1}")
        with opened_at(folder):
            pass
    assert heard == {("ALTER", "TABLE", "sessions")}, "what an earlier day1 made"
