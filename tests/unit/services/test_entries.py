"""Entries under keys of spaces: what is put, replaced, found below a space, and removed."""

from collections.abc import Mapping
from typing import Any

import pytest

from day1.errors import Refused, ValueTooLarge
from day1.model.branches.branch import MAIN
from day1.model.contexts.keyed import passage_id
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import FACT, OBSERVATION, Row
from day1.services.contexts import entries, entry_writes
from day1.services.contexts.contexts import NewContext, save
from day1.services.contexts.entries import Entry, EntryKey, EntryQuery, NewEntry
from day1.services.contexts.entry_search import nearest
from day1.services.contexts.keyed_rows import UpsertedRows
from day1.services.rows.recording import NewFact, fact_row
from tests.unit.services.conftest import ADA, Bench

USERS = "app:users"
ANN = EntryKey(USERS, "ann")


def put(bench: Bench, at: EntryKey, value: Mapping[str, Any], **more: Any) -> UpsertedRows:
    bench.now += 1
    return entry_writes.put(bench.repo, bench.branch(), [NewEntry(at, value, **more)], ADA)


def got(bench: Bench, *keys: EntryKey) -> list[Entry | None]:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return entries.get(reading, keys, bench.now)


def found(bench: Bench, within: Row | None = None, **where: Any) -> list[str]:
    """The keys of the entries found, in order."""
    query = EntryQuery(bench.now, within or {}, where)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        ids = entries.find(reading, query)
        return [entry.at.key for entry in entries.read(reading, ids)]


def spaces(bench: Bench, within: Row | None = None) -> dict[str | None, int]:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return entries.spaces(reading, EntryQuery(bench.now, within or {}))


def change(bench: Bench, row_id: str, **columns: Any) -> None:
    """Change a row past all rules, as a person's later edit would."""
    with bench.store.changing(MAIN) as work:
        work.change(OBSERVATION, row_id, columns)
        work.commit(Message("change", "by hand"))


def test_an_entry_comes_back_as_it_was_put_with_its_times(bench: Bench) -> None:
    value = {"b": 1.50, "a": [None, True, "é", 10**30]}
    assert put(bench, ANN, value).added == 1
    first = bench.now
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert list(entry.value) == ["b", "a"]
    assert (entry.at, entry.value, entry.row_id) == (ANN, value, ANN.row_id)
    assert (entry.created_at, entry.updated_at, entry.expires_at) == (first, first, None)
    bench.now += 10
    assert put(bench, ANN, {"c": 1}).changed == 1
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert entry.value == {"c": 1}
    assert (entry.created_at, entry.updated_at) == (first, bench.now)
    assert len(bench.store.commits) == 3  # the beginning, the pending row, the change


def test_an_equal_value_writes_nothing(bench: Bench) -> None:
    put(bench, ANN, {"a": 1})
    commits = len(bench.store.commits)
    done = put(bench, ANN, {"a": 1})
    assert (done.added, done.changed, len(bench.store.commits)) == (0, 0, commits)
    assert put(bench, ANN, {"a": 1.0}).changed == 1


def test_several_entries_are_put_together_or_not_at_all(bench: Bench) -> None:
    other = NewEntry(EntryKey(None, "x"), {"n": "y" * 8_388_601})
    with pytest.raises(
        ValueTooLarge, match="has 8,388,609 bytes as JSON, and an entry at most 8,388,608"
    ) as refused:
        entry_writes.put(bench.repo, bench.branch(), [NewEntry(ANN, {"n": 1}), other], ADA)
    assert refused.value.details == {"key": "x", "limit": 8_388_608}
    assert got(bench, ANN) == [None]
    both = [NewEntry(ANN, {"n": 1}), NewEntry(EntryKey(None, "x"), {"n": 2})]
    assert entry_writes.put(bench.repo, bench.branch(), both, ADA).added == 2
    assert [entry and entry.value for entry in got(bench, EntryKey(None, "x"), ANN)] == [
        {"n": 2},
        {"n": 1},
    ]


def test_keys_and_spaces_are_told_apart_to_the_letter(bench: Bench) -> None:
    places = [
        EntryKey(space, key)
        for space in (None, "app:a", "app:a/b", "app:a:b")
        for key in ("k", "K", "k ", "a/k", "b\x1fk", "k\n", "a:k", "é", "e\u0301")
    ]
    for number, place in enumerate(places):
        put(bench, place, {"n": number})
    assert len({place.row_id for place in places}) == len(places)
    assert [entry and entry.value["n"] for entry in got(bench, *places)] == [*range(len(places))]


def test_entries_below_a_space_are_found_newest_first(bench: Bench) -> None:
    names = (USERS, f"{USERS}/ann", f"{USERS}/ann/notes", f"{USERS}2", "app:users-x", None)
    for number, space in enumerate(names):
        put(bench, EntryKey(space, f"k{number}"), {"n": number})
    assert found(bench) == ["k5", "k4", "k3", "k2", "k1", "k0"]
    assert found(bench, {"space": USERS}) == ["k2", "k1", "k0"]
    assert found(bench, {"space": f"{USERS}/ann"}) == ["k2", "k1"]
    assert found(bench, {"space": None}) == ["k5"]
    assert found(bench, {"space": USERS}, n={"$gt": 0}) == ["k2", "k1"]
    assert spaces(bench, {"space": USERS}) == {
        USERS: 1,
        f"{USERS}/ann": 1,
        f"{USERS}/ann/notes": 1,
    }
    assert spaces(bench)[None] == 1


def test_other_observations_and_contexts_without_a_key_are_no_entries(bench: Bench) -> None:
    bench.now += 1
    save(bench.repo, bench.branch(), NewContext(USERS, None, {"a": 1}), ADA)
    save(bench.repo, bench.branch(), NewContext(USERS, "ann", [1, 2]), ADA)
    assert found(bench) == ["ann"]
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert entry.value == [1, 2]


def test_an_expired_entry_is_not_there_and_can_be_put_again(bench: Bench) -> None:
    put(bench, ANN, {"a": 1}, expires_at=bench.now + 100)
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert entry.expires_at == bench.now + 99
    bench.now += 99
    assert got(bench, ANN) == [None]
    assert found(bench) == []
    assert spaces(bench) == {}
    put(bench, ANN, {"a": 1})
    assert found(bench) == ["ann"]


def test_a_secret_entry_is_told_to_who_names_it_and_is_in_no_list(bench: Bench) -> None:
    put(bench, ANN, {"a": 1}, sensitivity="secret")
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert entry.value == {"a": 1}
    assert found(bench, {"space": USERS}) == []
    assert spaces(bench) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 2}', {"a": 2}),
        ("It is two.", {"text": "It is two."}),
        ("[1]", {"text": "[1]"}),
    ],
)
def test_a_text_that_a_person_gave_is_the_value(bench: Bench, text: str, value: Any) -> None:
    put(bench, ANN, {"a": 1})
    change(bench, ANN.row_id, summary=text, structure=None, content_hash="other")
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert entry.value == value
    assert found(bench, None, **value) == ["ann"]


def test_an_entry_that_was_moved_is_found_where_it_is(bench: Bench) -> None:
    put(bench, ANN, {"a": 1})
    change(bench, ANN.row_id, space="app:teams")
    assert got(bench, ANN) == [None]
    assert found(bench, {"space": "app:teams"}) == ["ann"]
    put(bench, ANN, {"a": 1})
    assert found(bench, {"space": USERS}) == ["ann"]


def test_the_text_for_search_is_the_whole_value_or_what_is_given(bench: Bench) -> None:
    put(bench, ANN, {"a": {"b": "oil"}})
    put(bench, EntryKey(USERS, "bob"), {"a": 1}, text="only this")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        rows = reading.get(OBSERVATION, [ANN.row_id, EntryKey(USERS, "bob").row_id])
    assert [row["summary"] for row in rows.values()] == ["a.b: oil", "only this"]


def test_removing_is_one_commit_and_passes_over_what_is_missing(bench: Bench) -> None:
    put(bench, ANN, {"a": 1})
    bob = EntryKey(USERS, "bob")
    put(bench, bob, {"a": 2})
    missing = EntryKey(USERS, "nobody")
    bench.now += 1
    done = entry_writes.remove(bench.repo, bench.branch(), dict.fromkeys([ANN, missing, bob]), ADA)
    assert sorted(done.row_ids) == sorted([ANN.row_id, bob.row_id])
    assert bench.store.commits[done.tip].op == "remove"
    assert got(bench, ANN, bob) == [None, None]
    commits = len(bench.store.commits)
    again = entry_writes.remove(bench.repo, bench.branch(), {ANN: None}, ADA)
    assert (list(again.row_ids), again.tip) == ([], done.tip)
    assert len(bench.store.commits) == commits
    put(bench, ANN, {"a": 3})
    assert found(bench) == ["ann"]


def test_the_facts_made_of_an_entry_end_and_go_with_it(bench: Bench) -> None:
    put(bench, ANN, {"a": 1})
    fact_id = passage_id(ANN.row_id, 0)
    with bench.store.adding(MAIN) as work:
        work.add(FACT, [fact_row(fact_id, NewFact("a: 1"), ADA, work.now)])
    put(bench, ANN, {"a": 1}, expires_at=bench.now + 1_000)
    assert bench.present(fact_id)["expires_at"] == bench.now + 999
    done = entry_writes.remove(bench.repo, bench.branch(), {ANN: None}, ADA)
    assert list(done.row_ids) == [ANN.row_id]
    assert bench.facts() == set()


def test_a_request_that_was_done_is_not_done_again(bench: Bench) -> None:
    put(bench, ANN, {"a": 1})
    request = {"first_edit": f"edit_{2:026}"}

    def again(value: int) -> UpsertedRows:
        entry = NewEntry(ANN, {"a": value})
        return entry_writes.put(bench.repo, bench.branch(), [entry], ADA, **request)

    with bench.store.changing(MAIN) as work:
        edit = dict.fromkeys(("cell", "value", "reason", "agent_id", "session_id", "task_id"))
        edit |= dict.fromkeys(("source", "origin_id", "origin_branch"))
        edit |= {"id": request["first_edit"], "row_id": ANN.row_id, "row_kind": "observations"}
        work.apply({"edits": {request["first_edit"]: {**edit, "created_at": work.now}}})
        work.commit(Message("change", "the request"))
    assert again(2).changed == 0
    (entry,) = got(bench, ANN)
    assert entry is not None
    assert entry.value == {"a": 1}


def test_a_redacted_entry_is_not_put_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bench, ANN, {"a": 1})
    mask = type("M", (), {"rows": frozenset({ANN.row_id})})()
    opened = bench.store.work

    def masked(branch: str) -> Any:
        work = opened(branch)
        work.mask = mask
        return work

    monkeypatch.setattr(bench.store, "work", masked)
    with pytest.raises(Refused):
        put(bench, ANN, {"a": 2})


def test_expired_entries_below_a_space_are_removed_in_one_commit(bench: Bench) -> None:
    bob, secret, other = EntryKey(USERS, "bob"), EntryKey(USERS, "s"), EntryKey("app:else", "o")
    ends = bench.now + 100
    for at, more in (
        (ANN, {"expires_at": ends}),
        (bob, {"expires_at": ends + 1_000}),
        (secret, {"expires_at": ends, "sensitivity": "secret"}),
        (other, {"expires_at": ends}),
        (EntryKey(USERS, "ever"), {}),
    ):
        put(bench, at, {"a": 1}, **more)
    query = EntryQuery(ends - 1, {"space": USERS})
    assert not entry_writes.remove_expired(bench.repo, bench.branch(), query, ADA).row_ids
    commits = len(bench.store.commits)
    bench.now = ends
    query = EntryQuery(ends, {"space": USERS})
    done = entry_writes.remove_expired(bench.repo, bench.branch(), query, ADA)
    assert sorted(done.row_ids) == sorted([ANN.row_id, secret.row_id])
    assert len(bench.store.commits) == commits + 2  # the pending rows', and the removal
    bench.now = 0  # an entry that is in the store would be alive
    assert [entry is not None for entry in got(bench, ANN, secret, bob, other)] == [
        *(False, False, True, True),
    ]


def test_entries_with_vectors_are_sorted_by_the_nearest_one(bench: Bench) -> None:
    near, far, both, other, none = (EntryKey(USERS, name) for name in "nfbox")
    put(bench, near, {"n": 1}, vectors=[[3.0, 1.0]])
    put(bench, far, {"n": 1}, vectors=[[-2.0, 0.0]])
    put(bench, both, {"n": 1}, vectors=[[0.0, 1.0], [5.0, 0.0]])
    put(bench, other, {"n": 1}, vectors=[[1.0, 0.0, 0.0]])
    put(bench, none, {"n": 2})
    query = EntryQuery(bench.now)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        result = nearest(reading, query, [2.0, 0.0])
        wanted = nearest(reading, EntryQuery(bench.now, where={"n": 2}), [2.0, 0.0])
    assert list(result.row_ids) == [key.row_id for key in (both, near, far, none, other)]
    assert result.cosines == pytest.approx(
        {both.row_id: 1.0, near.row_id: 3 / 10**0.5, far.row_id: -1.0}
    )
    assert (list(wanted.row_ids), wanted.cosines) == ([none.row_id], {})


def test_a_put_without_vectors_removes_them_and_equal_ones_write_nothing(bench: Bench) -> None:
    assert put(bench, ANN, {"n": 1}, vectors=[[1.0, 2.0]]).added == 1
    assert put(bench, ANN, {"n": 1}, vectors=[[1.0, 2.0]]).changed == 0
    assert put(bench, ANN, {"n": 1}, vectors=[[2.0, 2.0]]).changed == 1
    assert put(bench, ANN, {"n": 1}).changed == 1
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert nearest(reading, EntryQuery(bench.now), [1.0, 2.0]).cosines == {}
