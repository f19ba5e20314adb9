"""The DoltLite driver: values, statements, transactions, errors."""

import sqlite3
from enum import IntEnum, StrEnum

import pytest

from day1.adapters.versioned.doltlite.dbapi import driver, library, statement
from tests.adapters.doltlite_database import commit, ids, write

# Values


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "plain",
        "a\0b\0",
        "\0",
        "emoji 🧠 and ﷽ and é",
        "x" * 100_000,
        b"",
        b"\0\xff\0",
        bytes(range(256)) * 100,
        0,
        -1,
        2**31 - 1,
        2**31,
        -(2**31),
        -(2**31) - 1,
        2**63 - 1,
        -(2**63),
        0.1,
        -1e308,
        5e-324,
        float("inf"),
    ],
)
def test_a_value_comes_back_as_it_went_in(connection, value):
    connection.execute("INSERT INTO notes VALUES ('a', ?)", (value,))
    ((back,),) = connection.execute("SELECT value FROM notes").fetchall()
    assert (back, type(back)) == (value, type(value))
    ((direct,),) = connection.execute("SELECT ?", (value,)).fetchall()
    assert (direct, type(direct)) == (value, type(value))


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 2**40


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (True, 1),
        (False, 0),
        (Colour.RED, "red"),
        (Level.HIGH, 2**40),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
    ],
)
def test_a_subclass_is_kept_as_its_base_type(connection, value, kept):
    ((back,),) = connection.execute("SELECT ?", (value,)).fetchall()
    assert (back, type(back)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (2**63, driver.DataError),
        (-(2**63) - 1, driver.DataError),
        ("\ud800", driver.DataError),
        (object(), driver.ProgrammingError),
        ([1], driver.ProgrammingError),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused(connection, value, error):
    with pytest.raises(error):
        connection.execute("INSERT INTO notes VALUES ('a', ?)", (value,))
    assert ids(connection) == []


def test_a_text_beyond_the_limit_is_refused(connection, monkeypatch):
    monkeypatch.setattr(statement, "LONGEST", 10)
    with pytest.raises(driver.DataError, match="11 bytes"):
        connection.execute("SELECT ?", ("x" * 11,))


def test_text_that_is_not_utf8_is_an_error_not_a_guess(connection):
    with pytest.raises(driver.DataError, match="UTF-8"):
        connection.execute("SELECT CAST(x'ff41' AS TEXT)")


# Statements


def test_the_number_of_parameters_must_fit(connection):
    for given in [(), (1, 2)]:
        with pytest.raises(driver.ProgrammingError, match="1 parameters"):
            connection.execute("SELECT ?", given)


def test_the_same_statement_is_prepared_once(connection, monkeypatch):
    prepared = []
    genuine = statement.prepare
    monkeypatch.setattr(
        driver, "prepare", lambda lib, to, sql: prepared.append(sql) or genuine(lib, to, sql)
    )
    for number in range(5):
        assert connection.execute("SELECT ? + 1", (number,)).fetchall() == [(number + 1,)]
    assert prepared == ["SELECT ? + 1"]


def test_the_statement_unused_for_longest_is_forgotten_first(connection):
    for number in range(driver.KEPT_STATEMENTS + 10):
        connection.execute("SELECT 'often'")
        connection.execute(f"SELECT {number}")
    assert len(connection._statements) == driver.KEPT_STATEMENTS
    assert "SELECT 'often'" in connection._statements
    assert "SELECT 0" not in connection._statements


def test_a_connection_that_may_keep_fewer_statements_forgets_the_others(connection):
    for number in range(50):
        connection.execute(f"SELECT {number}")
    connection.kept_statements = 3
    connection.execute("SELECT 'last'")
    assert list(connection._statements) == ["SELECT 48", "SELECT 49", "SELECT 'last'"]


def test_a_kept_statement_follows_a_change_of_schema_by_a_peer(connection, path):
    everything = "SELECT * FROM notes"
    write(connection, "a")
    assert [column[0] for column in connection.execute(everything).description] == ["id", "value"]
    peer = driver.connect(path)
    peer.execute("ALTER TABLE notes ADD COLUMN extra DEFAULT 7")
    again = connection.execute(everything)
    assert [column[0] for column in again.description] == ["id", "value", "extra"]
    assert again.fetchall() == [("a", None, 7)]


def test_a_kept_statement_follows_a_switch_of_branch(connection):
    write(connection, "a")
    connection.execute("SELECT dolt_branch('side', 'HEAD~1')")
    assert ids(connection) == ["a"]
    connection.execute("SELECT dolt_connect_branch('side')")
    assert ids(connection) == []


def test_results_are_read_before_anything_else_happens(connection):
    write(connection, "a", "b")
    cursor = connection.execute("SELECT id FROM notes ORDER BY id")
    connection.execute("DELETE FROM notes")
    connection.execute("SELECT dolt_branch('side')")
    connection.execute("SELECT dolt_checkout('side')")
    assert cursor.fetchone() == ("a",)
    assert cursor.fetchmany(5) == [("b",)]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []


def test_a_cursor_counts_changed_rows_and_gives_the_last_id(connection):
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY, m)")
    assert (cursor.rowcount, cursor.description) == (-1, None)
    cursor.execute("INSERT INTO numbers (m) VALUES (1), (1), (2)")
    assert (cursor.rowcount, cursor.lastrowid, cursor.description) == (3, 3, None)
    assert cursor.execute("UPDATE numbers SET m = 5 WHERE m = 1").rowcount == 2
    assert cursor.execute("/* why */ -- how\n DELETE FROM numbers WHERE m = 9").rowcount == 0
    assert cursor.execute("WITH x AS (SELECT 5 v) DELETE FROM numbers WHERE m IN x").rowcount == 2
    assert cursor.execute("WITH x AS (SELECT 5 v) SELECT * FROM x").rowcount == -1


def test_returning_gives_rows_and_a_count(connection):
    cursor = connection.execute(
        "INSERT INTO notes VALUES ('a', 1), ('b', 2) RETURNING id, value * 10 AS big"
    )
    assert cursor.fetchall() == [("a", 10), ("b", 20)]
    assert [column[0] for column in cursor.description] == ["id", "big"]
    assert cursor.rowcount == 2
    assert ids(connection) == ["a", "b"]


def test_executemany_takes_any_iterable_and_counts(connection):
    cursor = connection.cursor()
    connection.execute("BEGIN IMMEDIATE")
    cursor.executemany("INSERT INTO notes VALUES (?, ?)", ((f"{n:04}", n) for n in range(1000)))
    assert cursor.rowcount == 1000
    connection.commit()
    assert connection.execute("SELECT sum(value) FROM notes").fetchall() == [(499500,)]
    assert cursor.executemany("INSERT INTO notes VALUES (?, ?)", []).rowcount == 0


def test_null_is_never_the_value_of_the_row_or_call_before(connection):
    cursor = connection.cursor()
    both = [("a", "text"), ("b", None), ("c", 1.5), (None, "no id"), ("d", None)]
    cursor.executemany("INSERT INTO notes VALUES (?, ?)", both[:3])
    assert cursor.execute("SELECT ?, ?", both[3]).fetchall() == [both[3]]
    assert cursor.execute("SELECT ?, ?", both[4]).fetchall() == [both[4]]
    with pytest.raises(driver.ProgrammingError):
        cursor.execute("SELECT ?, ?", ("bound, then refused", object()))
    assert cursor.execute("SELECT ?, ?", (None, None)).fetchall() == [(None, None)]
    assert cursor.execute("SELECT * FROM notes ORDER BY id").fetchall() == both[:3]


def test_executemany_stops_at_the_row_that_fails(connection):
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(driver.IntegrityError):
        connection.cursor().executemany(
            "INSERT INTO notes VALUES (?, 1)", [("a",), ("b",), ("a",), ("c",)]
        )
    assert ids(connection) == ["a", "b"]
    connection.rollback()
    assert ids(connection) == []


def test_executemany_takes_no_statement_with_results(connection):
    with pytest.raises(driver.ProgrammingError, match="results"):
        connection.cursor().executemany("SELECT ?", [(1,)])


@pytest.mark.parametrize("tail", ["", ";", " ; -- said\n ", "; /* said */", "; /* open"])
def test_what_follows_a_statement_may_be_blank(connection, tail):
    assert connection.execute("SELECT 1" + tail).fetchall() == [(1,)]


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT 1; nonsense", "SELECT '\0'"])
def test_only_one_clean_statement_at_a_time(connection, sql):
    with pytest.raises(driver.ProgrammingError):
        connection.execute(sql)


def test_a_comment_is_no_statement_and_no_error(connection):
    assert connection.execute("-- nothing").fetchall() == []


# Transactions


def test_no_transaction_begins_unasked(connection, path):
    connection.execute("INSERT INTO notes VALUES ('a', 1)")
    assert not connection.in_transaction
    assert ids(driver.connect(path)) == ["a"]
    connection.commit()
    connection.rollback()


def test_commit_and_rollback_end_the_transaction_that_is_open(connection, path):
    peer = driver.connect(path)
    for end, seen in [(connection.rollback, []), (connection.commit, ["a"])]:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO notes VALUES ('a', 1)")
        assert connection.in_transaction
        assert ids(peer) == []
        end()
        assert not connection.in_transaction
        assert ids(peer) == seen


def test_a_commit_of_the_engine_inside_a_transaction(connection):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO notes VALUES ('a', 1)")
    message = 'added a 🧠\n{"v": 1}'
    commit_id = commit(connection, message)
    log = connection.execute("SELECT commit_hash, message FROM dolt_log LIMIT 1").fetchall()
    assert log == [(commit_id, message)]
    assert connection.execute("SELECT * FROM dolt_status").fetchall() == []


def test_the_isolation_level_is_autocommit_and_stays_so(connection):
    connection.isolation_level = None
    with pytest.raises(driver.NotSupportedError):
        connection.isolation_level = "IMMEDIATE"


# Errors


@pytest.mark.parametrize(
    ("sql", "error", "name"),
    [
        ("nonsense", driver.OperationalError, "SQLITE_ERROR"),
        ("SELECT * FROM nowhere", driver.OperationalError, "SQLITE_ERROR"),
        ("INSERT INTO t VALUES (1, 1)", driver.IntegrityError, "SQLITE_CONSTRAINT_PRIMARYKEY"),
        ("INSERT INTO t VALUES (2, NULL)", driver.IntegrityError, "SQLITE_CONSTRAINT_NOTNULL"),
        ("INSERT INTO t VALUES (3, -1)", driver.IntegrityError, "SQLITE_CONSTRAINT_CHECK"),
        ("INSERT INTO t VALUES ('x', 1)", driver.IntegrityError, "SQLITE_MISMATCH"),
        ("SELECT zeroblob(2000000000)", driver.DataError, "SQLITE_TOOBIG"),
        ("SELECT dolt_connect_branch('nowhere')", driver.OperationalError, "SQLITE_ERROR"),
    ],
)
def test_an_error_has_its_class_and_its_extended_code(connection, sql, error, name):
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, m NOT NULL CHECK (m > 0))")
    connection.execute("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(error) as raised:
        connection.execute(sql)
    assert type(raised.value) is error
    assert raised.value.sqlite_errorname == name
    assert raised.value.sqlite_errorcode == getattr(sqlite3, name)
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_the_lock_of_a_peer_is_busy(path):
    one, other = driver.connect(path), driver.connect(path, busy_timeout_ms=1)
    one.execute("BEGIN IMMEDIATE")
    with pytest.raises(driver.OperationalError) as raised:
        other.execute("BEGIN IMMEDIATE")
    assert raised.value.sqlite_errorname == "SQLITE_BUSY"
    one.rollback()
    other.execute("BEGIN IMMEDIATE")


def test_every_extended_code_has_the_name_that_sqlite3_gives_it():
    primary = {library.primary_name(code): code for code in range(1, 27)}
    checked = 0
    for constant, code in vars(sqlite3).items():
        start = constant.removeprefix("SQLITE_").split("_")[0]
        if constant.startswith("SQLITE_") and code > 0xFF and primary.get(start) == code & 0xFF:
            assert library.full_name(code) in {constant, f"SQLITE_{start}"}
            checked += library.full_name(code) == constant
    assert checked > 60
    assert library.full_name(999_999) == "SQLITE_UNKNOWN"


def test_a_closed_connection_says_so(connection):
    connection.close()
    connection.close()
    connection.interrupt()
    for use in [connection.commit, lambda: connection.execute("SELECT 1")]:
        with pytest.raises(driver.ProgrammingError, match="closed"):
            use()


def test_a_connection_let_go_gives_up_its_lock(path):
    lost = driver.connect(path)
    lost.execute("BEGIN IMMEDIATE")
    del lost
    next_one = driver.connect(path, busy_timeout_ms=1)
    next_one.execute("BEGIN IMMEDIATE")
    assert next_one.in_transaction


REPREPARED = 5
"""The counter of a statement that says how often it was prepared again."""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM notes WHERE id IN (?, ?) AND value = ? ORDER BY id",
        "SELECT id FROM notes WHERE id > ? LIMIT ? OFFSET ?",
    ],
)
def test_a_statement_is_not_prepared_again_for_other_values(connection, sql):
    for number in range(3):
        connection.execute(sql, ("a", number, number))
    kept = connection._statements[sql]
    assert connection._lib.stmt_status(kept.handle, REPREPARED, 0) == 0
