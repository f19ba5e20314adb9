"""The pinned facts of a branch: which are found, and that a later call reads only what changed."""

from collections.abc import Sequence
from typing import Any

import pytest

from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT
from day1.services.workspace.pinned import pinned_facts
from tests.fakes.memory_store import MemoryReading
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture


def pinned(searching: Searching, spaces: Sequence[str | None] = (), most: int = 20) -> list[str]:
    bench = searching.bench
    with bench.store.reading(Ref(branch="main")) as reading:
        return pinned_facts(bench.repo, reading, spaces, bench.now, most)


def commit(searching: Searching, **writes: Any) -> None:
    """Commit changes of facts: columns by name, or None to remove one."""
    bench = searching.bench
    bench.now += 1
    with bench.store.changing("main") as work:
        present = work.get(FACT, [f"fact_{name}" for name in writes])
        rows = {
            i: None if writes[i[5:]] is None else row | writes[i[5:]] for i, row in present.items()
        }
        work.apply({FACT.table: rows})
        work.commit(Message("change", "a change"))


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """The queries for pinned facts that were asked since."""
    asked: list[Query] = []
    scan = MemoryReading.scan

    def noted(self: MemoryReading, kind: Any, columns: Sequence[str], query: Query) -> Any:
        if "category" in query.equal:
            asked.append(query)
        return scan(self, kind, columns, query)

    monkeypatch.setattr(MemoryReading, "scan", noted)
    return asked


def test_the_newest_are_listed_first(searching: Searching) -> None:
    assert pinned(searching) == []
    searching.fact("z", "Never push to main.", category="pinned")
    searching.fact("b", "Herons fish.", category="birds")
    searching.fact("a", "Oil the lathe.", category="pinned")
    assert pinned(searching) == ["fact_a", "fact_z"]
    assert pinned(searching, most=1) == ["fact_a"]


def test_what_may_not_be_shown_is_left_out(searching: Searching) -> None:
    searching.fact("a", "One.", category="pinned", space="project:a")
    searching.fact("b", "Two.", category="pinned", sensitivity="secret")
    searching.fact("c", "Three.", category="pinned", expires_at=1)
    searching.fact("d", "Four.", category="pinned", status="superseded")
    searching.fact("e", "Five.", category="pinned")
    assert pinned(searching) == ["fact_e", "fact_a"]
    assert pinned(searching, (None,)) == ["fact_e"]
    assert pinned(searching, ("project:a",)) == ["fact_a"]


def test_changes_since_the_last_call_are_followed(searching: Searching, scans: list[Query]) -> None:
    for name in ("a", "b", "c"):
        searching.fact(name, f"The fact {name}.", category="pinned")
    searching.fact("d", "The fact d.")
    assert pinned(searching) == ["fact_c", "fact_b", "fact_a"]
    commit(searching, a={"category": "other"}, b=None, d={"category": "pinned"})
    assert pinned(searching) == ["fact_d", "fact_c"]
    searching.fact("e", "The fact e.", category="pinned")
    scans.clear()
    assert pinned(searching) == ["fact_e", "fact_d", "fact_c"]
    assert [query.created_after is not None for query in scans] == [True], "it read all facts again"


def test_a_branch_whose_kept_commit_is_gone_is_read_again(searching: Searching) -> None:
    searching.fact("a", "The fact a.", category="pinned")
    commit(searching, a={"confidence": 0.5})
    searching.bench.repo.pinned["main"] = ("gone", frozenset({"fact_x"}))
    assert pinned(searching) == ["fact_a"]


def test_branches_are_kept_apart_and_so_many(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "The fact a.", category="pinned")
    commit(searching, a={"confidence": 0.5})
    bench.fork("side")
    commit(searching, a=None)
    kept = bench.repo.pinned
    kept |= {f"old{number}": ("commit", frozenset[str]()) for number in range(200)}
    assert pinned(searching) == []
    with bench.store.reading(Ref(branch="side")) as reading:
        assert pinned_facts(bench.repo, reading, (), bench.now, 20) == ["fact_a"]
    assert len(kept) == 200
    assert "old0" not in kept
    assert {"main", "side", "old199"} <= kept.keys()
