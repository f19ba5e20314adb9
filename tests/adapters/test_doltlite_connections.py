"""The DoltLite driver: opening, threads, functions, its library, and its neighbours."""

import subprocess
import sys
import textwrap
import threading
import tomllib
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert

from day1.adapters.versioned.doltlite.dbapi import driver, library
from day1.errors import StoreUnavailable, StoreVersionUnknown
from tests.adapters.doltlite_database import ids, make, write

ROOT = Path(__file__).parents[2]
COUNT_FOR_LONG = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
    SELECT count(*) FROM n
"""


# Threads


def test_a_statement_of_another_thread_can_be_interrupted(connection):
    failed = []

    def count():
        try:
            connection.execute(COUNT_FOR_LONG)
        except driver.OperationalError as error:
            failed.append(error.sqlite_errorname)

    counting = threading.Thread(target=count)
    counting.start()
    while counting.is_alive():
        connection.interrupt()
        counting.join(0.01)
    assert failed == ["SQLITE_INTERRUPT"]


def test_threads_with_connections_of_their_own(path):
    failures = []

    def work(name):
        try:
            mine = driver.connect(path, busy_timeout_ms=30_000)
            for number in range(25):
                write(mine, f"{name}-{number:02}")
            assert sum(key.startswith(name) for key in ids(mine)) == 25
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(ids(driver.connect(path))) == 100


def test_threads_may_share_a_connection(connection):
    """The count of changes belongs to the connection: another thread's must not be taken for it."""
    connection.execute("CREATE TABLE numbers (n)")
    counts = {}

    def work(size):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        counts[size] = {
            connection.execute(sql + "INSERT INTO numbers SELECT i FROM n", (size,)).rowcount
            for _ in range(50)
        }

    connection.execute("BEGIN IMMEDIATE")
    threads = [threading.Thread(target=work, args=(size,)) for size in (10, 20, 30, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.commit()
    assert counts == {size: {size} for size in (10, 20, 30, 40)}
    assert connection.execute("SELECT count(*) FROM numbers").fetchall() == [(5000,)]


# Functions


def test_a_python_function_can_be_called_in_sql(connection):
    connection.create_function("echo", 1, lambda value: value, deterministic=True)
    for value in [None, "a\0é", "", b"\0b", b"", 2**40, -1, 1.5]:
        assert connection.execute("SELECT echo(?)", (value,)).fetchall() == [(value,)]
    connection.create_function("joined", -1, lambda *parts: "".join(parts))
    assert connection.execute("SELECT joined(), joined('a', 'b')").fetchall() == [("", "ab")]


def test_what_a_python_function_raises_is_an_error_of_the_statement(connection):
    connection.create_function("broken", 0, lambda: 1 / 0)
    with pytest.raises(driver.OperationalError, match="ZeroDivisionError"):
        connection.execute("SELECT broken()")
    connection.create_function("broken", 0, None)
    with pytest.raises(driver.OperationalError, match="no such function"):
        connection.execute("SELECT broken()")


def test_a_python_function_may_run_the_statement_that_calls_it(connection):
    sql = "SELECT CASE WHEN ? < 3 THEN deeper(1 + ?) ELSE 'deep' END"
    connection.create_function("deeper", 1, lambda n: connection.execute(sql, (n, n)).fetchone()[0])
    assert connection.execute(sql, (0, 0)).fetchall() == [("deep",)]


# Opening


def test_a_branch_and_a_commit_open_beside_one_another(connection, path):
    first = write(connection, "a")
    connection.execute("SELECT dolt_branch('task/x/alice')")
    write(connection, "b")
    alice = driver.connect(path, branch="task/x/alice")
    write(alice, "c")
    past = driver.connect(path, commit=first)
    assert (ids(connection), ids(alice), ids(past)) == (["a", "b"], ["a", "c"], ["a"])
    assert past.execute("SELECT active_branch()").fetchall() == [(None,)]
    with pytest.raises(driver.OperationalError) as raised:
        write(past, "d")
    assert raised.value.sqlite_errorname == "SQLITE_READONLY"


@pytest.mark.parametrize("branch", [None, "main", "side"])
def test_a_read_only_connection_refuses_writes(connection, path, branch):
    connection.execute("SELECT dolt_branch('side')")
    reader = driver.connect(path, branch=branch, mode="ro")
    assert ids(reader) == []
    with pytest.raises(driver.OperationalError) as raised:
        reader.execute("INSERT INTO notes VALUES ('a', 1)")
    assert raised.value.sqlite_errorname == "SQLITE_READONLY"
    assert ids(driver.connect(path, mode="ro")) == []


def test_only_a_branch_is_a_branch(connection, path):
    tip = write(connection, "a")
    connection.execute("SELECT dolt_tag('v1')")
    for name in ["nowhere", "v1", "main~1", "MAIN", tip]:
        with pytest.raises(driver.OperationalError) as raised:
            driver.connect(path, branch=name)
        assert raised.value.sqlite_errorname == "SQLITE_CANTOPEN"
    with pytest.raises(driver.OperationalError, match="not found"):
        driver.connect(path, commit="0" * 40)


@pytest.mark.parametrize(
    "options",
    [{}, {"branch": "main"}, {"branch": "main", "mode": "rwc"}, {"mode": "ro"}],
)
def test_a_missing_file_is_refused_and_not_made(tmp_path, options):
    with pytest.raises(driver.OperationalError, match="no such database file") as raised:
        driver.connect(tmp_path / "missing.db", **options)
    assert raised.value.sqlite_errorname == "SQLITE_CANTOPEN"
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_is_no_database(tmp_path):
    file = tmp_path / "memory.db"
    file.write_bytes(b"something else entirely " * 100)
    with pytest.raises(driver.DatabaseError) as raised:
        driver.connect(file).execute("SELECT * FROM sqlite_master")
    assert raised.value.sqlite_errorname == "SQLITE_NOTADB"


@pytest.mark.parametrize("folder", ["a@b", "a#b", "a?b=c&d", "a b", "a%20b", "é🧠", "x.db@main"])
@pytest.mark.parametrize("name", ["memory.db", "m@x.db", "m#x?y.db", "m %41.db"])
def test_any_character_is_legal_in_a_path(tmp_path, folder, name):
    (tmp_path / folder).mkdir()
    file = tmp_path / folder / name
    make(file)
    main = driver.connect(file)
    main.execute("SELECT dolt_branch('agent/x.y_z-1')")
    tip = write(main, "a")
    assert ids(driver.connect(file, branch="agent/x.y_z-1")) == []
    assert ids(driver.connect(str(file), branch="main", mode="ro")) == ["a"]
    assert ids(driver.connect(file, commit=tip)) == ["a"]
    assert {entry.name for entry in file.parent.iterdir()} == {name, f".{name}-lock"}


# Neighbours


OURS = "from day1.adapters.versioned.doltlite.dbapi import driver, library; library.library()"
STOCK_FOR_ALL = """
import ctypes, ctypes.util
stock = ctypes.util.find_library("sqlite3")
if stock: ctypes.CDLL(stock, mode=ctypes.RTLD_GLOBAL)
"""


@pytest.mark.parametrize(
    "imports",
    [
        ["import sqlite3", OURS],
        [OURS, "import sqlite3"],
        [STOCK_FOR_ALL, OURS, "import sqlite3"],
    ],
    ids=["sqlite3 first", "driver first", "global symbols"],
)
def test_pythons_sqlite_is_unchanged_beside_doltlite(tmp_path, imports):
    program = "\n".join(imports) + textwrap.dedent("""
        import sys
        stock = sqlite3.connect("stock.db")
        stock.execute("CREATE TABLE t (a)")
        ours = driver.connect("ours.db", mode="rwc")
        ours.execute("CREATE TABLE t (a)")
        stock.execute("INSERT INTO t VALUES (1)")
        stock.commit()
        late = sqlite3.connect("late.db")
        late.execute("CREATE TABLE t (a)")
        assert ours.execute("SELECT doltlite_engine()").fetchall() == [("prolly",)]
        try:
            late.execute("SELECT doltlite_engine()")
        except sqlite3.OperationalError:
            pass
        else:
            raise AssertionError("stock sqlite3 was swapped")
        assert "doltlite" not in sys.modules
        for name in ("stock.db", "late.db"):
            assert open(name, "rb").read(15) == b"SQLite format 3", name
        assert open("ours.db", "rb").read(15) != b"SQLite format 3"
    """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_sqlalchemy_core_works_over_the_driver(path):
    engine = sa.create_engine(
        "sqlite://",
        module=driver,
        creator=lambda: driver.connect(path),
        poolclass=sa.pool.QueuePool,
        isolation_level="AUTOCOMMIT",
    )
    metadata = sa.MetaData()
    facts = sa.Table(
        "facts",
        metadata,
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("vector", sa.LargeBinary),
        sa.Column("verdict", sa.JSON),
    )
    metadata.create_all(engine)
    rows = [
        {"id": f"f{n}", "text": f"fact {n}", "score": n / 3, "vector": b"\0\1", "verdict": {"n": n}}
        for n in range(10)
    ]
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(sa.insert(facts), rows)
        statement = upsert(facts).values(id="f0", text="again")
        statement = statement.on_conflict_do_update(
            index_elements=["id"], set_={"text": statement.excluded.text}
        )
        assert connection.execute(statement.returning(facts.c.score)).scalar_one() == 0
        connection.execute(sa.text("SELECT dolt_commit('-A', '-m', :m)"), {"m": "facts"}).all()
        connection.exec_driver_sql("COMMIT")
        changed = connection.execute(
            sa.update(facts).where(facts.c.score > 1).values(score=None)
        ).rowcount
    with engine.connect() as connection:
        kept = connection.execute(sa.select(facts).order_by(facts.c.id)).all()
        matched = connection.scalars(
            sa.select(facts.c.id).where(facts.c.text.regexp_match("^fact [12]$"))
        ).all()
    assert changed == 6
    assert kept[0] == ("f0", "again", 0.0, b"\0\1", {"n": 0})
    assert kept[9] == ("f9", "fact 9", None, b"\0\1", {"n": 9})
    assert matched == ["f1", "f2"]
    assert sa.inspect(engine).get_pk_constraint("facts")["constrained_columns"] == ["id"]
    with pytest.raises(sa.exc.IntegrityError), engine.connect() as connection:
        connection.execute(sa.insert(facts), rows[:1])
    engine.dispose()


# The library


@pytest.mark.skipif(not Path("/proc/self/io").is_file(), reason="only Linux counts what is read")
def test_an_opening_reads_the_end_of_a_file_and_not_all_that_was_written_lately(path, connection):
    text = "x" * 10_000
    for number in range(400):
        connection.execute("INSERT INTO notes VALUES (?, ?)", (f"n-{number}", f"{number}{text}"))
    written = path.stat().st_size
    before = _bytes_read()
    driver.connect(path).close()
    assert _bytes_read() - before < 1.5 * library.UNINDEXED_BYTES
    assert written > 4 * library.UNINDEXED_BYTES


def _bytes_read() -> int:
    """Bytes that this process has read so far, from caches too."""
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


def test_the_version_is_the_one_that_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"doltlite=={library.ENGINE_VERSION}" in project["dependencies"]
    assert library.engine_version() == library.ENGINE_VERSION
    assert driver.sqlite_version_info >= (3, 54)


def test_another_version_of_the_engine_is_refused(monkeypatch):
    monkeypatch.setattr(library, "ENGINE_VERSION", "0.50.0")
    with pytest.raises(StoreVersionUnknown) as refused:
        library.load(library.library_path())
    assert refused.value.details["expected"] == "0.50.0"


def test_an_engine_that_is_missing_or_broken_is_unavailable(monkeypatch, tmp_path):
    broken = tmp_path / "libdoltlite.so"
    broken.write_bytes(b"no library")
    with pytest.raises(StoreUnavailable, match="cannot be loaded"):
        library.load(broken)
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    with pytest.raises(StoreUnavailable, match="pip install doltlite=="):
        library.library_path()
