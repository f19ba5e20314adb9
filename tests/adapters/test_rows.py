"""Queries over rows, in as many parts as an engine's limit on bound values asks for."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from day1.adapters.rows import rows
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.filters import Filter


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    """Ten facts, learned in the order of their numbers; those with a date are of long ago."""
    folder = tmp_path_factory.mktemp("store")
    DoltLiteStore.create(folder, lambda: 1)
    store = DoltLiteStore(folder, lambda: 1_000)
    with store.adding("main") as work:
        for number in range(10):
            row = fact_row(
                f"fact_{number}",
                NewFact(
                    f"text {number}",
                    category=(None, "red", "blue")[number % 3],
                    happened_at=10 - number if number % 5 == 0 else None,
                ),
                Origin("ada"),
                1_000 + number,
            )
            work.add(FACT, [row])
    with store.reading(Ref(branch="main")) as opened:
        yield opened
    store.close()


@pytest.fixture(params=[500, 2])
def in_parts(request, monkeypatch):
    monkeypatch.setattr(rows, "_CHUNK", request.param)


def numbers(found):
    return [int(row["id"][-1]) for row in found]


def of(*wanted):
    return [f"fact_{number}" for number in wanted]


def test_rows_come_by_when_it_happened_then_by_id(reading):
    assert numbers(reading.find(FACT, Query())) == [5, 0, 1, 2, 3, 4, 6, 7, 8, 9]
    backwards = reading.find(FACT, Query(descending=True, limit=3))
    assert numbers(backwards) == [9, 8, 7]


def test_a_long_list_of_values_is_asked_in_parts_and_put_together(reading, in_parts):
    wanted = {"id": of(9, 5, 1, 0, 8, 3)}
    assert numbers(reading.find(FACT, Query(among=wanted))) == [5, 0, 1, 3, 8, 9]
    newest = Query(among=wanted, descending=True, limit=2)
    assert numbers(reading.find(FACT, newest)) == [9, 8]
    assert set(reading.get(FACT, of(9, 5, 1, 9, 77))) == set(of(1, 5, 9))


def test_a_query_combines_all_of_its_conditions(reading):
    assert numbers(reading.find(FACT, Query(equal={"category": "red"}))) == [1, 4, 7]
    assert numbers(reading.find(FACT, Query(equal={"category": None}))) == [0, 3, 6, 9]
    red_late = Query(equal={"category": "red"}, without={"id": of(4)}, after=1_002)
    assert numbers(reading.find(FACT, red_late)) == [7]
    assert reading.find(FACT, Query(among={"id": []})) == []
    assert numbers(reading.find(FACT, Query(among={"category": ["red", None]}))) == [
        0,
        1,
        3,
        4,
        6,
        7,
        9,
    ]
    assert numbers(reading.find(FACT, Query(among={"category": [None]}))) == [0, 3, 6, 9]


def test_a_window_has_both_its_ends_and_counts_by_when_it_happened(reading):
    assert numbers(reading.find(FACT, Query(after=1_002, before=1_004))) == [2, 3, 4]
    assert numbers(reading.find(FACT, Query(before=10))) == [5, 0]
    assert numbers(reading.find(FACT, Query(after=10, before=1_001))) == [0, 1]


def test_what_was_learned_since_comes_in_that_order(reading):
    found = reading.scan(FACT, ("id", "created_at"), Query(created_after=1_004))
    assert found == [(f"fact_{number}", 1_000 + number) for number in range(5, 10)]
    assert [row for (row,) in reading.scan(FACT, ("id",), Query())] == of(*range(10))
    newest = Query(order="created_at", descending=True, limit=3)
    assert [row for (row,) in reading.scan(FACT, ("id",), newest)] == of(9, 8, 7)


def test_rows_are_counted_by_value(reading):
    assert reading.count(FACT) == 10
    assert reading.tally(FACT, "category") == {None: 4, "red": 3, "blue": 3}
    assert (reading.pending.count, reading.pending.oldest, reading.pending.newest) == (
        10,
        1_000,
        1_009,
    )


def test_the_bytes_of_a_column_are_summed(reading):
    assert reading.size(FACT, "category", Query()) == 3 * len("red") + 3 * len("blue")
    assert reading.size(FACT, "category", Query(among={"id": of(1, 2, 3)})) == len("redblue")
    many_ids = [*of(1), *(f"fact_none_{number}" for number in range(2 * rows._CHUNK))]
    assert reading.size(FACT, "category", Query(among={"id": many_ids})) == len("red")
    assert reading.size(FACT, "category", Query(equal={"id": "fact_none"})) == 0


def test_rows_without_a_value_are_counted_and_found(reading):
    assert reading.count(FACT, {"category": None}) == 4
    assert reading.count(FACT, {"category": None, "agent_id": "ada"}) == 4
    assert reading.count(FACT, {"category": None, "agent_id": "bo"}) == 0
    assert numbers(reading.find(FACT, Query(equal={"category": None}))) == [0, 3, 6, 9]


def explained(reading, query):
    """How the engine would read the rows of a query."""
    run = rows.directly

    def explain(connection, sql, values=()):
        return run(connection, f"EXPLAIN QUERY PLAN {sql}", values)

    with patch.object(rows, "directly", explain):
        return str(reading.scan(FACT, ("id",), query))


@pytest.mark.parametrize("more", [{}, {"superseded": True}])
def test_a_view_of_one_space_costs_what_its_rows_do(reading, more):
    """However many rows the others have: they are found by the index on the space."""
    held = Filter(FACT, scope={"space": "project:a"}, **more).view_query
    assert "facts_space" in explained(reading, replace(held, public=False))


@pytest.mark.parametrize(
    ("more", "index"),
    [
        ({"among": {"content_hash": ["a", "b"]}}, "facts_content_hash"),
        ({"among": {"status": ["active"]}, "created_after": 1_005}, "facts_created_at"),
        ({"among": {"status": ["active"]}}, "SCAN facts"),
        ({"without": {"status": ["archived"]}, "order": "created_at"}, "facts_created_at"),
    ],
)
def test_rows_of_no_space_are_found_by_what_is_asked_beside_it(reading, more, index):
    """Most rows have none, and an engine without statistics takes them for few."""
    query = Query(equal={"space": None}, **more)
    assert len(reading.scan(FACT, ("id",), replace(query, among={}))) == (
        4 if "created_after" in more else 10
    )

    assert index in explained(reading, query)


@pytest.mark.parametrize("count", range(11))
def test_a_list_of_any_length_has_its_rows(reading, count):
    """Short lists are prepared for 1, 2, 4 or 8 values, others bound whole."""
    ids = of(*range(count))
    assert {*numbers(reading.find(FACT, Query(among={"id": ids})))} == {*range(count)}
    assert {*numbers(reading.find(FACT, Query(without={"id": ids})))} == {*range(count, 10)}


def test_a_list_with_no_value_beside_others_finds_the_rows_without_one(reading):
    query = Query(among={"category": [None, "red"], "id": ["fact_0", "fact_1", "fact_2"]})
    assert numbers(reading.find(FACT, query)) == [0, 1]


def test_two_lists_of_one_length_share_a_statement(reading):
    rows.prepared.cache_clear()
    for ids in (["fact_1", "fact_2", "fact_3"], ["fact_4", "fact_5", "fact_6", "fact_7"]):
        assert [row for (row,) in reading.scan(FACT, ("id",), Query(among={"id": ids}))] == ids
    assert rows.prepared.cache_info().currsize == 1


def test_a_lost_connection_leaves_the_pool():
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        raw.close()
        with pytest.raises(DBAPIError) as lost:
            rows.directly(connection, "SELECT 1")
        assert lost.value.connection_invalidated
        assert connection.invalidated
        with pytest.raises(DBAPIError) as wrong:
            rows.directly(engine.connect(), "SELECT nothing")
        assert not wrong.value.connection_invalidated
