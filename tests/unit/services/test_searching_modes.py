"""How a search finds rows: its modes, vectors, limits, readings and notes, on a store and an
index in memory.
"""

from dataclasses import replace
from typing import Any

import pytest

from day1.errors import EmbedderUnavailable
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.ports.index import IndexBehind, IndexLost
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


# --- limits, notes and states


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_search_has_the_best_hits_up_to_its_limit(searching: Searching, limit: int) -> None:
    for number in range(6):
        searching.fact(str(number), "gateway " + "waits " * number)
    every = searching.ids("gateway", limit=50, wait=True)
    assert searching.ids("gateway", limit=limit) == every[:limit]


def test_hits_below_the_least_score_are_left_out(searching: Searching) -> None:
    searching.fact("near", "gateway")
    searching.fact("far", "elephants")
    every = searching("gateway", wait=True).hits
    least = (every[0].score + every[-1].score) / 2
    assert searching.ids("gateway", min_score=least) == ["fact_near"]


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
        "1 facts are not indexed yet",
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
