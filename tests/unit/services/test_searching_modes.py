"""How a search finds rows: its modes, vectors, limits, readings and notes, on a store and an
index in memory.
"""

from dataclasses import replace
from typing import Any

import pytest

from day1.errors import EmbedderUnavailable
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.search.passages import Span
from day1.ports.index import IndexBehind, IndexLost
from day1.services.search import search_engine
from day1.services.search import searching as searching_module
from day1.services.search.candidates import SearchLimits
from day1.services.search.indexing import catch_up, catch_up_past
from day1.services.search.search_engine import SWITCHED_OFF
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

# --- modes and vectors


@pytest.mark.parametrize(
    ("mode", "best", "cosines"),
    [("hybrid", "fact_both", True), ("vector", "fact_both", True), ("keyword", "fact_both", False)],
)
def test_a_mode_says_what_counts(searching: Searching, mode: Any, best: str, cosines: bool) -> None:
    searching.fact("both", "gateway waits")
    searching.fact("words", "gateway of another long tale that says much else")
    searching.fact("none", "elephants")
    answer = searching("gateway waits", mode=mode, wait=True)
    assert answer.mode_used == mode
    assert answer.hits[0].row["id"] == best
    assert all((hit.cosine is not None) == cosines for hit in answer.hits)
    found = {str(hit.row["id"]) for hit in answer.hits}
    assert ("fact_none" in found) == cosines  # by words it is no candidate


class _Missing(HashingEmbedder):
    """An embedder whose model is not there."""

    @property
    def dimension(self) -> int:  # type: ignore[override]  # what cannot be told
        raise EmbedderUnavailable("there is no model")


@pytest.mark.parametrize(
    ("embedder", "note"),
    [(None, f"keyword only: {SWITCHED_OFF}"), (_Missing(), "keyword only: there is no model")],
    ids=["switched off", "missing"],
)
def test_without_a_model_words_are_searched_and_it_says_so(
    searching: Searching, embedder: Any, note: str
) -> None:
    searching.fact("a", "gateway")
    searching.engine = replace(searching.engine, embedder=embedder)
    answer = searching("gateway", mode="vector")
    assert (answer.mode_used, answer.notes) == ("keyword", [note])
    assert [hit.row["id"] for hit in answer.hits] == ["fact_a"]


@pytest.mark.parametrize(
    ("changes", "wait", "pending"),
    [
        ({}, False, 4),
        ({}, True, 0),
        ({"embedding_s": 0}, False, 20),
        ({"embedded_at_once": 5}, False, 15),
    ],
)
def test_a_search_embeds_some_texts_and_says_how_many_wait(
    searching: Searching, changes: dict[str, Any], wait: bool, pending: int
) -> None:
    for number in range(20):
        searching.fact(str(number), f"gateway {number}")
    searching.engine = replace(searching.engine, **changes)
    assert searching("gateway", wait=wait).pending_vectors == pending


def test_the_texts_with_the_words_of_the_question_are_embedded_first(searching: Searching) -> None:
    searching.fact("0", "zebra")
    for number in range(1, 6):
        searching.fact(str(number), f"gateway {number}")
    searching.engine = replace(searching.engine, embedded_at_once=1)
    cosines = {hit.row["id"]: hit.cosine for hit in searching("zebra").hits}
    assert cosines["fact_0"] == pytest.approx(1)


def test_a_given_vector_takes_the_place_of_the_question_s_own(searching: Searching) -> None:
    searching.fact("a", "gateway")
    searching.fact("b", "elephants")
    (vector,) = HashingEmbedder().embed(["elephants"])
    found = searching.ids("gateway", mode="vector", vector=vector, wait=True)
    assert found == ["fact_b", "fact_a"]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_question_of_common_words_alone_looks_for_all_of_them(
    searching: Searching, mode: Any
) -> None:
    searching.fact("a", "it is what it is")
    searching.fact("b", "gateway")
    assert searching.ids("what is it", mode=mode, wait=True)[0] == "fact_a"
    assert searching.ids("what is it", mode="keyword") == ["fact_a"]


class _InWords(HashingEmbedder):
    """An embedder for which each word is a passage."""

    def passages(self, text: str) -> list[str]:
        return text.split()


def test_a_hit_says_where_its_nearest_passage_lies(searching: Searching) -> None:
    searching.fact("a", "gateway waits")
    searching.observation("b", "slow gateway")
    embedder = _InWords()
    searching.engine = replace(searching.engine, embedder=embedder)
    (question,) = embedder.embed(["gateway"])

    def best_passages(asked: Any, vector: Any, texts: Any) -> dict[int, int]:
        assert asked is embedder
        assert list(vector) == list(question)
        return dict.fromkeys(texts, 1)

    searching.index.vectors.best_passages = best_passages
    kinds = ("facts", "observations")
    hits = searching("gateway", kinds=kinds, wait=True).hits
    near = {str(hit.row["id"]): (hit.text.text, hit.text.near) for hit in hits}
    assert near == {
        "fact_a": ("gateway waits", Span(8, 13)),
        "obs_b": ("slow gateway", Span(5, 12)),
    }
    hits = searching("gateway", kinds=kinds, mode="keyword").hits
    assert [hit.text.near for hit in hits] == [None, None]


# --- limits, notes and states


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_search_has_the_best_hits_up_to_its_limit(searching: Searching, limit: int) -> None:
    for number in range(6):
        searching.fact(str(number), "gateway " + "waits " * number)
    every = searching.ids("gateway", limit=50, wait=True)
    assert searching.ids("gateway", limit=limit) == every[:limit]


def test_the_texts_of_all_kinds_that_wait_are_counted(searching: Searching) -> None:
    searching.fact("a", "gateway")
    searching.observation("b", "slow gateway")
    searching.engine = replace(searching.engine, embedding_s=0)
    assert searching("gateway", kinds=("facts", "observations")).pending_vectors == 2


def test_a_search_embeds_for_its_time_and_first_what_the_question_names(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(search_engine, "embed_pending", lambda *given: asked.append(given))
    monkeypatch.setattr(search_engine, "TimeBudget", lambda seconds: ("budget", seconds))
    searching.fact("a", "gateway waits")
    for embedding_s in (None, 0.5):
        searching.engine = replace(searching.engine, embedding_s=embedding_s)
        searching("the gateway")
    *_, first, enough = asked[0]
    assert (list(first.terms), enough) == (["gateway"], None)
    assert asked[1][-1] == ("budget", 0.5)


@pytest.mark.parametrize(
    ("error", "mode", "notes"),
    [
        (EmbedderUnavailable("the endpoint is away"), "keyword", ["the endpoint is away"]),
        (IndexBehind("full", engine_code="full"), "hybrid", []),
    ],
)
def test_a_search_goes_on_where_texts_cannot_be_embedded(
    searching: Searching,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    mode: str,
    notes: list[str],
) -> None:
    def fail(*_: Any) -> Any:
        raise error

    searching.fact("a", "gateway")
    monkeypatch.setattr(search_engine, "embed_pending", fail)
    answer = searching("gateway")
    assert (answer.mode_used, len(answer.hits)) == (mode, 1)
    assert answer.notes == [f"keyword only: {note}" for note in notes]


@pytest.mark.parametrize(("mode", "noted"), [("hybrid", True), ("keyword", False)])
def test_a_large_branch_says_what_is_wrong_with_its_vectors(
    searching: Searching, mode: Any, noted: bool
) -> None:
    searching.index.vectors.trouble = lambda: "vectors are compared one by one"
    searching.fact("a", "gateway")
    assert searching("gateway", mode=mode).notes == []
    searching.engine = replace(searching.engine, limits=SearchLimits(exact_rows=0))
    notes = ["vectors are compared one by one"] if noted else []
    assert searching("gateway", mode=mode).notes == notes


# --- what is indexed before a search


@pytest.mark.parametrize(("wait", "within_s"), [(True, None), (False, 7.5)])
def test_the_words_of_the_searched_state_are_indexed_first(
    searching: Searching, monkeypatch: pytest.MonkeyPatch, wait: bool, within_s: float | None
) -> None:
    live: list[tuple[Any, ...]] = []
    past: list[tuple[Any, ...]] = []

    def follow(reading: Any, *given: Any) -> bool:
        live.append(given[2:])
        return catch_up(reading, *given)

    def follow_past(before: Any, now: Any, *given: Any) -> bool:
        past.append((before.tip, now.tip, *given[2:]))
        return catch_up_past(before, now, *given)

    monkeypatch.setattr(searching_module, "catch_up", follow)
    monkeypatch.setattr(searching_module, "catch_up_past", follow_past)
    searching.engine = replace(searching.engine, words_wait_s=7.5)
    branch = searching.bench.branch()
    searching.fact("a", "gateway")
    searching("gateway", mode="keyword", wait=wait)
    assert live == [(branch.id, within_s)]
    searching("gateway", mode="keyword", wait=wait)
    assert len(live) == 1, "the branch has not changed"
    searching.fact("b", "gateway")
    searching("gateway", mode="keyword", wait=wait)
    assert len(live) == 2
    with searching.bench.store.reading(Ref(branch=MAIN)) as reading:
        tip = reading.tip
    searching("gateway", Ref(commit=tip), mode="keyword", wait=wait)
    assert live[2:] == [(None, within_s)]
    assert past == []
    searching("gateway", Ref(branch=MAIN, until=searching.bench.now), mode="keyword", wait=wait)
    assert past == [(tip, tip, within_s)]
    assert len(live) == 3


def test_words_that_cannot_be_indexed_now_are_noted(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise IndexBehind("locked", engine_code="busy")

    searching.fact("a", "gateway")
    monkeypatch.setattr(searching_module, "catch_up", fail)
    answer = searching("gateway", mode="keyword")
    assert answer.notes == [
        "the index lags: what was written last may not be found",
        "not in the index yet: 1 of the facts; search again later to find them",
    ]


def test_the_past_of_a_branch_is_searched_as_it_was(searching: Searching) -> None:
    searching.fact("first", "gateway one")
    then = searching.bench.now
    searching.fact("later", "gateway two")
    answer = searching("gateway", Ref(branch=MAIN, until=then))
    assert [hit.row["id"] for hit in answer.hits] == ["fact_first"]
    assert len(searching("gateway").hits) == 2


def test_rows_that_come_between_the_two_readings_are_found(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the question is embedded, no reading is open."""
    searching.fact("a", "gateway one")
    embedder = searching.engine.embedder
    assert embedder is not None
    embed = embedder.embed

    def embed_later(texts: Any) -> Any:
        monkeypatch.setattr(embedder, "embed", embed)
        searching.fact("b", "gateway two")
        return embed(texts)

    monkeypatch.setattr(embedder, "embed", embed_later)
    assert sorted(searching.ids("gateway")) == ["fact_a", "fact_b"]


def test_an_index_that_lags_is_said(searching: Searching) -> None:
    searching.fact("a", "gateway")
    searching.index.read_only = True
    answer = searching("gateway", mode="keyword")
    assert answer.notes == [
        "the folder is read-only: what was written last may not be found",
        "not in the index yet: 1 of the facts; search again later to find them",
    ]


def test_a_damaged_index_is_asked_once_more(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching.fact("a", "gateway")
    made = iter(["one", "two"])
    generation = searching.index.generation
    monkeypatch.setattr(searching.index, "generation", lambda: next(made, None) or generation())
    answer = searching("gateway", mode="keyword")
    assert answer.notes == ["the index was damaged and is being built again; vectors follow"]
    assert len(answer.hits) == 1
    assert searching.index.words.cursor(searching.bench.branch().id) is not None


@pytest.mark.parametrize("error", [IndexBehind, IndexLost])
def test_an_index_that_cannot_be_used_is_replaced_by_one_in_memory(
    searching: Searching, monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    searching.fact("a", "gateway")

    def fail(*_: Any, **__: Any) -> Any:
        raise error("it is gone", engine_code="disk")

    monkeypatch.setattr(searching.index.words, "known", fail)
    answer = searching("gateway")
    assert answer.notes[0] == "the index cannot be used (disk): only words were searched, in memory"
    assert (answer.mode_used, len(answer.hits)) == ("keyword", 1)
    assert searching.engine.running == set()
    in_memory = searching.engine.fallback_index.held
    searching("gateway")
    assert searching.engine.fallback_index.held is in_memory is not None
    monkeypatch.undo()
    assert searching("gateway").notes == []
    assert searching.engine.fallback_index.held is None, "the files can be used again"


def test_a_search_that_runs_is_counted(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker of the background pauses for it."""
    searching.fact("a", "gateway")
    known, running = searching.index.words.known, []

    def look(*asked: Any) -> Any:
        running.append(len(searching.engine.running))
        return known(*asked)

    monkeypatch.setattr(searching.index.words, "known", look)
    searching("gateway")
    assert {*running} == {1}
    assert searching.engine.running == set()
