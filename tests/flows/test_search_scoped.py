"""Search in a space, and without what has expired, is secret or is true no more.

Each rule holds in a view of all rows (`exact_rows`) and where SQL is asked about texts.
"""

from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from day1.adapters.index.index import LocalIndex
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, RELATION
from day1.services.access.calls import now
from day1.services.search.candidates import SearchLimits
from day1.services.search.indexing import embed_pending, follow
from day1.services.search.search_engine import SearchEngine
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.searched_memory import Asking
from tests.flows.searched_memory import memory as memory  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import search_engine as search_engine  # noqa: PLC0414 - a fixture
from tests.suites.engine_memory import EngineMemory

A, B = "project:a", "project:b"


@pytest.fixture(params=[20_000, 0], ids=["view", "sql"])
def ask(request, memory, search_engine):
    reach = SearchLimits(exact_rows=request.param)
    return Asking(memory, replace(search_engine, limits=reach, clock=memory.clock))


def on_disk(folder: Path, words: str) -> list[str]:
    """The files of the index that hold some words."""
    files = [*folder.glob("index.db*"), *(folder / "vectors").glob("*")]
    return [file.name for file in files if words.encode() in file.read_bytes()]


def test_a_search_in_a_space_finds_its_rows_and_without_one_all(memory, ask):
    for name, space in (("a", A), ("b", B), ("s", None)):
        memory.add_fact("main", f"fact_{name}", fact_text=f"The gateway {name} waits.", space=space)
    assert ask.ids("gateway", spaces=(A,)) == ["fact_a"]
    assert ask.ids("gateway", spaces=(B,)) == ["fact_b"]
    assert ask.ids("gateway", spaces=(None,)) == ["fact_s"]
    assert sorted(ask.ids("gateway")) == ["fact_a", "fact_b", "fact_s"]


def test_few_rows_of_a_large_state_are_compared_exactly(memory, search_engine):
    """The rows without a space are counted anew once the state has grown by a tenth."""
    engine = replace(search_engine, limits=SearchLimits(exact_rows=20), clock=memory.clock)
    ask = Asking(memory, engine)
    for number in range(30):
        memory.add_fact("main", f"fact_b{number}", fact_text=f"gateway b{number}", space=B)
    for number in range(5):
        memory.add_fact("main", f"fact_s{number}", fact_text=f"gateway s{number}")
    assert sorted(ask.ids("gateway", spaces=(None,))) == [f"fact_s{number}" for number in range(5)]
    assert not engine.views.large_states
    for number in range(5, 25):
        memory.add_fact("main", f"fact_s{number}", fact_text=f"gateway s{number}")
    assert {*ask.ids("gateway", spaces=(None,), limit=50)} == {f"fact_s{n}" for n in range(25)}
    assert engine.views.large_states


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_the_rows_of_other_spaces_take_no_places(memory, ask, mode):
    for number in range(260):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway {number}", space=B)
    memory.add_fact("main", "fact_far", fact_text="a gateway in a long tale of old", space=A)
    assert ask.ids("gateway", spaces=(A,), mode=mode, wait=True) == ["fact_far"]


def test_a_row_that_moves_to_another_space_is_found_there(memory, ask):
    memory.add_fact("main", "fact_a", fact_text="The gateway waits.", space=A)
    assert ask.ids("gateway", spaces=(A,)) == ["fact_a"]
    memory.update_fact("main", "fact_a", space=B)
    assert ask.ids("gateway", spaces=(A,)) == []
    assert ask.ids("gateway", spaces=(B,)) == ["fact_a"]


def test_an_expired_row_is_gone_without_a_write_and_is_there_in_its_past(memory, ask):
    end = memory.add_fact("main", "fact_a", fact_text="The gateway waits.").at + 1_000_000
    memory.add_fact("main", "fact_b", fact_text="The gateway waits long.", expires_at=end)
    memory.add_observation("main", "obs_c", summary="The gateway waited.", expires_at=end)
    both = {"kinds": ("facts", "observations")}
    memory.clock.now = end - 1
    assert sorted(ask.ids("gateway", **both)) == ["fact_a", "fact_b", "obs_c"]
    memory.clock.now = end
    assert ask.ids("gateway", **both) == ["fact_a"]
    assert sorted(ask.ids("gateway", until=end - 1, **both)) == ["fact_a", "fact_b", "obs_c"]
    assert ask.ids("gateway", include_inactive=True) == ["fact_a"]


def test_expired_rows_take_no_places(memory, ask):
    end = memory.clock.now + 1_000_000
    for number in range(260):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway {number}", expires_at=end)
    memory.add_fact("main", "fact_far", fact_text="a gateway in a long tale of old")
    memory.clock.now = end
    for mode in ("hybrid", "keyword", "vector"):
        assert ask.ids("gateway", mode=mode, wait=True) == ["fact_far"]


def test_a_row_that_shares_its_text_with_an_expired_one_is_found(memory, ask):
    end = memory.clock.now + 1_000_000
    memory.add_fact("main", "fact_a", fact_text="The gateway waits.", expires_at=end)
    memory.add_fact("main", "fact_b", fact_text="The gateway waits.")
    memory.clock.now = end
    assert ask.ids("gateway") == ["fact_b"]
    assert ask.ids("gateway", mode="vector", wait=True) == ["fact_b"]


def test_a_secret_row_is_neither_found_nor_indexed(memory, ask, tmp_path):
    memory.add_fact(
        "main", "fact_a", fact_text="The vault PIN is plover4711.", sensitivity="secret"
    )
    memory.add_fact("main", "fact_b", fact_text="The vault is old.")
    found = ask("vault PIN", wait=True, include_inactive=True)
    assert [hit.row["id"] for hit in found.hits] == ["fact_b"]
    assert found.notes == []
    ask.search_engine.index.close()
    assert on_disk(tmp_path, "plover4711") == []


def test_a_row_that_becomes_secret_leaves_the_index(memory, ask, tmp_path):
    told = memory.add_fact("main", "fact_a", fact_text="The vault PIN is plover4711.").at
    memory.add_fact("main", "fact_b", fact_text="The vault is old.")
    assert len(ask.ids("vault", wait=True)) == 2
    memory.update_fact("main", "fact_a", sensitivity="secret")
    assert ask.ids("vault PIN", wait=True) == ["fact_b"]
    ask.search_engine.index.close()
    assert on_disk(tmp_path, "plover4711") == []
    assert ask.ids("vault", until=told, wait=True) == []  # nor does its past bring it back
    ask.search_engine.index.close()
    assert on_disk(tmp_path, "plover4711") == []
    memory.update_fact("main", "fact_a", sensitivity=None)
    assert len(ask.ids("vault", wait=True)) == 2


def test_a_text_that_is_no_secret_elsewhere_is_found_there(memory, ask):
    memory.add_fact("main", "fact_a", fact_text="The vault PIN is plover4711.")
    memory.add_fact("main", "fact_b", fact_text="The vault PIN is plover4711.", space=B)
    memory.commit_pending("main")
    memory.fork("side", "main")
    assert len(ask.ids("vault")) == len(ask.ids("vault", "side")) == 2
    memory.update_fact("main", "fact_a", sensitivity="secret")
    assert ask.ids("vault") == ["fact_b"]
    memory.update_fact("main", "fact_b", sensitivity="secret")
    assert ask.ids("vault") == []
    found = ask("vault", "side")
    assert sorted(str(hit.row["id"]) for hit in found.hits) == ["fact_a", "fact_b"]
    assert found.notes == []
    assert ask.ids("vault") == []


def test_who_was_killed_while_a_text_was_withdrawn_begins_again(memory, ask, monkeypatch):
    memory.add_fact("main", "fact_a", fact_text="The vault PIN is plover4711.")
    assert ask.ids("vault") == ["fact_a"]
    memory.update_fact("main", "fact_a", sensitivity="secret")
    index = ask.search_engine.index
    monkeypatch.setattr(index, "forget", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ask.ids("vault")
    monkeypatch.undo()
    assert index.words.known(FACT, [str(memory_hash(memory))])
    assert ask.ids("vault") == []
    assert not index.words.known(FACT, [str(memory_hash(memory))])


def memory_hash(memory):
    with memory.store.reading(Ref(branch="main")) as reading:
        return reading.get(FACT, ["fact_a"])["fact_a"]["content_hash"]


def test_a_fact_is_answered_while_it_is_true(memory, ask):
    now = memory.clock.now
    memory.add_fact(
        "main",
        "fact_old",
        fact_text="Ada heads the gateway team.",
        happened_at=now - 9_000_000,
        valid_until=now - 5_000_000,
    )
    memory.add_fact(
        "main", "fact_new", fact_text="Bo heads the gateway team.", happened_at=now - 5_000_000
    )
    assert ask.ids("gateway team") == ["fact_new"]
    assert len(ask.ids("gateway team", include_inactive=True)) == 2
    assert ask.ids("gateway team", as_of_event=now - 9_000_001) == []
    assert ask.ids("gateway team", as_of_event=now - 9_000_000) == ["fact_old"]
    assert ask.ids("gateway team", as_of_event=now - 5_000_001) == ["fact_old"]
    assert ask.ids("gateway team", as_of_event=now - 5_000_000) == ["fact_new"]


def test_what_was_known_and_what_was_true_are_asked_together(memory, ask):
    start = memory.clock.now - 9_000_000
    first = memory.add_fact(
        "main", "fact_old", fact_text="Ada heads the gateway team.", happened_at=start
    ).at
    memory.supersede("main", "fact_old", "fact_new", "Bo heads the gateway team.")
    memory.update_fact("main", "fact_old", valid_until=start + 4_000_000)
    memory.update_fact("main", "fact_new", happened_at=start + 4_000_000)
    assert ask.ids("gateway team", as_of_event=start + 5_000_000) == ["fact_new"]
    assert ask.ids("gateway team", as_of_event=start + 5_000_000, until=first) == ["fact_old"]
    assert ask.ids("gateway team", as_of_event=start + 3_999_999) == ["fact_old"]
    assert ask.ids("gateway team") == ["fact_new"]


def test_a_superseded_fact_that_does_not_say_when_it_ended_was_a_mistake(memory, ask):
    memory.add_fact("main", "fact_old", fact_text="Ada heads the gateway.", happened_at=1)
    memory.supersede("main", "fact_old", "fact_new", "Bo heads the gateway.")
    memory.update_fact("main", "fact_old", valid_until=None)
    memory.update_fact("main", "fact_new", happened_at=1)
    assert ask.ids("gateway", as_of_event=2) == ["fact_new"]


# Readings


def test_a_state_is_shown_without_expired_rows_and_secret_words(memory):
    at = memory.clock.now + 10_000_000
    memory.add_fact("main", "fact_a", fact_text="plain", category="c")
    memory.add_fact("main", "fact_b", fact_text="gone", expires_at=at)
    secret = {"sensitivity": "secret", "category": "c", "space": A, "tags": '["t"]'}
    memory.add_fact("main", "fact_c", fact_text="PIN plover4711", **secret)
    memory.add_relation(
        "main", "rel_a", source_entity="a", relation_type="r", target_entity="b", valid_until=at
    )
    with memory.store.reading(Ref(branch="main", shown_at=at)) as shown:
        rows = {str(row["id"]): row for row in shown.find(FACT, Query())}
        assert list(rows) == ["fact_a", "fact_c"]
        hidden = rows["fact_c"]
        assert (hidden["fact_text"], hidden["category"], hidden["space"], hidden["tags"]) == (
            "[secret]",
            "[secret]",
            A,
            None,
        )
        assert shown.scan(FACT, ("id", "fact_text"), Query(equal={"space": A})) == [
            ("fact_c", "[secret]")
        ]
        assert [row["id"] for row in shown.find(FACT, Query(equal={"category": "c"}))] == ["fact_a"]
        assert (shown.count(FACT), shown.tally(FACT, "space")) == (2, {None: 1, A: 1})
        assert list(shown.get(FACT, ["fact_a", "fact_b"])) == ["fact_a"]
        assert [row["id"] for row in shown.find(RELATION, Query(present_at=at - 1))] == ["rel_a"]
        assert shown.find(RELATION, Query(present_at=at)) == []
        assert len(shown.find(RELATION, Query())) == 1
    with memory.store.reading(Ref(branch="main")) as whole:
        assert len(whole.find(FACT, Query())) == 3
        assert [row["id"] for row in whole.find(FACT, Query(alive_at=at, public=True))] == [
            "fact_a"
        ]


class SpacesWritten:
    """Two spaces of a memory, and the rows that each of them should show."""

    def __init__(self, memory):
        self.memory = memory
        self.rows: dict[str, dict] = {}

    def write(self, space, what, number):
        """Add a row of a space, or change it where it is there."""
        row_id, now = f"fact_{space[-1]}{number}", self.memory.clock.now
        row = self.rows.get(row_id)
        text = {"fact_text": f"gateway {space} {now}"}
        change = {
            "edit": text,
            "move": {"space": A if row is None or row["space"] == B else B},
            "secret": {"sensitivity": "secret"},
            "expire": {"expires_at": now + 1},
        }[what]
        if row is None:
            self.rows[row_id] = {"space": space, **text, **change}
            self.memory.add_fact("main", row_id, **self.rows[row_id])
        else:
            row |= change
            self.memory.update_fact("main", row_id, **change)
        self.memory.clock.now += 10

    def shown(self, space):
        """The ids of the rows of a space that are neither secret nor over."""
        return {
            row_id
            for row_id, row in self.rows.items()
            if row["space"] == space and not row.keys() & {"sensitivity", "expires_at"}
        }


_WRITES = st.lists(
    st.tuples(
        st.sampled_from([A, B]),
        st.sampled_from(["edit", "move", "secret", "expire"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(writes=_WRITES)
def test_two_spaces_never_show_each_others_rows(tmp_path_factory, writes):
    """After each write a search in a space answers what a plain look at all rows says."""
    folder = tmp_path_factory.mktemp("spaces")
    with closing(EngineMemory(folder)) as memory, closing(LocalIndex(folder)) as index:
        plain = SearchEngine(memory.store, memory.store.history, index, HashingEmbedder(), now)
        ask = Asking(memory, replace(plain, clock=memory.clock))
        spaces = SpacesWritten(memory)
        for write in writes:
            spaces.write(*write)
            for space, mode in product((A, B), ("keyword", "hybrid")):
                hits = ask.ids("gateway", equal={"space": space}, mode=mode, limit=50)
                assert set(hits) == spaces.shown(space)


def test_a_branch_that_is_followed_in_the_background_learns_no_secret(
    memory, search_engine, tmp_path
):
    memory.add_fact(
        "main", "fact_a", fact_text="The vault PIN is plover4711.", sensitivity="secret"
    )
    memory.commit_pending("main")
    follow(memory.store, memory.store.history, search_engine.index, "main", "branch_main")
    embed_pending(search_engine.index, search_engine.embedder, None)
    search_engine.index.close()
    assert on_disk(tmp_path, "plover4711") == []
