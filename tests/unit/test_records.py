"""Records of the ledger: votes, reviews, desks, held items and a branch's notes."""

import json
from typing import Any

import pytest

from day1.model.branches.branch import Branch
from day1.model.lessons.rating import KnownVotes, Rating, given_on, rating_of
from day1.model.merge.held import HeldItem
from day1.model.records.codec import to_json
from day1.model.records.desk import desk_id, next_desk
from day1.model.records.review import Approval, Decision, Review
from day1.model.redaction.mask import REDACTED
from day1.model.rows.kind import FACT, WHOLE
from day1.model.search.ranking import Weights


def cleaned(text: str) -> str:
    return text.replace("hush", REDACTED)


def rating(rating_id: str, at: int, row_id: str = "fact_a", **more: Any) -> Rating:
    return Rating(rating_id, row_id, more.get("agent"), more.get("query"), 1.0, at, more.get("on"))


def test_votes_are_known_up_to_the_newest() -> None:
    none = KnownVotes()
    assert (none.since, none.plus([]) is none) == (-1, True)
    some = none.plus([rating("r1", 5), rating("r2", 700_000_000, query="green tea")])
    assert (some.newest, some.since) == (700_000_000, 100_000_000)
    assert {i: (v.score, v.at, {*v.words}) for i, v in some.votes["fact_a"].by_rating.items()} == {
        "r1": (1.0, 5, set()),
        "r2": (1.0, 700_000_000, {"green", "tea"}),
    }
    more = some.plus([rating("r1", 6, on="branch_1"), rating("r3", 7, row_id="fact_b")])
    assert more.newest == 700_000_000
    assert {row: {*votes.by_rating} for row, votes in more.votes.items()} == {
        "fact_a": {"r1", "r2"},
        "fact_b": {"r3"},
    }
    known = more.votes["fact_a"].by_rating["r1"]
    assert (known.at, known.branch_id) == (6, "branch_1")
    assert {*some.votes} == {"fact_a"}


@pytest.mark.parametrize(
    ("branches", "ratings"),
    [
        (set(), {}),
        ({"branch_1"}, {"fact_a": {"r1"}}),
        ({"branch_2"}, {"fact_a": {"r2"}, "fact_b": {"r3"}}),
        ({"branch_1", "branch_2"}, {"fact_a": {"r1", "r2"}, "fact_b": {"r3"}}),
    ],
)
def test_only_votes_of_the_branches_count(
    branches: set[str | None], ratings: dict[str, set[str]]
) -> None:
    votes = KnownVotes().plus(
        [
            rating("r1", 1, on="branch_1"),
            rating("r2", 2, on="branch_2"),
            rating("r3", 3, row_id="fact_b", on="branch_2"),
        ]
    )
    found = given_on(votes.votes, branches)
    assert {row: {*some.by_rating} for row, some in found.items()} == ratings


def test_a_vote_replaces_that_of_the_same_agent_row_and_words() -> None:
    first = rating_of("fact_a", "ada", "green tea", 1.0, 5)
    assert first.id == first.voter == rating_of("fact_a", "ada", "tea green", 0.0, 9).id
    others = [
        rating_of("fact_b", "ada", "green tea", 1.0, 5),
        rating_of("fact_a", "bo", "green tea", 1.0, 5),
        rating_of("fact_a", None, "green tea", 1.0, 5),
        rating_of("fact_a", "ada", None, 1.0, 5),
        first.on("branch_1"),
        first.on("branch_2"),
    ]
    assert len({first.id, *(one.id for one in others)}) == 7
    on_branch = first.on("branch_1")
    assert (on_branch.voter, on_branch.branch_id) == (first.voter, "branch_1")


def decision(row_id: str, cell: str = WHOLE, value: Any = None, at: int = 1) -> Decision:
    return Decision(row_id, cell, "ours" if value is None else "value", value, "ada", at, "seen")


def review(*decisions: Decision) -> Review:
    said = tuple(to_json(one) for one in decisions)
    texts = ("title hush", "words hush")
    return Review("review_1", "b1", "b2", *texts, "open", "ada", None, 1, said, reason="for hush")


@pytest.mark.parametrize(
    ("new", "cleared", "kept"),
    [
        ([], [], [("a", "category"), ("b", WHOLE)]),
        ([("a", "category")], [], [("b", WHOLE), ("a", "category")]),
        ([("a", "status")], [], [("a", "category"), ("b", WHOLE), ("a", "status")]),
        ([("a", WHOLE)], [], [("b", WHOLE), ("a", WHOLE)]),
        ([("b", "status")], [], [("a", "category"), ("b", "status")]),
        ([], [("a", "category")], [("b", WHOLE)]),
        ([], [("a", "status")], [("a", "category"), ("b", WHOLE)]),
        ([], [("a", WHOLE)], [("b", WHOLE)]),
        ([], [("b", "status")], [("a", "category"), ("b", WHOLE)]),
    ],
)
def test_a_decision_replaces_those_of_its_cell_and_of_its_whole_row(
    new: list[tuple[str, str]], cleared: list[tuple[str, str]], kept: list[tuple[str, str]]
) -> None:
    before = review(decision("a", "category"), decision("b"))
    after = before.with_decisions([decision(*one) for one in new], cleared)
    assert [(one.row_id, one.cell) for one in after.decided] == kept


def test_a_review_loses_values_of_redacted_rows_and_quotes_in_every_text() -> None:
    before = review(
        decision("a", "category"),
        decision("a", "fact_text", {"fact_text": "mine"}),
        decision("b", "fact_text", {"fact_text": "a hush", "confidence": 0.5}),
    )
    after = before.cleaned({"a"}, cleaned)
    assert [(one.row_id, one.value) for one in after.decided] == [
        ("a", None),
        ("b", {"fact_text": f"a {REDACTED}", "confidence": 0.5}),
    ]
    said = (after.title, after.description, after.reason)
    assert said == (f"title {REDACTED}", f"words {REDACTED}", f"for {REDACTED}")


def test_a_token_approves_once_and_takes_it_back() -> None:
    some = review().with_approval("t1", Approval("d1", "ada", 1, "t1"))
    both = some.with_approval("t2", Approval("d1", "bo", 2, "t2"))
    again = both.with_approval("t1", Approval("d2", "ada", 3, "t1"))
    assert [(one.token_id, one.digest) for one in again.approved] == [("t2", "d1"), ("t1", "d2")]
    assert [one.token_id for one in again.with_approval("t2", None).approved] == ["t1"]


def test_a_desk_counts_its_writes() -> None:
    whose = ("branch_1", "kompanion", "plan")
    first = next_desk(None, whose, '{"a":1}', 5)
    assert first.id == desk_id(*whose)
    assert (first.branch_id, first.client, first.name) == whose
    assert (first.value, first.revision, first.created_at, first.changed_at) == ('{"a":1}', 1, 5, 5)
    second = next_desk(first, whose, "{}", 9)
    assert (second.value, second.revision, second.created_at, second.changed_at) == ("{}", 2, 5, 9)
    assert len({desk_id(*whose), desk_id("branch_2", *whose[1:]), desk_id(*whose[:2], "x")}) == 3


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ({"a": 1, "b": [None, True]}, {"a": 1, "b": [None, True]}),
        ({"hush": ["a hush", {"b": "hush"}]}, {REDACTED: [f"a {REDACTED}", {"b": REDACTED}]}),
        ({"ids": ["fact_a"], "reason": "r"}, {"ids": ["fact_a"], "reason": REDACTED}),
        ({"ids": ["fact_b"], "reason": "r"}, {"ids": ["fact_b"], "reason": "r"}),
        ({"ids": ["fact_a"], "other": "r"}, {"ids": ["fact_a"], "other": "r"}),
        ({"ids": "fact_a", "reason": "r"}, {"ids": "fact_a", "reason": "r"}),
        ([{"ids": [7, "fact_a"], "reason": "r"}], [{"ids": [7, "fact_a"], "reason": REDACTED}]),
    ],
)
def test_a_desk_loses_quotes_and_reasons_about_redacted_rows(value: Any, clean: Any) -> None:
    desk = next_desk(None, ("branch_1", "kompanion", "plan"), json.dumps(value), 5)
    assert json.loads(desk.cleaned({"fact_a"}, cleaned).value) == clean


@pytest.mark.parametrize("sides", [(None, None), ("1", None), (None, "2"), ("1", "2")])
def test_a_held_item_is_what_its_row_says(sides: tuple[str | None, str | None]) -> None:
    texts = {"source_branch": "b", "source_commit": "c", "merge_id": "m", "reason": "r"}
    columns = {"id": "held_1", "row_id": "fact_a", "row_kind": "facts", "cell": WHOLE}
    item = HeldItem.of({**columns, **texts, "ours": sides[0], "theirs": sides[1], "created_at": 7})
    assert item == HeldItem("held_1", "fact_a", FACT, WHOLE, *sides, "b", "c", "m", "r", 7)
    none = HeldItem.of({**columns, **texts, "ours": None, "theirs": None, "created_at": None})
    assert none.created_at == 0


def test_a_branch_shows_only_the_notes_that_it_has() -> None:
    plain = Branch("branch_1", "side", None, None, 1)
    assert plain.metadata() == {"purpose": None, "owner": None, "ttl_days": None, "tags": []}
    notes: dict[str, Any] = {"task_id": "task_1", "agent_id": "ada", "protection": ("tiers",)}
    full = plain.with_notes(purpose="try", owner="bo", ttl_days=3, tags=("x",), **notes)
    shown = {"purpose": "try", "owner": "bo", "ttl_days": 3, "tags": ["x"]}
    assert full.metadata() == {**shown, **notes, "protection": ["tiers"]}
    ruled = plain.with_notes(tiers=("facts look",))
    assert ruled.metadata()["tiers"] == [*ruled.rules]


@pytest.mark.parametrize(
    "wrong",
    [
        {"vector": -0.1},
        {"keyword": -0.1},
        {"vector": 0.0, "keyword": 0.0},
        {"bm25_half": 0.0},
        {"words_half": 0.0},
        *({name: -1} for name in ("question_words", "neighbour_words", "beside_words")),
        *(
            {name: value}
            for name in (
                *("subject_boost", "date_boost", "words_boost", "beside_boost", "length_boost"),
                *("question_discount", "passage_discount"),
            )
            for value in (-0.1, 1.1)
        ),
        {"neighbour_shares": (0.5, 1.1)},
        {"pending_cosine": (-0.1, 0.4)},
    ],
)
def test_a_weight_out_of_its_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Weights(**wrong)


@pytest.mark.parametrize(
    "least",
    [
        {"vector": 0.0},
        {"keyword": 0.0},
        {"question_words": 0, "neighbour_words": 0, "beside_words": 0},
        {"subject_boost": 0.0, "date_boost": 1.0, "neighbour_shares": (), "length_boost": 1.0},
    ],
)
def test_a_weight_at_the_end_of_its_range_is_taken(least: dict[str, Any]) -> None:
    weights = Weights(**least)
    assert {name: getattr(weights, name) for name in least} == least
