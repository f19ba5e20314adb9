"""All connections of a process share the memory for pages and statements of a store."""

from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from day1.adapters.versioned.doltlite import connections as doltlite_connections
from day1.adapters.versioned.doltlite.connections import Caches
from day1.adapters.versioned.doltlite.dbapi import library
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from tests.flows.opened_store import call, facts, write
from tests.flows.random_store import opened_at
from tests.suites.memory import Clock


class Opened:
    """A connection that records the size of its cache in KiB."""

    kib = 0
    kept_statements = 0

    def execute(self, statement: str) -> None:
        self.kib = -int(statement.removeprefix("PRAGMA cache_size = "))


@pytest.fixture
def caches() -> Caches:
    return Caches(64 * 1024)


def limited(caches: Caches, *connections: Any) -> list[int]:
    for connection in connections:
        caches.limit(connection)
    return [connection.kib for connection in connections]


def test_a_few_connections_keep_all_that_one_may_keep(caches: Caches) -> None:
    assert limited(caches, *(Opened() for _ in range(4))) == [16_384] * 4


def test_many_connections_keep_equal_parts_once_each_was_used(caches: Caches) -> None:
    connections = [Opened() for _ in range(32)]
    limited(caches, *connections)
    assert sum(connection.kib for connection in connections) <= (64 + 32) * 1024
    limited(caches, *connections)
    assert set(limited(caches, *connections)) == {2_048}


def test_each_connection_keeps_one_mb_in_any_case(caches: Caches) -> None:
    connections = [Opened() for _ in range(200)]
    limited(caches, *connections)
    assert set(limited(caches, *connections)) == {1_024}


def test_prepared_statements_are_divided_among_the_connections(caches: Caches) -> None:
    connections = [Opened() for _ in range(200)]
    counts = []
    for connection in connections:
        caches.limit(cast(Any, connection))
        counts.append(connection.kept_statements)
    assert counts[0] == counts[15] == 128
    assert counts[31] == 64
    assert counts[-1] == 24


def test_closed_connections_give_their_part_back(caches: Caches) -> None:
    connections = [Opened() for _ in range(32)]
    limited(caches, *connections)
    last = connections.pop()
    connections.clear()
    assert limited(caches, last) == [16_384]


def test_an_unchanged_part_asks_the_engine_nothing(caches: Caches) -> None:
    connection = Mock()
    limited(caches, connection, connection, connection)
    connection.execute.assert_called_once_with("PRAGMA cache_size = -16384")


def test_the_connections_of_a_store_share_its_setting(tmp_path: Any) -> None:
    DoltLiteStore.create(tmp_path, lambda: 1)
    store = DoltLiteStore(tmp_path, Clock(), cache_mb=16)
    connections = store._connections
    with connections.on_branch("main") as first, connections.on_branch("main") as second:
        assert cache_kib(first) + cache_kib(second) == 16_384 + 1_024
    with connections.on_branch("main") as first, connections.on_branch("main") as second:
        assert cache_kib(first) + cache_kib(second) <= 16_384 + 1_024
    with connections.on_branch("main") as first, connections.on_branch("main") as second:
        assert {cache_kib(first), cache_kib(second)} == {8_192}
    store.close()


def cache_kib(connection: Any) -> int:
    return -int(connection.exec_driver_sql("PRAGMA cache_size").scalar_one())


def test_the_longest_unused_branches_are_closed_when_too_many_connections_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doltlite_connections, "_CONNECTIONS", 6)
    with opened_at(tmp_path / "store", create=True) as store:
        connections: Any = cast("Any", store.repo.store)._connections
        for number in range(12):
            call(store, "memory_branch_create", branch_name=f"b{number}")
            write(store, f"Number {number}.", branch=f"b{number}")
            assert len(connections._caches) <= 7
        assert [facts(store, f"b{number}") for number in (0, 11)] == [["Number 0."], ["Number 11."]]
        assert len(connections._caches) <= 7


def test_the_longest_unused_branches_are_closed_when_the_engine_uses_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened_at(tmp_path / "store", create=True) as store:
        connections: Any = cast("Any", store.repo.store)._connections
        limit = int(1.5 * connections._caches.total_bytes)
        for used in (limit, limit + 1):
            monkeypatch.setattr(library, "memory_used", lambda used=used: used)
            for number in range(20):
                name = f"b{used}-{number}"
                call(store, "memory_branch_create", branch_name=name)
                write(store, f"Number {number}.", branch=name)
            is_bounded = len(connections._engines) <= doltlite_connections._LEAST_STATES
            assert is_bounded == (used > limit)
            assert facts(store, f"b{used}-0") == ["Number 0."]
