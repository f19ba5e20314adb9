"""Search: the index learns what came to a branch, and cached views show what is there now."""

from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, RELATION
from day1.ports.index import Cursor
from day1.services.rows.editing import Correction, Removal, Replacement, remove, supersede, update
from day1.services.rows.graph import neighbourhood
from day1.services.rows.recording import NewObservation, NewRelation, observation_row, relation_row
from day1.services.rows.timeline import timeline
from day1.services.search.filters import Filter
from day1.services.search.indexing import catch_up, follow
from day1.services.search.views import ViewCache
from tests.fakes.memory_index import MemoryIndex
from tests.unit.services.conftest import ADA, Bench


@pytest.fixture
def index() -> Any:
    return MemoryIndex()


def shown(
    bench: Bench, index: Any, cache: ViewCache, wanted: Filter, branch: str = MAIN
) -> set[str]:
    """The ids of the rows that a cache's view of a branch has, once the index knows them."""
    follow(bench.store, bench.store.history, index, branch, bench.branch(branch).id)
    ref = Ref(branch=branch)
    with (
        bench.store.reading(ref) as reading,
        cache.at(reading, ref, wanted, bench.store.history, index) as view,
    ):
        return {entry.row_id for entry in view.entries(view.texts(wanted), wanted)}


def test_a_view_moves_along_with_its_branch(bench: Bench, index: Any) -> None:
    cache, facts = ViewCache(), Filter(FACT)
    bench.add("fact_a", "a")
    assert shown(bench, index, cache, facts) == {"fact_a"}
    bench.add("fact_b", "b")
    assert shown(bench, index, cache, facts) == {"fact_a", "fact_b"}
    bench.store.commit_pending(MAIN)
    assert shown(bench, index, cache, facts) == {"fact_a", "fact_b"}
    remove(bench.repo, bench.branch(), Removal(["fact_a"]), ADA)
    assert shown(bench, index, cache, facts) == {"fact_b"}
    update(bench.repo, bench.branch(), Correction("fact_b", {"fact_text": "c"}), ADA)
    assert shown(bench, index, cache, facts) == {"fact_b"}


def test_a_moved_view_has_what_a_new_one_has(bench: Bench, index: Any) -> None:
    moved, facts = ViewCache(), Filter(FACT)
    steps = [
        lambda: bench.add("fact_a", "same"),
        lambda: bench.add("fact_b", "same"),
        lambda: supersede(bench.repo, bench.branch(), Replacement("fact_a", "c", "fact_c"), ADA),
        lambda: bench.add("fact_d", "d"),
        lambda: remove(bench.repo, bench.branch(), Removal(["fact_b"]), ADA),
        lambda: bench.add("fact_e", "same"),
    ]
    for step in steps:
        step()
        assert shown(bench, index, moved, facts) == shown(bench, index, ViewCache(), facts)


def test_a_view_of_a_state_that_did_not_move_reads_nothing(
    bench: Bench, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, facts = ViewCache(), Filter(FACT)
    bench.add("fact_a", "a")
    shown(bench, index, cache, facts)
    ref = Ref(branch=MAIN)
    with bench.store.reading(ref) as reading:
        monkeypatch.setattr(reading, "scan", None)
        with cache.at(reading, ref, facts, bench.store.history, index) as view:
            assert len(view) == 1


def test_facts_that_are_no_more_active_are_seen_only_if_asked_for(bench: Bench, index: Any) -> None:
    bench.add("fact_a", "a")
    supersede(bench.repo, bench.branch(), Replacement("fact_a", "b", "fact_b"), ADA)
    assert shown(bench, index, ViewCache(), Filter(FACT)) == {"fact_b"}
    every = Filter(FACT, inactive=True)
    assert shown(bench, index, ViewCache(), every) == {"fact_a", "fact_b"}


def test_views_are_narrowed_by_facet_and_time(bench: Bench, index: Any) -> None:
    bench.add("fact_a", "a")
    update(bench.repo, bench.branch(), Correction("fact_a", {"category": "tea"}), ADA)
    bench.now = 5_000
    bench.add("fact_b", "b")
    cache = ViewCache()
    assert shown(bench, index, cache, Filter(FACT, equal={"category": "tea"})) == {"fact_a"}
    assert shown(bench, index, cache, Filter(FACT, after=5_000)) == {"fact_b"}
    assert shown(bench, index, cache, Filter(FACT, before=4_999)) == {"fact_a"}


def test_an_index_that_was_made_anew_voids_every_view(bench: Bench, index: Any) -> None:
    cache, facts = ViewCache(), Filter(FACT)
    bench.add("fact_a", "a")
    bench.add("fact_b", "b")
    assert shown(bench, index, cache, facts) == {"fact_a", "fact_b"}
    other = MemoryIndex()
    other.made = "second"
    other.words.learn(OBSERVATION, {"0": "takes the first number"})
    assert shown(bench, other, cache, facts) == {"fact_a", "fact_b"}


def test_the_index_learns_each_text_once_and_remembers_how_far_it_is(
    bench: Bench, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.add("fact_a", "a")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert catch_up(reading, bench.store.history, index, bench.branch().id)
    assert index.words.cursor(bench.branch().id) == Cursor("c0", bench.now)
    bench.add("fact_b", "b")
    learned: list[str] = []
    monkeypatch.setattr(index.words, "learn", lambda _, texts: learned.extend(texts.values()))
    follow(bench.store, bench.store.history, index, MAIN, bench.branch().id)
    assert learned == ["b"]


def test_an_index_that_cannot_be_written_says_what_it_lacks(bench: Bench, index: Any) -> None:
    bench.add("fact_a", "a")
    index.read_only = True
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert not catch_up(reading, bench.store.history, index, bench.branch().id)
    assert index.words.learned == {}


def test_a_timeline_has_facts_and_observations_by_when_they_happened(bench: Bench) -> None:
    bench.add("fact_a", "a")
    with bench.store.adding(MAIN) as work:
        seen = NewObservation("discovery", "long ago", happened_at=5)
        work.add(OBSERVATION, [observation_row("obs_a", seen, ADA, work.now)])
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        moments = timeline(reading, Query())
        newest = timeline(reading, Query(limit=1))
    assert [moment.row["id"] for moment in moments] == ["obs_a", "fact_a"]
    assert moments[0].at == 5
    assert [moment.row["id"] for moment in newest] == ["fact_a"]


def test_a_neighbourhood_counts_equal_triples_and_keeps_its_depth(bench: Bench) -> None:
    triples = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "d")]
    with bench.store.adding(MAIN) as work:
        for number, (start, end) in enumerate(triples):
            new = NewRelation(start, "leads_to", end)
            work.add(RELATION, [relation_row(f"rel_{number}", new, ADA, work.now)])
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        edges = neighbourhood(reading, "a", Query(), 2)
        none = neighbourhood(reading, "a", Query(equal={"relation_type": "causes"}), 2)
    told = [(e.newest["source_entity"], e.newest["target_entity"], e.count) for e in edges]
    assert told == [("a", "b", 2), ("b", "c", 1)]
    assert none == []
