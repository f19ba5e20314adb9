"""Search over a real store: only what is visible, always what was written last, from any state.

The embedder is the hashing fake: texts that share words are near.
"""

import os
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from day1.adapters.embedders.minilm import MiniLm
from day1.adapters.index.index import LocalIndex
from day1.errors import EmbedderUnavailable, InvalidRequest, NotFound
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from day1.model.values.instant import DAY
from day1.ports.index import IndexLost
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.search.candidates import SearchLimits
from day1.services.search.indexing import embed_pending, follow
from day1.services.search.searching import SearchAnswer, SearchPorts, SearchRequest, search
from day1.services.search.view_cache import ViewCache
from day1.services.search.views import Filter
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.engine_memory import EngineMemory
from tests.suites.index_suite import long_text

THINGS = ("gateway", "billing", "login", "export", "report", "cache", "queue", "mailer", "backup")
TRAITS = ("timeout", "owner", "limit", "colour", "region", "retry", "version", "host", "size")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[EngineMemory]:
    opened = EngineMemory(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def ports(memory: EngineMemory, tmp_path: Path) -> Iterator[SearchPorts]:
    index = LocalIndex(tmp_path)
    yield SearchPorts(memory.store, memory.store.history, index, HashingEmbedder())
    index.close()


class Asking:
    """Searches of one memory."""

    def __init__(self, memory: EngineMemory, ports: SearchPorts) -> None:
        self.memory, self.ports = memory, ports

    def __call__(
        self, query: str, branch: str = "main", until: int | None = None, **request
    ) -> SearchAnswer:
        branch_id = find(self.memory.repo, branch).id
        ref = Ref(branch=branch, until=until)
        return search(self.ports, ref, branch_id, SearchRequest(query, **request))

    def ids(self, query: str, branch: str = "main", until: int | None = None, **request):
        return [hit.row["id"] for hit in self(query, branch, until, **request).hits]


@pytest.fixture
def ask(memory: EngineMemory, ports: SearchPorts) -> Asking:
    return Asking(memory, ports)


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
    assert hit.passage is None
    assert (found.mode_used, found.pending_vectors, found.notes) == ("hybrid", 0, [])
    assert found.pending.count == 1
    assert found.commit == memory.store.history.branches()["main"]


def test_the_three_modes_look_differently(memory, ask):
    memory.add_fact("main", "fact_words", fact_text="zebra " + "filler " * 20)
    memory.add_fact("main", "fact_other", fact_text="nothing of the kind")
    assert ask.ids("zebra", mode="keyword") == ["fact_words"]
    assert set(ask.ids("zebra", mode="vector")) == {"fact_words", "fact_other"}
    assert all(hit.cosine is None for hit in ask("zebra", mode="keyword").hits)


def test_both_true_scores_are_given_whichever_list_a_row_came_from(memory, ask, ports):
    for number in range(30):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    few = replace(ports, reach=SearchLimits(candidates=3))
    found = Asking(memory, few)("gateway number 7", wait=True)
    assert len(found.hits) > 3
    for hit in found.hits:
        text = hit.row["fact_text"]
        one, other = ports.embedder.embed([text, "gateway number 7"])
        assert hit.keyword > 0
        # Words in more than a quarter of all memories are left out of the embedding.
        assert hit.cosine != pytest.approx(float(one @ other))
        assert hit.cosine == pytest.approx(float(one @ ports.embedder.embed(["7"])[0]), abs=1e-5)


@pytest.mark.parametrize("query", ['"', "NOT", "a OR", "gateway*", "(", "the of", "🧪", "x" * 9000])
@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_any_question_has_an_answer(memory, ask, query, mode):
    memory.add_fact("main", "fact_a", fact_text="Some of the memories.")
    found = ask(query, mode=mode)
    assert all(0 <= hit.score <= 1 for hit in found.hits)


def test_an_empty_branch_has_no_hits(ask):
    assert ask("anything").hits == []
    assert ask("anything", until=5).hits == []


def test_the_limit_and_the_least_score_are_kept(memory, ask):
    for number in range(9):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway {'pad ' * number}")
    scores = [hit.score for hit in ask("gateway", limit=9).hits]
    assert scores == sorted(scores, reverse=True)
    assert len(ask("gateway", limit=4).hits) == 4
    assert len(ask("gateway", limit=9, min_score=scores[3]).hits) == 4


def test_filters_narrow(memory, ask):
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
    assert " heron " in hit.passage
    assert "kestrel" not in hit.passage
    assert len(hit.passage) < 320


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


def test_waiting_rows_are_searched_up_to_an_instant(memory, ask):
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
    ask.ports.index.close()
    (tmp_path / "index.db").unlink(missing_ok=True)
    assert ask("owner").hits[0].row["fact_text"].endswith("Bob.")
    assert ask("owner", until=first.at).hits[0].row["fact_text"].endswith("Alice.")


def test_a_bare_commit_is_searched(memory, ports):
    memory.add_fact("main", "fact_a", fact_text="gateway")
    commit = memory.store.commit_pending("main")
    memory.remove("main", "fact_a")
    found = search(ports, Ref(commit=commit), None, SearchRequest("gateway"))
    assert [hit.row["id"] for hit in found.hits] == ["fact_a"]
    assert found.commit == commit


# Following


def test_merged_changed_and_removed_rows_are_followed(memory, ask):
    memory.add_fact("main", "fact_a", fact_text="The billing host is one.")
    memory.fork("side", "main")
    memory.clock.tick()
    memory.add_fact("side", "fact_side", fact_text="The mailer host is two.")
    memory.clock.tick()
    memory.add_fact("main", "fact_b", fact_text="The login host is three.")
    assert len(ask.ids("host")) == 2
    memory.merge("side", "main")  # brings a row older than the newest seen
    assert set(ask.ids("host")) == {"fact_a", "fact_b", "fact_side"}
    memory.update_fact("main", "fact_side", fact_text="The mailer host is seven.")
    assert ask.ids("seven", mode="keyword") == ["fact_side"]
    assert ask.ids("two", mode="keyword") == []
    assert ask.ids("two", "side", mode="keyword") == ["fact_side"]
    memory.remove("main", "fact_a")
    assert set(ask.ids("host")) == {"fact_b", "fact_side"}


def test_rows_that_were_cut_and_removed_unseen_do_not_stay(memory, ask):
    memory.add_fact("main", "fact_old", fact_text="gateway old")
    memory.store.commit_pending("main")
    memory.add_fact("main", "fact_ghost", fact_text="gateway ghost")
    assert len(ask.ids("gateway")) == 2
    memory.remove("main", "fact_ghost")
    assert ask.ids("gateway") == ["fact_old"]
    assert ask.ids("gateway ghost", limit=1) == ["fact_old"], "nor take another's place"


def test_rows_that_waited_on_a_deleted_branch_are_not_those_of_its_namesake(memory, ask):
    memory.add_fact("main", "fact_old", fact_text="gateway old")
    memory.store.commit_pending("main")
    memory.fork("side", "main")
    memory.add_fact("side", "fact_ghost", fact_text="gateway ghost")
    assert len(ask.ids("gateway", "side")) == 2
    delete(memory.repo, "side", "main", memory.clock())
    memory.fork("side", "main")
    assert ask.ids("gateway ghost", "side", limit=1) == ["fact_old"], "nor take another's place"


class Counting:
    """A history that notes from where differences are asked, and can have lost commits."""

    def __init__(self, history) -> None:
        self._history = history
        self.bases: list[str] = []
        self.lost = False

    def __getattr__(self, name: str):
        return getattr(self._history, name)

    def changes(self, base: str, ref: Ref):
        self.bases.append(base)
        if self.lost:
            raise NotFound("gone")
        return self._history.changes(base, ref)


def test_a_new_branch_starts_from_the_nearest_that_was_followed(memory, ports):
    history = Counting(memory.store.history)
    ask = Asking(memory, replace(ports, history=history))
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    memory.fork("side", "main")
    memory.fork("far", "main")
    memory.add_fact("far", "fact_far", fact_text="gateway far")
    memory.store.commit_pending("far")
    ask("gateway", "far")
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    ask("gateway")
    memory.add_fact("main", "fact_c", fact_text="gateway three")
    main = memory.store.commit_pending("main")
    ask("gateway")
    ask("gateway", "far")
    memory.fork("new", "main")
    memory.add_fact("new", "fact_new", fact_text="gateway four")
    memory.store.commit_pending("new")
    history.bases.clear()
    assert len(ask.ids("gateway", "new")) == 4
    assert history.bases == [main]
    assert set(ask.ids("gateway", "side")) == {"fact_a"}


def test_a_vanished_commit_costs_one_full_look(memory, ports):
    history = Counting(memory.store.history)
    ask = Asking(memory, replace(ports, history=history))
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    ask("gateway")
    memory.update_fact("main", "fact_a", fact_text="gateway changed")
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    history.lost = True
    assert set(ask.ids("gateway changed")) == {"fact_a", "fact_b"}
    history.lost = False
    history.bases.clear()
    ask("gateway")
    assert history.bases == []


def test_nothing_is_read_twice(memory, ports):
    history = Counting(memory.store.history)
    ask = Asking(memory, replace(ports, history=history))
    learned: list[str] = []
    words = ports.index.words
    learn = words.learn
    words.learn = lambda kind, texts: (learned.extend(texts.values()), learn(kind, texts))
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    ask("gateway")
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    ask("gateway")
    ask("gateway")
    assert learned == ["gateway one", "gateway two"]


def test_following_a_branch_twice_is_harmless(memory, ports):
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    main = find(memory.repo, "main").id
    for _ in range(2):
        follow(memory.store, memory.store.history, ports.index, "main", main)
    assert len(ports.index.words.best(FACT, '"gateway"', 9)) == 1


def deeds(memory: EngineMemory, random_: random.Random, number: int) -> None:
    """One random deed on main."""
    facts = sorted(memory.state("main")["facts"])
    text = f"{random_.choice(THINGS)} {random_.choice(TRAITS)} is {number}"
    match random_.randrange(8):
        case 0 if facts:
            memory.remove("main", random_.choice(facts))
        case 1 if facts:
            memory.update_fact("main", random_.choice(facts), fact_text=text)
        case 2 if facts:
            memory.update_fact("main", random_.choice(facts), category=random_.choice("abc"))
        case 3 if facts:
            memory.judge(
                "main", random_.choice(facts), random_.choice(["invalidated", "verified"]), None
            )
        case 4:
            memory.commit_pending("main")
        case 5:
            memory.fork(f"side{number}", "main")
            memory.add_fact(f"side{number}", f"fact_s{number}", fact_text=text)
            memory.add_fact("main", f"fact_m{number}", fact_text=text)
            memory.merge(f"side{number}", "main")
        case _:
            memory.add_fact(
                "main", f"fact_{number}", fact_text=text, category=random_.choice("abc")
            )
    memory.clock.tick()


def test_a_search_that_takes_long_keeps_no_other_waiting(memory, ports):
    """B6: one view was locked for the whole of a search; whoever was at it keeps their state."""
    history, index = memory.store.history, ports.index
    ref, wanted = Ref(branch="main"), Filter(FACT)
    ask, answers = Asking(memory, ports), []
    memory.add_fact("main", "fact_a", fact_text="The gateway gives up.")
    ask("gateway")
    with (
        memory.store.reading(ref) as reading,
        ports.views.at(reading, ref, wanted, history, index) as slow,
    ):
        other = threading.Thread(target=lambda: answers.append(ask.ids("gateway")), daemon=True)
        other.start()
        other.join(30)
        assert answers == [["fact_a"]]
        memory.add_fact("main", "fact_b", fact_text="The gateway is back.")
        assert set(ask.ids("gateway")) == {"fact_a", "fact_b"}
        assert len(slow) == 1
    assert set(ask.ids("gateway")) == {"fact_a", "fact_b"}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_remembered_is_what_would_be_read(memory, ports, seed):
    """A long-lived process and one that has just started answer alike after any deeds."""
    random_ = random.Random(seed)
    warm = Asking(memory, ports)
    for number in range(60):
        deeds(memory, random_, number)
        if random_.random() < 0.4:
            continue
        cold = Asking(memory, replace(ports, views=ViewCache()))
        query = f"{random_.choice(THINGS)} {random_.choice(TRAITS)}"
        request: dict[str, Any] = {
            "mode": random_.choice(["vector", "keyword", "hybrid"]),
            "category": random_.choice([None, "a"]),
            "include_inactive": random_.choice([True, False]),
            "limit": 200,
            "wait": True,
        }
        mine, theirs = warm.ids(query, **request), cold.ids(query, **request)
        assert set(mine) == set(theirs)
        if request["mode"] == "vector":
            facts = memory.state("main")["facts"].items()
            assert set(mine) == {
                row_id
                for row_id, row in facts
                if (request["category"] in (None, row["category"]))
                and (request["include_inactive"] or row["verification"] != "invalidated")
            }


# Many branches


BRANCHES, ROWS = 50, 40


@pytest.fixture(scope="module")
def crowd(tmp_path_factory) -> Iterator[tuple[EngineMemory, SearchPorts]]:
    """50 branches with the same rows in near-equal words, and an index that may own Chroma."""
    folder = tmp_path_factory.mktemp("crowd")
    memory = EngineMemory(folder)
    random_ = random.Random(1)
    texts = [
        f"The {random_.choice(TRAITS)} of {thing} and its {random_.choice(TRAITS)} is {number}"
        for number, thing in enumerate(random_.choices(THINGS, k=ROWS))
    ]
    for row, text in enumerate(texts):
        memory.add_fact("main", f"fact_{row:02}", fact_text=text)
    for number in range(BRANCHES):
        memory.fork(f"b{number}", "main")
        with memory.store.changing(f"b{number}") as work:
            for row, text in enumerate(texts):
                words = text.split()
                words[random_.randrange(len(words))] = random_.choice(["new", "old", f"x{number}"])
                near = " ".join(words)
                work.change(
                    FACT,
                    f"fact_{row:02}",
                    {"fact_text": near, "content_hash": content_hash(near)},
                )
            work.commit(Message("change", "vary"))
    pytest.importorskip("chromadb")
    index = LocalIndex(folder, chroma=True)
    ports = SearchPorts(memory.store, memory.store.history, index, HashingEmbedder())
    for branch in memory.repo.ledger.branches():
        follow(memory.store, memory.store.history, index, branch.name, branch.id)
    assert ports.embedder
    embed_pending(index, ports.embedder, None)
    while index.tend():
        pass
    yield memory, ports
    index.close()
    memory.close()


def questions(count: int) -> Iterator[tuple[str, str]]:
    random_ = random.Random(2)
    for _ in range(count):
        branch = f"b{random_.randrange(BRANCHES)}"
        (one, other), thing = random_.sample(TRAITS, 2), random_.choice(THINGS)
        yield branch, f"The {one} of {thing} and its {other} {random_.randrange(ROWS)}?"


def test_only_the_asked_branch_is_found_and_all_of_it(crowd):
    memory, ports = crowd
    ask = Asking(memory, ports)
    for branch, question in questions(20):
        state = memory.state(branch)["facts"]
        hits = ask(question, branch, mode="vector", limit=ROWS).hits
        assert {hit.row["id"]: hit.row["fact_text"] for hit in hits} == {
            row_id: row["fact_text"] for row_id, row in state.items()
        }
        vectors = ports.embedder.embed([hit.row["fact_text"] for hit in hits])
        cosines = [hit.cosine for hit in hits]
        assert max(np.abs(np.linalg.norm(vectors, axis=1) - 1)) < 1e-5
        assert all(
            hit.score == pytest.approx(max(0, hit.cosine or 0)) or hit.score > 0 for hit in hits
        )
        assert all(cosine is not None for cosine in cosines)


def test_words_of_49_near_equal_branches_do_not_hide_those_of_the_asked_one(crowd):
    memory, ports = crowd
    ask = Asking(memory, ports)
    for branch, question in questions(20):
        thing = question.split()[3]
        state = memory.state(branch)["facts"]
        wanted = {r for r, row in state.items() if thing in row["fact_text"].split()}
        assert wanted <= set(ask.ids(question, branch, mode="keyword", limit=ROWS))


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_the_neighbours_give_the_first_ten_of_the_exact_search(crowd, mode):
    memory, ports = crowd
    exactly = Asking(memory, ports)
    roughly = Asking(
        memory, replace(ports, reach=SearchLimits(exact_rows=10, enough=20), views=ViewCache())
    )
    asked = []
    neighbours = ports.index.vectors.neighbours
    ports.index.vectors.neighbours = lambda *a: asked.append(neighbours(*a)) or asked[-1]
    equal = 0
    for branch, question in questions(100):
        ten = exactly.ids(question, branch, mode=mode)
        equal += set(ten) == set(roughly.ids(question, branch, mode=mode))
    del ports.index.vectors.neighbours
    assert len(asked) > 100
    assert None not in asked
    assert equal >= 95


# Vectors that wait, and models that come and go


def test_a_search_embeds_sixteen_texts_and_says_how_many_wait(memory, ask, ports):
    for number in range(40):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    found = ask("gateway number 3")
    assert found.pending_vectors == 24
    assert ports.embedder.embedded == 16 + 1
    assert len(found.hits) == 10
    assert ask("gateway number 3").pending_vectors == 8
    assert ask("gateway number 3", wait=True).pending_vectors == 0


def test_a_row_without_vector_is_found_by_its_words(memory, ask):
    memory.add_fact("main", "fact_00", fact_text="zebra stripes")
    for number in range(20):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    (hit, *_) = ask("zebra").hits
    assert (hit.row["id"], hit.cosine) == ("fact_00", None)


def test_without_a_model_search_is_by_words_and_catches_up_when_it_comes(memory, ports):
    class Coming(HashingEmbedder):
        here = False

        def embed(self, texts):
            if not self.here:
                raise EmbedderUnavailable("There is no model yet.")
            return super().embed(texts)

    memory.add_fact("main", "fact_a", fact_text="gateway one")
    bare = Asking(memory, replace(ports, embedder=None))
    found = bare("gateway", mode="vector")
    assert found.mode_used == "keyword"
    assert found.notes == ["keyword only: no embedding model; run `day1 model install`"]
    assert [hit.row["id"] for hit in found.hits] == ["fact_a"]
    coming = Coming()
    ask = Asking(memory, replace(ports, embedder=coming))
    assert ask("gateway").notes == ["keyword only: There is no model yet."]
    coming.here = True
    found = ask("gateway")
    assert (found.mode_used, found.notes, found.pending_vectors) == ("hybrid", [], 0)
    assert (found.hits[0].cosine or 0) > 0


# Damage, reading only, threads


@pytest.mark.parametrize("file", ["index.db", "vectors"])
def test_a_damaged_index_is_said_and_built_anew(memory, ask, ports, tmp_path, file):
    for number in range(30):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    expected = ask.ids("gateway number 3", wait=True)
    ports.index.close()
    broken = tmp_path / file
    if broken.is_dir():
        (broken,) = broken.glob("*.f32")
    broken.write_bytes(b"garbage" * 100)
    found = ask("gateway number 3", wait=True)
    assert "damaged" in found.notes[0]
    assert [hit.row["id"] for hit in found.hits] == expected
    assert ask("gateway number 3").notes == []


def test_an_index_that_another_process_begins_anew_meanwhile_gives_no_mixed_answer(
    memory, ask, ports, tmp_path
):
    """The numbers of texts that were looked up before mean other texts then."""
    for number in range(5):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    expected = [hit.row["fact_text"] for hit in ask("gateway number 3", wait=True).hits]
    words = ports.index.words
    best = words.best

    def lose_it_once(*arguments):
        del words.best
        (file,) = (tmp_path / "vectors").glob("*.f32")
        os.truncate(file, 9)
        other = LocalIndex(tmp_path)
        with pytest.raises(IndexLost):
            other.vectors.cosines(ports.embedder, np.zeros(64, np.float32), [1])
        other.words.learn(FACT, {content_hash("strange"): "strange"})
        other.close()
        return best(*arguments)

    words.best = lose_it_once
    found = ask("gateway number 3", wait=True)
    assert "damaged" in found.notes[0]
    assert [hit.row["fact_text"] for hit in found.hits] == expected


def test_what_is_remembered_of_a_lost_index_is_forgotten(memory, ask, tmp_path):
    texts = {"fact_a": "gateway one", "fact_b": "billing two"}
    for fact_id, text in texts.items():
        memory.add_fact("main", fact_id, fact_text=text)
        assert ask.ids(text, mode="keyword") == [fact_id]
    ask.ports.index.close()
    (tmp_path / "index.db").unlink()
    other = LocalIndex(tmp_path)  # it gives the texts other numbers
    for text in reversed(texts.values()):
        other.words.learn(FACT, {content_hash(text): text})
    other.close()
    for fact_id, text in texts.items():
        assert ask.ids(text, mode="keyword") == [fact_id]


def test_a_read_only_folder_is_searched_as_far_as_the_index_goes(memory, ask, ports, tmp_path):
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    ask("gateway")
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    ports.index.close()
    index = LocalIndex(tmp_path, read_only=True)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("index*")}
    reading = Asking(memory, replace(ports, index=index, views=ViewCache()))
    for _ in range(2):
        found = reading("gateway")
        assert [hit.row["id"] for hit in found.hits] == ["fact_a"]
        assert found.pending.count == 2
        assert found.notes == [
            "the folder is read-only: what was written last may not be found",
            "1 facts are not indexed yet",
        ]
    index.close()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("index*")} == before


def test_threads_search_while_others_write(memory, ask):
    memory.add_fact("main", "fact_0", fact_text="gateway number 0")
    failed: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(15):
                assert "fact_0" in ask.ids("gateway number 0", limit=200)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 30):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
        assert ask.ids(f"gateway number {number}", mode="keyword")[0] == f"fact_{number}"
        if number % 7 == 0:
            memory.update_fact("main", f"fact_{number}", category="changed")
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(ask.ids("gateway", limit=200)) == 30


def test_another_process_s_words_are_used(memory, ask, ports, tmp_path):
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    other = LocalIndex(tmp_path)
    mine = Asking(memory, replace(ports, index=other, views=ViewCache()))
    assert mine.ids("gateway") == ["fact_a"]
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    assert len(ask.ids("gateway")) == 2
    assert len(mine.ids("gateway")) == 2
    other.close()


# The real model


def test_the_real_model_finds_what_shares_no_word(memory, ports):
    folder = os.environ.get("DAY1_EMBEDDER__MODEL_DIR")
    if not folder:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    texts = ["The car is in the garage.", "Bread is baked before dawn.", "It rains in November."]
    for number, text in enumerate(texts):
        memory.add_fact("main", f"fact_{number}", fact_text=text)
    ask = Asking(memory, replace(ports, embedder=MiniLm(lambda: Path(folder))))
    assert ask.ids("Where do we keep our automobile?")[0] == "fact_0"
    assert ask.ids("When are loaves made?")[0] == "fact_1"
