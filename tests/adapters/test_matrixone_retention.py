"""How far back a MatrixOne server keeps the past, by its catalog or by what an administrator states."""

from datetime import UTC
from types import SimpleNamespace
from typing import Any

import pytest
from pymysql.err import OperationalError

from day1.adapters.versioned.matrixone.store import MatrixOneStore
from day1.errors import ForeignStore, NotFound, StoreDamaged
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.services.health.doctor import _engine
from tests.adapters.matrixone_server import CREATED, NS, PITR, TIP, opened, order, server
from tests.fakes.recording_server import Columns


def test_a_state_that_the_server_no_longer_keeps_is_not_asked_for():
    two_days = NS - 2 * 86_400 * 10**9
    told = server(ns=two_days)
    store = opened(told)
    with pytest.raises(NotFound, match="PITR"), store.reading(Ref(commit=TIP)):
        pass
    assert not [s for s in told.said if "facts" in s]


def test_without_a_pitr_an_hour_is_kept_and_doctor_says_so():
    told = server(pitr=[], ns=NS - 3_599 * 10**9)
    with opened(told).reading(Ref(commit=TIP)):
        pass
    told = server(pitr=[], ns=NS - 3_601 * 10**9)
    store = opened(told)
    with pytest.raises(NotFound), store.reading(Ref(commit=TIP)):
        pass
    assert any("CREATE PITR" in line for line in store.check())


def test_the_pitr_of_another_tenant_or_of_one_database_keeps_nothing_here():
    others = [(*PITR[:4], "acme", *PITR[5:]), (*PITR[:3], "database", "sys", "x", "*", 100, "y")]
    assert any("CREATE PITR" in line for line in opened(server(pitr=others)).check())
    assert opened(server()).check() == []


DENIED = OperationalError(20101, "internal error: do not have privilege to execute the …")
MAY_NOT_SEE = {r"SELECT pitr_name, .* FROM mo_catalog": DENIED}


def test_a_user_who_may_not_see_pitrs_is_told_by_the_catalog():
    told = server(pitr=DENIED, first={r"SELECT pitr_name, .* FROM mo_catalog": [PITR]})
    assert opened(told).check() == []


def test_a_past_whose_end_is_not_known_is_read_and_doctor_warns():
    """F2: with the documented rights a branch older than an hour could not be read as it was."""
    told = server(pitr=DENIED, ns=NS - 3_601 * 10**9, first=MAY_NOT_SEE)
    store = opened(told)
    with store.reading(Ref(commit=TIP)) as reading:
        reading.find(FACT, Query())
    assert store.check() == []
    (warning,) = store.warnings()
    assert "`day1 init`" in warning
    repo: Any = SimpleNamespace(store=store)
    assert (_engine(repo).level, _engine(repo).advice) == ("warn", warning)
    other: Any = SimpleNamespace(store=opened(server()))
    assert _engine(other).level == "ok"


def stated(*spans):
    """A server whose PITR this user may not see, and which an administrator has stated."""
    return {
        **MAY_NOT_SEE,
        r"SHOW TABLES FROM `day1_graph`": [("kept",)],
        r"SELECT since, length FROM `day1_graph`.`kept`": list(spans),
    }


def test_what_an_administrator_stated_is_how_far_the_past_goes():
    """F2: the window that `init` wrote down holds for users who may not see it."""
    hours = 3_600 * 10**6
    span = (NS // 1_000 - 3 * hours, 2 * hours)
    told = server(pitr=DENIED, ns=NS - 7_000 * 10**9, first=stated(span))
    with opened(told).reading(Ref(commit=TIP)):
        pass
    told = server(pitr=DENIED, ns=NS - 7_500 * 10**9, first=stated(span))
    store = opened(told)
    with pytest.raises(NotFound, match="PITR"), store.reading(Ref(commit=TIP)):
        pass
    assert (store.check(), store.warnings()) == ([], [])


GRAPH = {
    r"SHOW DATABASES": [("day1_graph",)],
    r"SHOW TABLES$": [("commits",), ("branches",), ("tags",)],
    r"SELECT \* FROM `commits`": Columns("id", "db", "ns", "parent", "merged", "author", "message"),
    r"SELECT \* FROM `branches`": Columns("name", "db", "tip", "units"),
    r"SELECT \* FROM `tags`": Columns("name", "commit_id"),
}


def create(told):
    return MatrixOneStore.create(told.engine(), "day1", "there/day1")


def test_the_administrators_init_states_how_far_the_past_goes():
    """F2: it also does so on a store that is there, which it leaves as it is."""
    told = server(first=GRAPH)
    assert not create(told)
    day = 86_400 * 10**6
    since = int(CREATED.replace(tzinfo=UTC).timestamp()) * 10**6 - 10**6
    written = f"INSERT INTO `day1_graph`.`kept` (since, length) VALUES ({since}, {36_500 * day})"
    assert written in told.said
    assert not [s for s in told.said if s.startswith("CREATE DATABASE")]


def test_an_init_of_a_user_who_may_not_see_it_changes_nothing_that_was_stated(caplog):
    """F2: nor does it warn of what is known."""
    told = server(pitr=DENIED, first={**GRAPH, **stated((1, 2)), r"CREATE PITR": DENIED})
    assert not create(told)
    assert not [s for s in told.said if "INSERT INTO `day1_graph`" in s or "DELETE FROM" in s]
    assert caplog.messages == []


@pytest.mark.parametrize(
    "there",
    [
        {r"SHOW TABLES$": [("orders",)]},
        {r"SHOW TABLES$": [("tags",)], r"SELECT \* FROM `tags`": Columns("name", "colour")},
    ],
)
def test_the_graphs_database_of_another_program_is_left_alone(there):
    """F1: `init` made its tables in a database NAME_graph of another program."""
    told = server(first={**there, **GRAPH, **there})
    with pytest.raises(ForeignStore, match=r"orders|tags"):
        create(told)
    assert not [s for s in told.said if s.startswith(("CREATE", "DROP", "ALTER", "INSERT"))]


def test_an_init_that_was_killed_goes_on():
    """F1: tables of the graph without a row are what a killed `init` leaves."""
    told = server(first={**GRAPH, r"SELECT db, tip, units FROM": []})
    assert create(told)
    order(
        told,
        r"CREATE TABLE IF NOT EXISTS commits",
        r"CREATE DATABASE",
        r"COMMIT",
        r"INSERT INTO `day1_graph`.`kept`",
    )
    rows = {r"SELECT 1 FROM `commits`": [(1,)]}
    told = server(first={**GRAPH, **rows, r"SELECT db, tip, units FROM": []})
    with pytest.raises(StoreDamaged, match="commits"):
        create(told)
