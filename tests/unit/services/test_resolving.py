"""Resolving a conflict of two facts of one space, or of a value that a merge held."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from day1.errors import InvalidRequest
from day1.model.branches.branch import MAIN
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, MESSAGE, Cell, Row
from day1.model.values.wallet_space import Owner
from day1.services.items.resolving import ConflictDecision, Resolved, resolve
from day1.services.merges.held import offers
from day1.services.merges.merging import merge
from day1.services.merges.planning import MergeRequest
from day1.services.rows.editing import Correction, Removal, remove, update
from day1.services.rows.recording import NewFact, fact_row, new_row
from tests.unit.services.conftest import ADA, Bench

ANN = Owner("w", "ann")
SHORT, LONG = "Ann prefers green tea in the morning.", "Ann prefers green tea in the early morning."
OTHER = "On Sundays coffee."


def fact(
    bench: Bench, name: str, text: str, noted: Mapping[str, Any] | None = None, **columns: Any
) -> None:
    bench.now += 10
    with bench.store.adding(MAIN) as work:
        row = fact_row(f"fact_{name}", NewFact(text, space=ANN.space), ADA, work.now)
        work.add(FACT, [row | {"detail": detail_of(ANN, **(noted or {}))} | columns])


def sees(space: Cell) -> bool:
    return space in ANN.spaces


def decided(bench: Bench, item_id: str, how: Any, winner: str | None = None) -> Resolved:
    bench.now += 10
    decision = ConflictDecision(item_id, how, winner, "She said so.")
    return resolve(bench.repo, bench.branch(), decision, ADA, sees)


def tip(bench: Bench) -> str:
    return str(bench.store.history.branches()[MAIN])


def nothing(bench: Bench, item_id: str, pending: int = 0) -> Resolved:
    return Resolved(is_resolved=False, memory_id=item_id, commit=tip(bench), pending=pending)


def detail(bench: Bench, name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(str(bench.present(f"fact_{name}")["detail"]))
    return read


def test_the_winner_replaces_the_fact_in_one_commit_with_the_reason(bench: Bench) -> None:
    fact(bench, "old", "Tea.")
    fact(bench, "new", "Coffee.")
    done = decided(bench, "fact_old", "supersede", "fact_new")
    assert done == Resolved(is_resolved=True, memory_id="fact_new", commit=tip(bench))
    row = bench.present("fact_old")
    assert (row["status"], row["superseded_by"]) == ("superseded", "fact_new")
    assert bench.present("fact_new")["status"] == "active"
    commit = bench.store.commits[tip(bench)]
    assert commit.op == "change"
    assert commit.line == "resolve a conflict of fact fact_new: supersede"
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        edits = reading.find(EDIT, Query())
    assert {edit["reason"] for edit in edits} == {"She said so."}
    assert decided(bench, "fact_old", "supersede", "fact_new") == nothing(bench, "fact_old")


def test_a_fact_that_wins_replaces_all_that_conflict_with_it(bench: Bench) -> None:
    for name, text in (("a", SHORT), ("b", SHORT + " "), ("c", LONG), ("near", "Ann likes tea.")):
        fact(bench, name, text)
    assert decided(bench, "fact_c", "supersede", "fact_c").is_resolved
    statuses = {name: bench.present(f"fact_{name}")["status"] for name in ("a", "b", "c", "near")}
    assert statuses == {"a": "superseded", "b": "superseded", "c": "active", "near": "active"}


@pytest.mark.parametrize("how", ["supersede", "merge"])
@pytest.mark.parametrize(
    ("one", "other", "winner"),
    [
        ({}, {}, None),
        ({}, {}, "fact_none"),
        ({}, {"space": Owner("w").space}, "fact_b"),
        ({}, {"space": Owner("v").space}, "fact_b"),
        ({"space": Owner("v").space}, {"space": Owner("v").space}, "fact_b"),
        ({}, {"sensitivity": "private"}, "fact_b"),
        ({}, {"status": "archived"}, "fact_b"),
        ({"status": "archived"}, {}, "fact_b"),
        ({}, {"verification": "invalidated"}, "fact_b"),
        ({"expires_at": 5}, {}, "fact_b"),
        ({"space": Owner("v").space}, {"space": Owner("v").space}, "fact_a"),
    ],
    ids=[
        *("no winner", "unknown winner", "space above", "unseen winner", "both unseen"),
        *("sensitivity", "archived winner", "archived", "invalidated", "expired", "unseen"),
    ],
)
def test_where_no_conflict_is_open_nothing_is_done(
    bench: Bench, how: str, one: dict[str, Any], other: dict[str, Any], winner: str | None
) -> None:
    fact(bench, "a", SHORT, **one)
    fact(bench, "b", LONG, **other)
    assert decided(bench, "fact_a", how, winner) == nothing(bench, "fact_a", pending=2)


@pytest.mark.parametrize(
    ("columns", "text", "conflicts"),
    [
        ({}, LONG, True),
        ({}, "Ann likes tea.", False),
        ({"space": Owner("w").space}, LONG, False),
        ({"sensitivity": "private"}, LONG, False),
        ({"structure": "{}"}, LONG, False),
        ({"status": "superseded"}, LONG, False),
        ({"expires_at": 5}, LONG, False),
    ],
    ids=["rewording", "near", "space", "sensitivity", "structure", "superseded", "expired"],
)
@pytest.mark.parametrize("how", ["supersede", "keep"])
def test_what_conflicts_with_a_fact(
    bench: Bench, how: str, columns: dict[str, Any], text: str, conflicts: bool
) -> None:
    fact(bench, "a", SHORT)
    fact(bench, "b", text, **columns)
    assert decided(bench, "fact_a", how, "fact_a").is_resolved is conflicts


def test_facts_of_one_key_conflict_whatever_they_say(bench: Bench) -> None:
    fact(bench, "a", "Tea.", {"metadata": {"key": "drink"}})
    fact(bench, "b", "Coffee.", {"metadata": {"key": "drink"}})
    fact(bench, "c", "Coffee?", {"metadata": {"key": "food"}})
    assert decided(bench, "fact_a", "supersede", "fact_a").is_resolved
    assert bench.present("fact_b")["superseded_by"] == "fact_a"
    assert bench.present("fact_c")["status"] == "active"


@pytest.mark.parametrize("how", ["keep", "ignore"])
def test_facts_that_may_both_stay_do_not_conflict_again(bench: Bench, how: str) -> None:
    fact(bench, "a", SHORT, {"threadId": "t1"})
    fact(bench, "b", LONG)
    done = decided(bench, "fact_a", how)
    assert done == Resolved(is_resolved=True, memory_id="fact_a", commit=tip(bench))
    assert (detail(bench, "a")["apart"], detail(bench, "a")["threadId"]) == (["fact_b"], "t1")
    for row_id in ("fact_a", "fact_b"):
        assert decided(bench, row_id, how) == nothing(bench, row_id)
        assert decided(bench, row_id, "supersede", row_id) == nothing(bench, row_id)
    fact(bench, "aa", SHORT + " ")
    assert decided(bench, "fact_a", how).is_resolved
    assert detail(bench, "a")["apart"] == ["fact_aa", "fact_b"]


def test_a_merge_joins_text_and_metadata_in_the_winner(bench: Bench) -> None:
    fact(bench, "old", "Tea.", {"metadata": {"a": 1, "b": 1}})
    fact(bench, "new", OTHER, {"metadata": {"b": 2}, "threadId": "t1"})
    assert decided(bench, "fact_old", "merge", "fact_new").memory_id == "fact_new"
    row = bench.present("fact_new")
    assert row["fact_text"] == f"{OTHER}\nTea."
    assert detail(bench, "new")["metadata"] == {"a": 1, "b": 2}
    assert detail(bench, "new")["threadId"] == "t1"
    old = bench.present("fact_old")
    assert (old["status"], old["superseded_by"]) == ("superseded", "fact_new")


def test_a_merge_without_metadata_leaves_the_detail(bench: Bench) -> None:
    fact(bench, "a", SHORT)
    fact(bench, "b", LONG)
    before = bench.present("fact_a")["detail"]
    assert decided(bench, "fact_a", "merge", "fact_a").memory_id == "fact_a"
    row = bench.present("fact_a")
    assert (row["fact_text"], row["detail"]) == (LONG, before)


# Held by a merge


def held(bench: Bench, **side: Any) -> str:
    """Let a merge hold what the branch `side` says of `fact_a`; gives the held item's id."""
    bench.fork("side")
    for branch, columns in ((MAIN, {"fact_text": "Ours."}), ("side", side)):
        bench.now += 10
        update(bench.repo, bench.branch(branch), Correction("fact_a", columns), ADA)
    merge(bench.repo, MergeRequest(bench.branch("side"), bench.branch(), "auto"), ADA, bench.now)
    (offer,) = offers(bench.repo, bench.branch())
    return offer.item.id


@pytest.mark.parametrize(
    ("how", "winner", "text"),
    [
        ("supersede", "held", "Theirs."),
        ("supersede", "fact_a", "Ours."),
        ("keep", None, "Ours."),
        ("ignore", None, "Ours."),
        ("merge", "held", "Ours.\nTheirs."),
        ("merge", "fact_a", "Ours.\nTheirs."),
    ],
)
def test_a_held_value_is_decided(bench: Bench, how: str, winner: str | None, text: str) -> None:
    fact(bench, "a", "Tea.")
    held_id = held(bench, fact_text="Theirs.")
    done = decided(bench, held_id, how, held_id if winner == "held" else winner)
    assert done == Resolved(is_resolved=True, memory_id="fact_a", commit=tip(bench))
    assert bench.present("fact_a")["fact_text"] == text
    assert offers(bench.repo, bench.branch()) == []
    assert decided(bench, held_id, how, "fact_a") == nothing(bench, held_id)


def test_a_held_value_of_a_hidden_fact_is_not_joined(bench: Bench) -> None:
    fact(bench, "a", "Tea.", sensitivity="secret")
    held_id = held(bench, fact_text="Theirs.")
    with pytest.raises(InvalidRequest, match="only two texts of a fact"):
        decided(bench, held_id, "merge", held_id)


@pytest.mark.parametrize("how", ["supersede", "merge"])
@pytest.mark.parametrize("winner", [None, "fact_b"])
def test_the_winner_of_a_held_value_is_one_of_its_sides(
    bench: Bench, how: str, winner: str | None
) -> None:
    fact(bench, "a", "Tea.")
    held_id = held(bench, fact_text="Theirs.")
    bench.add("fact_other", "It waits.")
    assert decided(bench, held_id, how, winner) == nothing(bench, held_id, pending=1)
    assert len(offers(bench.repo, bench.branch())) == 1


def test_a_held_value_of_another_owner_is_not_decided(bench: Bench) -> None:
    fact(bench, "a", "Tea.", space=Owner("v").space)
    held_id = held(bench, fact_text="Theirs.")
    assert decided(bench, held_id, "keep") == nothing(bench, held_id)
    assert decided(bench, "held_none", "keep") == nothing(bench, "held_none")
    assert len(offers(bench.repo, bench.branch())) == 1


def test_a_row_that_a_merge_held_is_seen_by_whoever_sees_its_space(bench: Bench) -> None:
    """The target removed the fact, which the source changed: the row is only in the offer."""
    for name, space in (("a", ANN.space), ("b", Owner("v").space)):
        fact(bench, name, "Tea.", space=space)
    bench.fork("side")
    remove(bench.repo, bench.branch(), Removal(["fact_a", "fact_b"]), ADA)
    for name in ("a", "b"):
        bench.now += 10
        update(bench.repo, bench.branch("side"), Correction(f"fact_{name}", {"fact_text": "Theirs."}), ADA)  # fmt: skip
    merge(bench.repo, MergeRequest(bench.branch("side"), bench.branch(), "auto"), ADA, bench.now)
    ids = {offer.item.row_id: offer.item.id for offer in offers(bench.repo, bench.branch())}
    assert not decided(bench, ids["fact_b"], "supersede", ids["fact_b"]).is_resolved
    with pytest.raises(InvalidRequest, match="only two texts of a fact") as refused:
        decided(bench, ids["fact_a"], "merge", "fact_a")
    assert refused.value.details["problems"] == [
        {"argument": "resolution", "problem": "only texts of facts can be merged"}
    ]
    assert decided(bench, ids["fact_a"], "supersede", ids["fact_a"]).is_resolved
    assert bench.facts() == {"fact_a"}


@pytest.mark.parametrize(("space", "seen"), [(ANN.space, True), (Owner("v").space, False)])
def test_a_held_message_is_in_the_space_of_its_conversation(
    bench: Bench, space: str | None, *, seen: bool
) -> None:
    with bench.store.adding(MAIN) as work:
        work.add(CONVERSATION, [new_row(CONVERSATION, "conv_1", {"space": space}, ADA, work.now)])
        said: Row = {"conversation_id": "conv_1", "content": "Hi.", "role": "user"}
        work.add(MESSAGE, [new_row(MESSAGE, "msg_a", said, ADA, work.now)])
    bench.fork("side")
    remove(bench.repo, bench.branch(), Removal(["msg_a"]), ADA)
    bench.now += 10
    with bench.store.changing("side") as work:
        work.change(MESSAGE, "msg_a", {"content": "Ho."})
        work.commit(Message("change", "x"))
    merge(bench.repo, MergeRequest(bench.branch("side"), bench.branch(), "auto"), ADA, bench.now)
    (offer,) = offers(bench.repo, bench.branch())
    assert decided(bench, offer.item.id, "keep").is_resolved is seen
    assert len(offers(bench.repo, bench.branch())) == (not seen)
