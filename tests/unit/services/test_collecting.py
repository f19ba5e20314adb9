"""Which rows are in a collection, and when its cache is used."""

from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import FACT
from day1.services.workspace.collecting import cached_records, collection_of, forget_collections
from tests.unit.services.conftest import Bench
from tests.unit.services.searched import Searching


@pytest.fixture
def searching(bench: Bench) -> Searching:
    return Searching(bench)


def read(bench: Bench, *spaces: str | None) -> Any:
    with bench.store.reading(bench.repo.shown(Ref(branch=MAIN))) as reading:
        return collection_of(bench.repo, reading, spaces)


def ids(bench: Bench, *spaces: str | None) -> list[str]:
    return [record.row_id for record in read(bench, *spaces).records]


def test_only_rows_that_may_be_shown_are_read(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "x: 1\ny: 2")
    searching.fact("secret", "x: 1\ny: 2", sensitivity="secret")
    searching.fact("old", "x: 1\ny: 2", status="superseded")
    searching.fact("wrong", "x: 1\ny: 2", verification="invalidated")
    searching.fact("ended", "x: 1\ny: 2", valid_until=bench.now - 1)
    searching.observation("b", "no pairs", structure='{"x": 3}')
    searching.observation("gone", "x: 1\ny: 2", expires_at=bench.now)
    assert ids(bench) == ["fact_a", "obs_b"]


def test_a_row_that_ends_leaves_without_a_commit(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "x: 1\ny: 2", expires_at=bench.now + 100)
    searching.observation("b", "x: 1\ny: 2")
    assert ids(bench) == ["fact_a", "obs_b"]
    bench.now += 200
    assert ids(bench) == ["obs_b"]


def test_each_space_has_its_collection(searching: Searching) -> None:
    searching.fact("a", "x: 1\ny: 2", space="p")
    searching.fact("b", "x: 1\ny: 2")
    searching.fact("c", "x: 1\ny: 2", space="q")
    assert ids(searching.bench, "p") == ["fact_a"]
    assert ids(searching.bench, "p", None) == ["fact_a", "fact_b"]
    assert ids(searching.bench) == ["fact_a", "fact_b", "fact_c"]


def test_a_collection_is_read_once_until_the_state_changes(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "x: 1\ny: 2")
    first = read(bench)
    assert read(bench) is first
    searching.fact("b", "x: 1\ny: 2")
    second = read(bench)
    assert second is not first
    assert [record.row_id for record in second.records] == ["fact_a", "fact_b"]
    with bench.store.changing(MAIN) as work:
        work.change(FACT, "fact_a", {"status": "archived"})
        work.commit(Message("change", "over"))
    assert ids(bench) == ["fact_b"]


def test_few_collections_are_kept_and_all_can_be_dropped(searching: Searching) -> None:
    searching.fact("a", "x: 1\ny: 2")
    for space in (None, "a", "b", "c", "d"):
        read(searching.bench, space)
    assert len(searching.bench.repo.collections) == 4
    read(searching.bench)
    assert cached_records(searching.bench.repo) == 1
    assert forget_collections(searching.bench.repo) == 1
    assert cached_records(searching.bench.repo) == 0
