"""The worth of a fact for a prime in numbers, the order that follows, and shares of a hint."""

from typing import Any

import pytest

from day1.model.prime.choosing import KnownFact, PrimeWeights, ordered, worth_of
from day1.model.prime.framing import size
from day1.model.prime.wording import Situation, ends_of, hint_text, prime_text
from day1.model.values.instant import DAY

NOW = 1_746_000_000_000_000
WEIGHTS = PrimeWeights(
    used=2.0, judged=1.0, recent=1.0, often=1.0, passage=3, used_half_life=1.0,
    recent_half_life=2.0, verified=0.5, same_session=0.5, most_evergreen=1,
)  # fmt: skip
OLD = NOW - 1_000 * DAY


def fact(name: str, **known: Any) -> KnownFact:
    return KnownFact(**{"id": name, "text": f"Fact {name}.", "at": NOW, **known})


@pytest.mark.parametrize(
    ("known", "before", "worth"),
    [
        ({}, 0, 0.25),
        ({"at": NOW - 2 * DAY}, 0, 0.125),
        ({"at": NOW + 9 * DAY}, 0, 0.25),
        ({"at": OLD, "evergreen": True}, 0, 0.25),
        ({"passage": True}, 0, 0.0),
        ({"times": 1, "last_shown": NOW}, 0, 0.5),
        ({"times": 3, "last_shown": NOW}, 0, 0.625),
        ({"times": 1, "last_shown": NOW - DAY}, 0, 0.375),
        ({"usefulness": 0.8}, 0, 0.45),
        ({"verified": True}, 0, 0.375),
        ({"verified": True, "usefulness": 0.8}, 0, 0.45),
        ({"verified": True, "usefulness": -0.5}, 0, 0.1875),
        ({"usefulness": -0.5}, 0, 0.125),
        ({"confidence": 0.4}, 0, 0.1),
        ({}, 1, 0.125),
        ({}, 2, 0.0625),
        ({"evergreen": True, "at": OLD}, 1, 0.125),
        ({"times": 1, "last_shown": NOW}, 1, 0.375),
    ],
)
def test_the_worth_of_a_fact_is_the_weighted_mean_of_its_parts(
    known: dict[str, Any], before: int, worth: float
) -> None:
    assert worth_of(fact("a", **known), NOW, WEIGHTS, before=before) == pytest.approx(worth)


@pytest.mark.parametrize(
    ("facts", "order"),
    [
        # equally good: the newer, then by id
        ([fact("b", at=OLD), fact("a", at=OLD), fact("c", at=OLD + 1)], "cab"),
        ([fact("b", pinned=True, at=OLD), fact("a", pinned=True, at=OLD)], "ab"),
        ([fact("a"), fact("b", pinned=True, at=OLD), fact("c", pinned=True)], "cba"),
        # a passage is told after enough uses; votes against it count more
        ([fact("a", passage=True, times=2), fact("b")], "b"),
        ([fact("a", passage=True, times=3), fact("b")], "ba"),
        ([fact("a", passage=True, times=9, usefulness=-0.1), fact("b")], "b"),
        ([fact("a", passage=True, verified=True, last_shown=NOW, times=9)], "a"),
        # only the best evergreen fact does not age
        (
            [
                fact("a", evergreen=True, at=OLD),
                fact("b", evergreen=True, at=OLD, usefulness=0.1),
                fact("c", at=NOW - DAY),
            ],
            "bca",
        ),
        # further facts of a session count less, those of no session and pinned ones do not
        (
            [
                fact("a", session_id="s"),
                fact("b", session_id="s", at=NOW - 1),
                fact("c", session_id="t", at=NOW - DAY),
            ],
            "acb",
        ),
        ([fact("a"), fact("b", at=NOW - 1), fact("c", at=NOW - DAY)], "abc"),
        (
            [
                fact("a", session_id="s", pinned=True),
                fact("b", session_id="s", at=NOW - 1),
                fact("c", session_id="t", at=NOW - DAY),
            ],
            "abc",
        ),
        (
            [
                fact("a", session_id="s"),
                fact("b", session_id="s", at=NOW - 1),
                fact("c", session_id="s", at=NOW - 2),
                fact("d", session_id="t", at=NOW - 3 * DAY),
            ],
            "abdc",
        ),
        # of equal texts the newest
        ([fact("a", text="One  two", at=OLD), fact("b", text="One two")], "b"),
        ([fact("a", text="One", at=OLD, pinned=True), fact("b", text="One", at=OLD)], "a"),
    ],
)
def test_the_order_of_facts(facts: list[KnownFact], order: str) -> None:
    assert "".join(known.id for known in ordered(facts, NOW, WEIGHTS)) == order
    assert "".join(known.id for known in ordered(facts[::-1], NOW, WEIGHTS)) == order


def test_the_lines_of_facts_that_end_are_found() -> None:
    facts = [fact("a"), fact("b", until=NOW + DAY), fact("c", until=NOW + 2 * DAY)]
    text = prime_text(Situation("main", "c" * 40, facts=facts), 1_200)
    assert ends_of(text, facts) == ((4, NOW + DAY), (5, NOW + 2 * DAY))
    assert text.split("\n")[4].startswith("- Fact b.")
    assert ends_of(text, facts[:1]) == ()
    assert ends_of(text, [fact("d", until=5)]) == ()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_memories_of_a_hint_share_its_room_equally(count: int) -> None:
    text = hint_text("main", "c" * 40, [("x" * 999, NOW)] * count, 500)
    lengths = [size(line) for line in text.split("\n")[2:-1]]
    assert len(lengths) == count
    assert max(lengths) - min(lengths) <= 1
    assert 490 <= size(text) <= 500


def test_a_short_memory_of_a_hint_leaves_its_room_to_the_next() -> None:
    text = hint_text("main", "c" * 40, [("Short.", NOW), ("x" * 999, NOW)], 500)
    assert "- Short. (2025-04-30)" in text.split("\n")
    assert 490 <= size(text) <= 500


@pytest.mark.parametrize(
    ("reviews", "held", "waiting"),
    [
        (0, 0, None),
        (1, 0, "Waiting: 1 review."),
        (0, 1, "Waiting: 1 held."),
        (2, 0, "Waiting: 2 reviews."),
    ],
)
def test_what_waits_is_told_if_anything_does(reviews: int, held: int, waiting: str | None) -> None:
    text = prime_text(Situation("main", "c" * 40, reviews=reviews, held=held), 1_200)
    lines = [line for line in text.split("\n") if line.startswith("Waiting")]
    assert lines == ([] if waiting is None else [waiting])
