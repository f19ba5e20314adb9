"""Remembering facts of a space: what conflicts, what is the same, and what is joined."""

from typing import Any

import pytest

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import MAIN
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import EDIT, FACT, Row
from day1.model.rows.origin import Origin
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner
from day1.services.items.finding import Narrowing, item_of, relations_named
from day1.services.items.remembering import (
    Policy,
    Remembered,
    ToRemember,
    merged_text,
    remember,
    remember_each,
)
from day1.services.rows.recording import NewFact, NewRelation, record
from tests.unit.services.conftest import ADA, Bench

OWNER = Owner("w", "ann")
GREEN = "Ann prefers green tea in the morning."
EARLY = "Ann prefers green tea in the early morning."


def keep(
    bench: Bench,
    text: str,
    policy: Policy = "supersede",
    *,
    key: str | None = None,
    ends: int | None = None,
) -> Remembered:
    detail = detail_of(OWNER, metadata=None if key is None else {"key": key})
    fact = NewFact(text, "fact", space=OWNER.space, expires_at=ends)
    new = ToRemember(fact, detail, policy=policy)
    bench.now += 1
    return remember(bench.repo, bench.branch(), new, ADA)


def test_a_rewording_is_superseded_and_points_to_the_new_fact(bench: Bench) -> None:
    old, new = keep(bench, GREEN), keep(bench, EARLY)
    assert new.superseded == (old.row["id"],)
    row = bench.present(str(old.row["id"]))
    assert (row["status"], row["superseded_by"]) == ("superseded", new.row["id"])


@pytest.mark.parametrize("change", [{"expires_at": 5}, {"verification": "invalidated"}, {"status": "archived"}, {"structure": "{}"}])  # fmt: skip
def test_a_fact_that_is_over_or_no_plain_fact_is_no_conflict(bench: Bench, change: Row) -> None:
    old = keep(bench, GREEN)
    with bench.store.changing("main") as work:
        work.change(FACT, str(old.row["id"]), change)
        work.commit(Message("change", "over"))
    assert keep(bench, EARLY).superseded == ()
    assert keep(bench, GREEN).row["id"] != old.row["id"]


def test_all_facts_of_one_key_are_superseded(bench: Bench) -> None:
    one = keep(bench, "Tea.", key="drink")
    with bench.store.adding("main") as work:
        work.add(FACT, [{**one.row, "id": "fact_b", "fact_text": "Milk.", "content_hash": "x"}])
    assert set(keep(bench, "Coffee.", key="drink").superseded) == {one.row["id"], "fact_b"}


def test_keep_answers_the_newest_conflict_and_writes_nothing(bench: Bench) -> None:
    keep(bench, "Tea.", key="drink")
    newer = keep(bench, "Coffee.", key="drink")
    kept = keep(bench, "Milk.", "keep", key="drink")
    assert (kept.row["id"], kept.outcome) == (newer.row["id"], "kept")
    assert keep(bench, "Coffee.", "keep", key="drink").outcome == "known"


@pytest.mark.parametrize(
    ("given", "columns", "noted"),
    [
        ((), {"category": "fact", "confidence": 1.0, "expires_at": None}, {"metadata": {"a": 1}}),
        (("category",), {"category": "note", "confidence": 1.0}, {"metadata": {"a": 1}}),
        (("confidence",), {"category": "fact", "confidence": 0.5}, {"metadata": {"a": 1}}),
        (("metadata",), {"category": "fact"}, {"metadata": {"a": 1, "b": 2}}),
        (("retention",), {"expires_at": 9_000}, {"metadata": {"a": 1}, "retention": "short"}),
    ],
    ids=["nothing", "category", "confidence", "metadata", "retention"],
)
def test_a_known_text_takes_only_what_its_caller_named(
    bench: Bench, given: tuple[str, ...], columns: Row, noted: dict[str, Any]
) -> None:
    first = ToRemember(NewFact(GREEN, "fact", space=OWNER.space), detail_of(OWNER, metadata={"a": 1}))  # fmt: skip
    old = remember(bench.repo, bench.branch(), first, ADA)
    bench.now += 1
    fact = NewFact(GREEN, "note", 0.5, space=OWNER.space, expires_at=9_000)
    detail = detail_of(OWNER, metadata={"b": 2}, retention="short")
    done = remember(
        bench.repo, bench.branch(), ToRemember(fact, detail, frozenset(given)), Origin("bo")
    )
    row = bench.present(str(old.row["id"]))
    assert done.row == row
    assert {name: row[name] for name in columns} == columns
    assert row["detail"] == detail_of(OWNER, **noted)
    assert done.commit == bench.store.history.branches()[MAIN]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert {edit["agent_id"] for edit in reading.find(EDIT, Query())} == ({"bo"} if given else set())  # fmt: skip
    if given:
        commit = bench.store.commits[str(done.commit)]
        assert commit.op == "change"
        assert commit.line.startswith(f"remember in fact {row['id']}: ")
    else:
        assert (done.outcome, done.pending) == ("known", 1)


def test_a_merge_that_adds_nothing_is_not_written(bench: Bench) -> None:
    old = keep(bench, EARLY)
    merged = keep(bench, GREEN, "merge")
    assert (merged.row, merged.outcome) == (old.row, "known")


def test_each_text_of_a_space_is_one_fact_in_the_order_given(bench: Bench) -> None:
    def news(*texts: str) -> list[ToRemember]:
        return [ToRemember(NewFact(text, space=OWNER.space), detail_of(OWNER)) for text in texts]

    rows, after = remember_each(bench.repo, bench.branch(), news("b", "a", "b"), ADA)
    assert [row["fact_text"] for row in rows] == ["b", "a", "b"]
    assert rows[0]["id"] == rows[2]["id"] < rows[1]["id"]  # type: ignore[operator]  # ids are texts
    assert after.pending == 2
    assert remember_each(bench.repo, bench.branch(), news("a"), ADA)[1].pending == 2
    assert remember_each(bench.repo, bench.branch(), [], ADA)[0] == []


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        (GREEN, EARLY, EARLY), (EARLY, GREEN, EARLY), ("Tea.", "Coffee.", "Tea.\nCoffee."),
        ("It waits 20 s.", "It waits 30 s.", "It waits 20 s.\nIt waits 30 s."), ("a b", "b", "a b"),
    ],
)  # fmt: skip
def test_merged_texts_lose_nothing(old: str, new: str, merged: str) -> None:
    assert merged_text(old, new) == merged


def test_texts_that_are_too_long_together_are_not_merged() -> None:
    assert len(merged_text("a" * 16_000, "b" * 16_767)) == 32_768
    with pytest.raises(InvalidRequest, match=r"^content: is too long to be merged") as refused:
        merged_text("a" * 16_000, "b" * 16_768)
    problems: Any = refused.value.details["problems"]
    assert [each["argument"] for each in problems] == ["content"]
    assert "32,769 characters" in problems[0]["problem"]


def test_an_item_is_found_in_its_spaces_until_it_expires(bench: Bench) -> None:
    fact_id = str(keep(bench, GREEN, ends=bench.now + DAY).row["id"])
    with bench.store.reading(Ref(branch="main")) as reading:
        assert item_of(reading, OWNER.spaces, fact_id, bench.now).row["fact_text"] == GREEN
        for spaces, now in ((Owner("w").spaces, bench.now), (OWNER.spaces, bench.now + 2 * DAY)):
            with pytest.raises(NotFound):
                item_of(reading, spaces, fact_id, now)


def test_a_narrowing_admits_items_of_no_thread_but_only_those_of_the_run() -> None:
    assert Narrowing(thread="t").admits({})
    assert not Narrowing(thread="t").admits({"threadId": "u"})
    assert not Narrowing(run="r").admits({})
    assert Narrowing({"a": 1}, run="r").admits({"runId": "r", "metadata": {"a": 1, "b": 2}})
    assert not Narrowing({"a": 1}).admits({"metadata": "none"})


def test_relations_are_named_by_whole_words_in_any_case(bench: Bench) -> None:
    for source, target in (("Auth-Service", "DB"), ("Mill", "River Po"), ("?!", "Sea")):
        record(bench.repo, bench.branch(), NewRelation(source, "uses", target), ADA)
        bench.now += 1
    texts = ["the auth service", "authservice DBs", "By the RIVER po", "?! and nothing", "sea mill"]
    with bench.store.reading(Ref(branch="main")) as reading:
        named = relations_named(reading, (None,), bench.now, texts)
        elsewhere = relations_named(reading, ("agent:x",), bench.now, texts)
    assert [[row["source_entity"] for row in rows] for rows in named] == [
        ["Auth-Service"], [], ["Mill"], [], ["?!", "Mill"],
    ]  # fmt: skip
    assert elsewhere == [[] for _ in texts]
