"""Search among many branches gives rows of the one that was asked for, and all of them."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from day1.adapters.index.index import LocalIndex
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from day1.services.access.calls import now
from day1.services.search.candidates import SearchLimits
from day1.services.search.indexing import embed_pending, follow
from day1.services.search.search_engine import SearchEngine
from day1.services.search.views import ViewCache
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.searched_memory import Asking
from tests.suites.engine_memory import EngineMemory

THINGS = ("gateway", "billing", "login", "export", "report", "cache", "queue", "mailer", "backup")
TRAITS = ("timeout", "owner", "limit", "colour", "region", "retry", "version", "host", "size")


BRANCHES, ROWS = 50, 40


@pytest.fixture(scope="module")
def crowd(tmp_path_factory) -> Iterator[tuple[EngineMemory, SearchEngine]]:
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
    search_engine = SearchEngine(memory.store, memory.store.history, index, HashingEmbedder(), now)
    for branch in memory.repo.ledger.branches():
        follow(memory.store, memory.store.history, index, branch.name, branch.id)
    assert search_engine.embedder
    embed_pending(index, search_engine.embedder, None)
    while index.update_neighbours():
        pass
    yield memory, search_engine
    index.close()
    memory.close()


def questions(count: int) -> Iterator[tuple[str, str]]:
    random_ = random.Random(2)
    for _ in range(count):
        branch = f"b{random_.randrange(BRANCHES)}"
        (one, other), thing = random_.sample(TRAITS, 2), random_.choice(THINGS)
        yield branch, f"The {one} of {thing} and its {other} {random_.randrange(ROWS)}?"


def test_only_the_asked_branch_is_found_and_all_of_it(crowd):
    memory, search_engine = crowd
    ask = Asking(memory, search_engine)
    for branch, question in questions(20):
        state = memory.state(branch)["facts"]
        hits = ask(question, branch, mode="vector", limit=ROWS).hits
        assert {hit.row["id"]: hit.row["fact_text"] for hit in hits} == {
            row_id: row["fact_text"] for row_id, row in state.items()
        }
        vectors = search_engine.embedder.embed([hit.row["fact_text"] for hit in hits])
        cosines = [hit.cosine for hit in hits]
        assert max(np.abs(np.linalg.norm(vectors, axis=1) - 1)) < 1e-5
        assert all(
            hit.score == pytest.approx(max(0, hit.cosine or 0)) or hit.score > 0 for hit in hits
        )
        assert all(cosine is not None for cosine in cosines)


def test_words_of_49_near_equal_branches_do_not_hide_those_of_the_asked_one(crowd):
    memory, search_engine = crowd
    ask = Asking(memory, search_engine)
    for branch, question in questions(20):
        thing = question.split()[3]
        state = memory.state(branch)["facts"]
        wanted = {r for r, row in state.items() if thing in row["fact_text"].split()}
        assert wanted <= set(ask.ids(question, branch, mode="keyword", limit=ROWS))


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_the_neighbours_give_the_first_ten_of_the_exact_search(crowd, mode):
    memory, search_engine = crowd
    exactly = Asking(memory, search_engine)
    roughly = Asking(
        memory,
        replace(search_engine, limits=SearchLimits(exact_rows=10, enough=20), views=ViewCache()),
    )
    asked = []
    neighbours = search_engine.index.vectors.neighbours
    search_engine.index.vectors.neighbours = lambda *a: asked.append(neighbours(*a)) or asked[-1]
    equal = 0
    for branch, question in questions(100):
        ten = exactly.ids(question, branch, mode=mode)
        equal += set(ten) == set(roughly.ids(question, branch, mode=mode))
    del search_engine.index.vectors.neighbours
    assert len(asked) > 100
    assert None not in asked
    assert equal >= 95
