"""A mind: it stays short enough, and keeps the active goal."""

import json

from day1.model.rows.kind import canonical
from day1.model.workspace.mind import MOST_BYTES, Goal, Mind, Place, read_mind


def goal(number: int, length: int) -> Goal:
    return Goal(f"goal_{number}", "x" * length)


def test_a_mind_that_is_short_enough_stays_as_it_is() -> None:
    mind = Mind(goals=tuple(goal(number, 100) for number in range(3)))
    assert mind.fitting() is mind


def test_the_oldest_goals_leave_until_a_mind_is_short_enough() -> None:
    mind = Mind(goals=tuple(goal(number, 25_000) for number in range(5)))
    assert [each.id for each in mind.fitting().goals] == ["goal_3", "goal_4"]
    assert mind.fitting().size <= MOST_BYTES


def test_a_mind_of_just_the_most_bytes_fits() -> None:
    short = Mind(goals=(goal(0, 1), goal(1, 1)))
    left = MOST_BYTES - short.size
    assert Mind(goals=(goal(0, 1), goal(1, 1 + left))).fitting().goals[0].id == "goal_0"
    assert Mind(goals=(goal(0, 1), goal(1, 2 + left))).fitting().goals[0].id == "goal_1"


def test_the_active_goal_stays_even_if_it_is_too_long_alone() -> None:
    mind = Mind(goals=(goal(0, 10), goal(1, MOST_BYTES)))
    assert [each.id for each in mind.fitting().goals] == ["goal_1"]


def test_the_size_is_counted_in_bytes() -> None:
    wide, narrow = (Mind(goals=(Goal("goal_0", text),)) for text in ("\u754c", "x"))
    assert wide.size == narrow.size + 2


def test_the_text_of_a_mind_is_canonical_json() -> None:
    mind = Mind(
        goals=(Goal("goal_1", 'say "é"\n', ("a", "b"), 1.5, 7, "ada"),),
        buffer=(Place("fact_2", 2), Place("fact_1", 1)),
        workspace=(Place("fact_3", 1, 0.25),),
        evicted={"fact_9": "goal_1"},
        uses={"fact_2": (1, 2)},
        told={"bo": ("fact_3",), "ada": ()},
        trace={"words": ["x"]},
        bus={"b": 1, "a": None},
        cycles=4,
    )
    assert mind.value == canonical(json.loads(mind.value))
    assert read_mind(mind.value) == mind


def test_a_row_is_conscious_in_the_workspace_preconscious_in_the_buffer_else_long_term() -> None:
    mind = Mind(buffer=(Place("waits", 1), Place("both", 1)), workspace=(Place("both", 1),))
    states = {row_id: mind.state_of(row_id) for row_id in ("waits", "both", "neither")}
    assert states == {"waits": "preconscious", "both": "conscious", "neither": "long_term"}
