"""The order of messages: chains whole, the run that was there first before the others."""

import itertools
import random

import pytest

from day1.model.rows.message_order import Link, in_sequence, rivals


def links(*chain: tuple[str, str | None, int]) -> list[Link]:
    return [Link(*each) for each in chain]


def order(some: list[Link], arrived: dict[str, int] | None = None) -> str:
    return "".join(in_sequence(some, arrived or {}))


LINE = links(("a", None, 1), ("b", "a", 2), ("c", "b", 3))


def test_a_chain_is_its_order_in_whatever_order_it_comes():
    for some in itertools.permutations(LINE):
        assert order(list(some)) == "abc"
    assert order([]) == ""
    assert rivals(LINE) == []


def test_two_continuations_stay_whole_and_who_was_here_first_comes_first():
    fork = [*LINE[:1], *links(("b", "a", 2), ("y", "a", 3), ("c", "b", 4), ("z", "y", 5))]
    assert [link.id for link in rivals(fork)] == ["b", "y"]
    assert order(fork, {"y": 9}) == "abcyz"
    assert order(fork, {"b": 9}) == "ayzbc"
    assert order(fork) == "abcyz", "by when they were written where nothing else is known"


def test_runs_of_runs_are_whole_too():
    some = links(("a", None, 1), ("b", "a", 2), ("c", "b", 3), ("d", "b", 4), ("e", "a", 5))
    assert order(some, {"c": 20, "b": 30}) == "aebdc"


def test_a_message_whose_predecessor_is_elsewhere_begins_a_run_in_time():
    picked = links(("e", "d", 5), ("f", "e", 6), ("a", None, 1), ("b", "a", 2))
    assert rivals(picked) == []
    assert order(picked) == "abef"
    later = [*picked, *links(("g", "b", 9))]
    assert order(later) == "abgef", "what follows b stays with it"


def test_two_that_follow_the_same_absent_one_are_rivals():
    some = links(("x", "gone", 1), ("y", "gone", 2))
    assert [link.id for link in rivals(some)] == ["x", "y"]
    assert order(some, {"x": 9}) == "yx"


def test_messages_of_one_time_are_in_the_order_of_ids():
    assert order(links(("b", "a", 1), ("a", None, 1), ("c", "b", 1))) == "abc"


@pytest.mark.parametrize(
    "some",
    [
        links(("a", "a", 1)),
        links(("a", "b", 1), ("b", "a", 2)),
        links(("a", "c", 1), ("b", "a", 2), ("c", "b", 3), ("d", "c", 4)),
    ],
)
def test_a_circle_of_a_damaged_file_loses_nobody(some):
    assert order(some) == "".join(sorted(link.id for link in some))


def test_every_message_has_one_place_after_the_one_it_follows():
    dice = random.Random(7)
    for _ in range(200):
        some = [Link("m00", None, 0)]
        for number in range(1, 30):
            above = dice.choice([*some, None, Link("absent", None, 0)])
            some.append(Link(f"m{number:02}", above and above.id, number))
        arrived = {link.id: dice.randrange(60) for link in rivals(some)}
        dice.shuffle(some)
        placed = in_sequence(some, arrived)
        assert sorted(placed) == sorted(link.id for link in some)
        places = {message: place for place, message in enumerate(placed)}
        for link in some:
            if link.previous_id in places:
                assert places[link.previous_id] < places[link.id]


def test_a_long_conversation_is_no_deep_one():
    long = [Link(f"{n:05}", f"{n - 1:05}" if n else None, n) for n in range(5_000)]
    assert in_sequence(long, {}) == [link.id for link in long]
