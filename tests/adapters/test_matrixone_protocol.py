"""What a MatrixOne server is told, and in which order; no server is needed for that."""

from contextlib import nullcontext
from typing import Any

import pytest
from pymysql.err import OperationalError

from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.tables import OLDEST, metadata
from day1.adapters.mysql.url import ServerDatabase
from day1.adapters.rows.statements import columns_at
from day1.adapters.rows.steps import add_missing
from day1.adapters.versioned.matrixone.store import MatrixOneStore
from day1.adapters.versioned.matrixone.time_cursor import PastState, timed
from day1.errors import IntegrityBroken, NotAStore, Refused, StoreUnavailable, Unsupported
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT, KINDS
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from tests.adapters.matrixone_server import HINT, MAIN, NS, OLD, TIP, opened, order, server
from tests.fakes.recording_server import Columns, RecordingServer


def add(store, row_id="fact_1"):
    with store.adding("main") as work:
        work.add(FACT, [fact_row(row_id, NewFact("text"), Origin("ada"), work.now)])


def change(store):
    with store.changing("main") as work:
        work.change(FACT, "fact_1", {"category": "x"})
        return work.commit(Message("change", "a change"))


def changed_row(statement):
    """The row that `change` changes, before and after."""
    row = fact_row("fact_1", NewFact("text"), Origin("ada"), 1)
    row["category"] = None if "MO_TS" in statement else "x"
    return [tuple(row[column] for column in FACT.columns)]


STATE = PastState("db_1", 7)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("SELECT a FROM facts WHERE b", "SELECT a FROM `db_1`.`facts` {MO_TS = 7} WHERE b"),
        ("SELECT a FROM `schema`", "SELECT a FROM `db_1`.`schema` {MO_TS = 7}"),
        ("FROM facts\nUNION ALL SELECT 1 from held", None),
        ("SELECT 1 FROM `x_graph`.`commits`", "SELECT 1 FROM `x_graph`.`commits`"),
        ("SELECT utc_timestamp(6)", "SELECT utc_timestamp(6)"),
    ],
)
def test_a_table_of_the_past_is_named_with_its_database_and_time(said, meant):
    found = timed(said, STATE)
    if meant is None:
        assert found.count("{MO_TS = 7}") == 2
        assert "`db_1`.`held` {MO_TS = 7}" in found
    else:
        assert found == meant


def test_a_statement_that_would_read_the_present_is_refused():
    with pytest.raises(IntegrityBroken):
        timed("SELECT a FROM facts JOIN strangers ON x", STATE)


def test_what_is_read_of_a_branch_is_one_state():
    told = server()
    with opened(told).reading(Ref(branch="main")) as reading:
        reading.find(FACT, Query(limit=1))
        reading.get(FACT, ["fact_1", "fact_2"])
        reading.count(FACT)
        reading.tally(FACT, "category")
    rows = [s for s in told.said if "facts" in s]
    assert len(rows) >= 5
    assert all(s.count(HINT) == s.count("FROM `") for s in rows), rows
    assert all("`facts` {" in s for s in rows)
    assert (
        f"SELECT db, tip, units FROM `day1_graph`.`branches` {HINT} WHERE name = 'main'"
        in told.said
    )


def test_a_commit_is_read_at_its_own_time():
    told = server()
    with opened(told).reading(Ref(commit=TIP)) as reading:
        reading.find(FACT, Query())
    (rows,) = (s for s in told.said if "`facts`" in s)
    assert f"FROM `{MAIN}`.`facts` {{MO_TS = {OLD}}}" in rows


def test_an_addition_is_one_transaction_under_the_branchs_lock():
    told = server()
    add(opened(told))
    order(
        told,
        r"SELECT GET_LOCK",
        r"SELECT db, tip",
        rf"USE `{MAIN}`",
        r"START TRANSACTION",
        r"INSERT INTO facts",
        r"UPDATE `day1_graph`.`branches` SET tip = '(a+)', units = units \+ 1",
        r"COMMIT",
        r"SELECT RELEASE_LOCK",
    )
    assert not [s for s in told.said if s.startswith("INSERT INTO `day1_graph`.`commits`")]


def test_an_acknowledged_addition_that_the_server_does_not_have_is_no_success():
    told = server(first={r"SELECT db, tip, units FROM": [(MAIN, TIP, 7)]})
    with pytest.raises(StoreUnavailable, match="does not have them"):
        add(opened(told))


def test_a_commit_is_written_with_its_rows_and_stamped_after_the_acknowledgement():
    told = server(first={r"SELECT `id`, .* FROM .*`facts`": changed_row})
    made = change(opened(told))
    begun, updated, noted, done, seen, stamped, freed = order(
        told,
        r"START TRANSACTION",
        r"UPDATE facts",
        r"INSERT INTO `day1_graph`.`commits`",
        r"COMMIT",
        r"SELECT 1 FROM `day1_graph`.`commits` {MO_TS",
        r"UPDATE `day1_graph`.`commits` SET ns",
        r"SELECT RELEASE_LOCK",
    )
    assert told.said[stamped] == (
        f"UPDATE `day1_graph`.`commits` SET ns = {NS} WHERE id = '{made}'"
    )
    assert any(s.startswith("SELECT utc_timestamp") for s in told.said[done:seen])
    assert begun < updated < noted < freed


def test_a_unit_that_changes_nothing_makes_no_commit():
    told = server()
    store = opened(told)
    with store.changing("main") as work:
        assert work.commit(Message("change", "nothing")) == TIP
    assert "COMMIT" not in told.said
    assert told.said.count("ROLLBACK") >= 1


def test_what_a_killed_process_left_unstamped_is_stamped_before_anything_is_written():
    told = server(ns=None)
    add(opened(told))
    order(
        told,
        r"SELECT GET_LOCK",
        rf"UPDATE `day1_graph`.`commits` SET ns = {NS}",
        r"START TRANSACTION",
    )


def test_a_reader_that_meets_an_unstamped_commit_takes_the_lock_and_stamps_it():
    told = server(ns=None)
    with opened(told).reading(Ref(commit=TIP)) as reading:
        reading.find(FACT, Query())
    order(
        told,
        r"SELECT GET_LOCK",
        rf"UPDATE `day1_graph`.`commits` SET ns = {NS}",
        r"SELECT RELEASE_LOCK",
        r"SELECT facts",
    )


def test_a_stamp_waits_until_the_past_has_the_commit():
    late = iter([[], [], [(1,)]])
    told = server(
        first={
            r"SELECT `id`, .* FROM .*`facts`": changed_row,
            r"SELECT count\(": [(0,)],
            r"SELECT 1 FROM `day1_graph`.`commits`": lambda _: next(late),
        }
    )
    change(opened(told))
    assert len([s for s in told.said if s.startswith("SELECT 1 FROM")]) == 3


def test_a_fork_clones_at_the_commits_time_together_with_its_note():
    told = server()
    opened(told).history.fork("side/Ö x", TIP)
    begun, cloned, noted, done = order(
        told,
        r"START TRANSACTION",
        rf"DATA BRANCH CREATE DATABASE `day1_b_side_x_[0-9a-f]{{8}}` FROM `{MAIN}` {{MO_TS = {OLD}}}",
        r"INSERT INTO `day1_graph`.`branches`",
        r"COMMIT",
    )
    assert (cloned, noted, done) == (begun + 1, begun + 2, begun + 3)


def test_a_quota_that_is_used_up_is_named_with_what_to_do():
    quota = OperationalError(20101, "internal error: feature BRANCH … has reached the limit of 50")
    told = server(first={r"DATA BRANCH CREATE": quota})
    with pytest.raises(Refused, match=r"quota of branch tables.*day1 gc.*mo_feature_limit"):
        opened(told).history.fork("side", TIP)
    assert told.said[-1] == "ROLLBACK"


@pytest.mark.filterwarnings("error::sqlalchemy.exc.SAWarning")
def test_an_older_ledger_is_brought_up_without_asking_for_types():
    """F9: the types that this server says were warned of, one line for each `bool`."""
    tables = {
        rf"SELECT \* FROM `{name}`": Columns(*(table.columns.keys()))
        for name, table in metadata.tables.items()
    }
    older = {**tables, r"SELECT \* FROM `sessions`": Columns(*OLDEST["sessions"])}
    there = {r"SHOW TABLES": [(name,) for name in metadata.tables], r"DESCRIBE": [("id",)]}
    told = RecordingServer({**there, **older})
    engine = told.engine().execution_options(isolation_level="AUTOCOMMIT")
    actions: Any = nullcontext()
    SqlLedger(engine, actions, "there", "").create(1)
    altered = {s.rpartition(" ")[0] for s in told.said if s.startswith("ALTER")}
    younger = set(metadata.tables["sessions"].columns.keys()) - OLDEST["sessions"]
    assert altered == {f"ALTER TABLE sessions ADD {name}" for name in younger}
    assert not [s for s in told.said if s.startswith(("SHOW CREATE", "CREATE", "DROP"))]


@pytest.mark.parametrize("version", ["4.1.9", "3.0.0", "nightly"])
def test_an_older_server_is_refused(version):
    with pytest.raises(Unsupported, match=r"day1 needs 4\.2"):
        MatrixOneStore(ServerDatabase(server().engine(), "day1", "there", version))


def test_a_database_without_a_store_is_none():
    told = server(first={r"SELECT db, tip, units FROM": []})
    with pytest.raises(NotAStore):
        opened(told)


def test_a_history_of_rows_is_not_had_and_what_is_instead_is_said():
    with pytest.raises(Unsupported) as refused:
        opened(server()).history.versions(FACT, "fact_1", TIP)
    assert "at each commit" in str(refused.value.details["instead"])


def test_a_step_adds_the_columns_of_a_table_by_one_statement():
    """The server copies the table for each."""
    first = {rf"SELECT \* FROM `{k.table}`": Columns(*columns_at(k, 1)) for k in KINDS}
    told = server(first=first)
    with told.engine().connect() as connection:
        add_missing(connection)
    altered = {s.split("`")[1]: s.count("ADD COLUMN") for s in told.said if s.startswith("ALTER")}
    assert altered == {kind.table: len(kind.younger) for kind in KINDS if kind.younger}
    assert len([s for s in told.said if s.startswith("ALTER")]) == len(altered)
