"""Search over a real store: what is found, now and in the past, with every vector or without.

The embedder is the hashing fake: texts that share words are near.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from day1.adapters.embedders.minilm import MiniLm
from day1.errors import EmbedderUnavailable, InvalidRequest
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.search.passages import PassageLimits, quote
from day1.model.values.instant import DAY
from day1.services.search.candidates import SearchLimits
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search
from day1.services.search.views import ViewCache
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.searched_memory import Asking
from tests.flows.searched_memory import ask as ask  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import memory as memory  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import search_engine as search_engine  # noqa: PLC0414 - a fixture
from tests.suites.index_suite import long_text

# What is found


def test_what_was_written_is_found_at_once(memory, ask):
    memory.add_fact("main", "fact_a", fact_text="The gateway gives up after 30 seconds.")
    found = ask("When does the gateway give up?")
    (hit,) = found.hits
    assert hit.row["id"] == "fact_a"
    assert hit.kind is FACT
    assert 0 < hit.score <= 1
    assert 0 < hit.cosine <= 1
    assert 0 < hit.keyword <= 1
    assert hit.text.near is None
    assert (found.mode_used, found.pending_vectors, found.notes) == ("hybrid", 0, [])
    assert found.pending.count == 1
    assert found.commit == memory.store.history.branches()["main"]


def test_the_three_modes_look_differently(memory, ask):
    memory.add_fact("main", "fact_words", fact_text="zebra " + "filler " * 20)
    memory.add_fact("main", "fact_other", fact_text="nothing of the kind")
    assert ask.ids("zebra", mode="keyword") == ["fact_words"]
    assert set(ask.ids("zebra", mode="vector")) == {"fact_words", "fact_other"}
    assert all(hit.cosine is None for hit in ask("zebra", mode="keyword").hits)


def test_both_true_scores_are_given_whichever_list_a_row_came_from(memory, ask, search_engine):
    for number in range(30):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    for number in (7, 8):
        memory.add_fact("main", f"fact_b{number}", fact_text=f"{'billing ' * number} 7")
    few = replace(search_engine, limits=SearchLimits(candidates=3))
    found = Asking(memory, few)("gateway number 7", wait=True)
    assert {hit.row["id"] for hit in found.hits} >= {"fact_7", "fact_b7", "fact_b8"}
    for hit in found.hits:
        text = str(hit.row["fact_text"])
        one, other = search_engine.embedder.embed([text, "gateway number 7"])
        assert (hit.keyword > 0) == ("7" in text.split())
        # Words in more than a quarter of all memories are not looked up; openers not embedded.
        assert hit.cosine != pytest.approx(float(one @ other))
        assert hit.cosine == pytest.approx(
            float(one @ search_engine.embedder.embed(["number 7"])[0]), abs=1e-5
        )


@pytest.mark.parametrize("query", ['"', "NOT", "a OR", "gateway*", "(", "the of", "🧪", "x" * 9000])
@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_search_takes_a_query_of_any_characters_in_every_mode(memory, ask, query, mode):
    memory.add_fact("main", "fact_a", fact_text="Some of the memories.")
    found = ask(query, mode=mode)
    assert all(0 <= hit.score <= 1 for hit in found.hits)


def test_an_empty_branch_has_no_hits(ask):
    assert ask("anything").hits == []
    assert ask("anything", until=5).hits == []


def test_the_limit_is_kept(memory, ask):
    for number in range(9):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway {'pad ' * number}")
    scores = [hit.score for hit in ask("gateway", limit=9).hits]
    assert scores == sorted(scores, reverse=True)
    assert len(ask("gateway", limit=4).hits) == 4


def test_search_filters_by_category_time_and_kind(memory, ask):
    memory.add_fact("main", "fact_a", fact_text="gateway one", category="ops", happened_at=5 * DAY)
    memory.add_fact("main", "fact_b", fact_text="gateway two", category="law", happened_at=7 * DAY)
    memory.add_fact("main", "fact_c", fact_text="gateway three")
    memory.add_observation("main", "obs_a", summary="gateway four", observation_type="bug")
    learned = memory.state("main")["facts"]["fact_c"]
    assert learned["happened_at"] is None
    assert ask.ids("gateway", category="ops") == ["fact_a"]
    assert ask.ids("gateway", category="none such") == []
    assert set(ask.ids("gateway", after=7 * DAY)) == {"fact_b", "fact_c"}
    assert ask.ids("gateway", after=6 * DAY, before=8 * DAY) == ["fact_b"]
    assert set(ask.ids("gateway", before=7 * DAY)) == {"fact_a", "fact_b"}
    assert set(ask.ids("gateway", kinds=("facts", "observations"))) == {
        *("fact_a", "fact_b", "fact_c", "obs_a")
    }
    assert ask.ids("gateway", kinds=("observations",), equal={"observation_type": "bug"}) == [
        "obs_a"
    ]
    assert ask.ids("gateway", kinds=("facts", "observations"), category="law") == ["fact_b"]


def test_a_kind_without_text_is_refused(ask):
    with pytest.raises(InvalidRequest):
        ask("x", kinds=("relations",))


def test_superseded_archived_and_invalidated_facts_are_left_out(memory, ask):
    for name in "abcd":
        memory.add_fact("main", f"fact_{name}", fact_text=f"gateway {name}")
    memory.supersede("main", "fact_a", "fact_new", "gateway new")
    memory.judge("main", "fact_b", "invalidated", None)
    memory.update_fact("main", "fact_c", status="archived")
    for limit in (20, 10):  # at first, and from what is remembered
        assert set(ask.ids("gateway", limit=limit)) == {"fact_d", "fact_new"}
        assert len(ask.ids("gateway", limit=limit, include_inactive=True)) == 5
    memory.judge("main", "fact_b", "verified", None)
    assert set(ask.ids("gateway")) == {"fact_b", "fact_d", "fact_new"}


def test_the_best_passage_of_a_long_text_is_quoted(memory, ask):
    memory.add_fact("main", "fact_long", fact_text=long_text("kestrel", "heron", "osprey"))
    (hit,) = ask("heron", wait=True).hits
    (whole,) = quote("heron", [hit.text], None)
    assert (whole.text, whole.span) == (hit.row["fact_text"], None)
    assert whole.quotation is not None
    assert " heron " in whole.quotation
    assert "kestrel" not in whole.quotation
    assert len(whole.quotation) < 320
    (shown,) = quote("heron", [hit.text], PassageLimits())
    assert " heron " in shown.text
    assert hit.text.near is not None
    assert shown.span is not None
    assert hit.text.near.start <= shown.span.start < shown.span.end <= hit.text.near.end
    assert (shown.length, shown.quotation) == (len(whole.text), None)


def test_a_search_finds_whole_texts_and_only_its_answer_is_shortened(memory, ask):
    """Who judges, consolidates or tells what was found must not read half of it."""
    text = long_text("kestrel", "heron", "osprey")
    memory.add_fact("main", "fact_long", fact_text=text)
    for mode in ("hybrid", "keyword"):
        (hit,) = ask("heron", wait=True, mode=mode).hits
        assert hit.row["fact_text"] == hit.text.text == text


# Which state


def test_the_past_is_searched_as_it_was(memory, ask):
    first = memory.add_fact("main", "fact_a", fact_text="The owner of billing is Alice.")
    memory.clock.tick()
    changed = memory.update_fact("main", "fact_a", fact_text="The owner of billing is Bob.")
    memory.clock.tick()
    removed = memory.remove("main", "fact_a")
    assert ask("owner of billing").hits == []
    for at, text in ((removed.at - 1, "Bob."), (changed.at - 1, "Alice."), (first.at, "Alice.")):
        (hit,) = ask("owner of billing", until=at).hits
        assert hit.row["fact_text"].endswith(text)
    assert ask("owner of billing", until=first.at - 1).hits == []


def test_pending_rows_are_searched_up_to_an_instant(memory, ask):
    one = memory.add_fact("main", "fact_a", fact_text="gateway one")
    memory.clock.tick()
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    assert ask.ids("gateway", until=one.at) == ["fact_a"]
    assert len(ask.ids("gateway", until=one.at + DAY)) == 2
    assert len(ask.ids("gateway")) == 2


def test_a_past_state_is_found_after_the_index_was_lost(memory, ask, tmp_path):
    first = memory.add_fact("main", "fact_a", fact_text="The owner is Alice.")
    memory.clock.tick()
    memory.update_fact("main", "fact_a", fact_text="The owner is Bob.")
    ask.search_engine.index.close()
    (tmp_path / "index.db").unlink(missing_ok=True)
    assert ask("owner").hits[0].row["fact_text"].endswith("Bob.")
    assert ask("owner", until=first.at).hits[0].row["fact_text"].endswith("Alice.")


def test_a_bare_commit_is_searched(memory, search_engine):
    memory.add_fact("main", "fact_a", fact_text="gateway")
    commit = memory.store.commit_pending("main")
    memory.remove("main", "fact_a")
    found = search(search_engine, Ref(commit=commit), None, SearchRequest("gateway"))
    assert [hit.row["id"] for hit in found.hits] == ["fact_a"]
    assert found.commit == commit


def test_where_nobody_has_neighbours_all_are_compared_and_no_view_is_made(
    memory, ask, search_engine, monkeypatch
):
    for number in range(60):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    memory.fork("side", "main")
    memory.add_fact("side", "fact_side", fact_text="gateway of the side")
    ask("gateway", "side", wait=True)
    views = ViewCache()
    monkeypatch.setattr(views, "at", None)
    for enough in (50, 100):  # of which there are not so many
        reach = SearchLimits(exact_rows=10, enough=enough, neighbours=(4, 1_000))
        live = Asking(memory, replace(search_engine, limits=reach, views=views))
        for mode in ("hybrid", "vector"):
            question = "number 7 of the gateway"
            exactly = ask.ids(question, mode=mode, limit=80)
            assert live.ids(question, mode=mode, limit=80) == exactly
            assert live("gateway", mode=mode).notes == []


# Vectors that wait, and models that come and go


def test_a_search_embeds_sixteen_texts_and_says_how_many_wait(memory, ask, search_engine):
    for number in range(40):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    found = ask("gateway number 3")
    assert found.pending_vectors == 24
    assert search_engine.embedder.embedded == 16 + 1
    assert len(found.hits) == 10
    assert ask("gateway number 3").pending_vectors == 8
    assert ask("gateway number 3", wait=True).pending_vectors == 0


def test_a_search_embeds_no_longer_than_its_time(memory, search_engine):
    for number in range(5):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    hurried = Asking(memory, replace(search_engine, embedding_s=1e-9))
    assert hurried("gateway").pending_vectors == 4  # one text at least, so that it ends some day
    assert search_engine.embedder.embedded == 1 + 1
    none = Asking(memory, replace(search_engine, embedding_s=0))
    assert none("gateway").pending_vectors == 4
    slow = Asking(memory, replace(search_engine, embedding_s=60))
    assert slow("gateway").pending_vectors == 0
    assert search_engine.embedder.embedded == 5 + 1
    for number in range(2):
        memory.add_fact("main", f"fact_late{number}", fact_text=f"late number {number}")
    assert hurried("gateway", wait=True).pending_vectors == 0


def test_a_search_is_seen_to_run(memory, ask, search_engine, monkeypatch):
    seen = []
    embed = search_engine.embedder.embed
    monkeypatch.setattr(
        search_engine.embedder,
        "embed",
        lambda texts: [seen.append(len(search_engine.running)), embed(texts)][1],
    )
    ask("gateway")
    assert (seen, search_engine.running) == ([1], set())
    with pytest.raises(InvalidRequest):
        ask("gateway", kinds=("branches",))
    assert search_engine.running == set()


def test_a_row_without_vector_is_found_by_its_words(memory, ask):
    memory.add_fact("main", "fact_00", fact_text="zebra stripes")
    for number in range(20):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    bare = Asking(memory, replace(ask.search_engine, embedded_at_once=0))
    (hit, *_) = bare("zebra").hits
    assert (hit.row["id"], hit.cosine) == ("fact_00", None)


def test_what_has_the_best_words_of_its_branch_is_embedded_first(memory, ask, search_engine):
    memory.add_fact("main", "fact_00", fact_text="zebra stripes")
    for number in range(40):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    memory.fork("side", "main")
    memory.add_fact("side", "fact_side", fact_text="zebra zebra")
    ask("zebra", "side", mode="keyword")  # its text is known, and waits too
    (hit, *_) = Asking(memory, replace(search_engine, embedded_at_once=1))("zebra").hits
    assert hit.row["id"] == "fact_00"
    assert hit.cosine is not None
    assert search_engine.embedder.embedded == 1 + 1


def test_without_a_model_search_is_by_words_and_catches_up_when_it_comes(memory, search_engine):
    class Coming(HashingEmbedder):
        here = False

        def embed(self, texts):
            if not self.here:
                raise EmbedderUnavailable("There is no model yet.")
            return super().embed(texts)

    memory.add_fact("main", "fact_a", fact_text="gateway one")
    bare = Asking(memory, replace(search_engine, embedder=None))
    found = bare("gateway", mode="vector")
    assert found.mode_used == "keyword"
    assert found.notes == ["keyword only: embedding is switched off (DAY1_EMBEDDER__KIND=none)"]
    assert [hit.row["id"] for hit in found.hits] == ["fact_a"]
    coming = Coming()
    ask = Asking(memory, replace(search_engine, embedder=coming))
    assert ask("gateway").notes == ["keyword only: There is no model yet."]
    coming.here = True
    found = ask("gateway")
    assert (found.mode_used, found.notes, found.pending_vectors) == ("hybrid", [], 0)
    assert (found.hits[0].cosine or 0) > 0


# The real model


def test_the_real_model_finds_what_shares_no_word(memory, search_engine):
    folder = os.environ.get("DAY1_EMBEDDER__MODEL_DIR")
    if not folder:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    texts = ["The car is in the garage.", "Bread is baked before dawn.", "It rains in November."]
    for number, text in enumerate(texts):
        memory.add_fact("main", f"fact_{number}", fact_text=text)
    ask = Asking(memory, replace(search_engine, embedder=MiniLm(lambda: Path(folder))))
    assert ask.ids("Where do we keep our automobile?")[0] == "fact_0"
    assert ask.ids("When are loaves made?")[0] == "fact_1"
