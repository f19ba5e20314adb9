"""The index follows what branches have: merged, changed, removed and deleted rows, read once."""

import random
import threading
from dataclasses import replace
from typing import Any

import pytest

from day1.errors import NotFound
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.search.wording import phrase
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.search.filters import Filter
from day1.services.search.indexing import follow
from day1.services.search.views import ViewCache
from tests.flows.searched_memory import Asking
from tests.flows.searched_memory import ask as ask  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import memory as memory  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import search_engine as search_engine  # noqa: PLC0414 - a fixture
from tests.suites.engine_memory import EngineMemory

THINGS = ("gateway", "billing", "login", "export", "report", "cache", "queue", "mailer", "backup")
TRAITS = ("timeout", "owner", "limit", "colour", "region", "retry", "version", "host", "size")


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


def test_rows_that_were_committed_and_removed_unseen_do_not_stay(memory, ask):
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
    delete(memory.repo, find(memory.repo, "side"), "main", memory.clock())
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


def test_a_new_branch_starts_from_the_nearest_that_was_followed(memory, search_engine):
    history = Counting(memory.store.history)
    ask = Asking(memory, replace(search_engine, history=history))
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


def test_a_vanished_commit_costs_one_full_look(memory, search_engine):
    history = Counting(memory.store.history)
    ask = Asking(memory, replace(search_engine, history=history))
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


def test_the_index_reads_no_row_twice(memory, search_engine):
    history = Counting(memory.store.history)
    ask = Asking(memory, replace(search_engine, history=history))
    learned: list[str] = []
    words = search_engine.index.words
    learn = words.learn
    words.learn = lambda kind, texts: (learned.extend(texts.values()), learn(kind, texts))
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    ask("gateway")
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    ask("gateway")
    ask("gateway")
    assert learned == ["gateway one", "gateway two"]


def test_following_a_branch_twice_is_harmless(memory, search_engine):
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    main = find(memory.repo, "main").id
    for _ in range(2):
        follow(memory.store, memory.store.history, search_engine.index, "main", main)
    assert len(search_engine.index.words.best(FACT, phrase("gateway"), 9)) == 1


def actions(memory: EngineMemory, random_: random.Random, number: int) -> None:
    """One random action on main."""
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


def test_a_search_that_takes_long_keeps_no_other_waiting(memory, search_engine):
    """B6: one view was locked for the whole of a search; whoever was at it keeps their state."""
    history, index = memory.store.history, search_engine.index
    ref, wanted = Ref(branch="main"), Filter(FACT)
    ask, answers = Asking(memory, search_engine), []
    memory.add_fact("main", "fact_a", fact_text="The gateway gives up.")
    ask("gateway")
    with (
        memory.store.reading(ref) as reading,
        search_engine.views.at(reading, ref, wanted, history, index) as slow,
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
def test_what_is_remembered_is_what_would_be_read(memory, search_engine, seed):
    """A long-lived process and one that has just started answer alike after any actions."""
    random_ = random.Random(seed)
    warm = Asking(memory, search_engine)
    for number in range(60):
        actions(memory, random_, number)
        if random_.random() < 0.4:
            continue
        cold = Asking(memory, replace(search_engine, views=ViewCache()))
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
