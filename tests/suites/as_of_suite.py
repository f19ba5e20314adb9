"""What every memory must answer when it is asked for the past."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.suites.memory import Choice, Memory, State
from tests.suites.starting_states import NEW, SECOND, TEXT, A, B, C, code_of, fact

Action = Callable[[Memory], Any]

ACTIONS: dict[str, tuple[str, Action]] = {
    "addition": ("main", lambda m: m.add_fact("main", NEW, fact_text="new")),
    "addition on the source": ("side", lambda m: m.add_fact("side", NEW, fact_text="new")),
    "change": ("main", lambda m: m.update_fact("main", B, category="changed")),
    "verdict": ("main", lambda m: m.judge("main", B, "verified", "[1]")),
    "supersession": ("main", lambda m: m.supersede("main", B, NEW, "new b")),
    "removal": ("main", lambda m: m.remove("main", B)),
    "merge": ("main", lambda m: m.merge("side", "main")),
    "merge back": ("side", lambda m: m.merge("main", "side")),
    "pick": ("main", lambda m: m.merge("side", "main", "cherry_pick", items=["obs_side"])),
    "squash": (
        "main",
        lambda m: m.merge("side", "main", "squash", [Choice(A, "theirs", "category")]),
    ),
    "restored row": ("main", lambda m: m.restore_row("main", A, m.clock.now - 4_500)),
    "restored branch": ("main", lambda m: m.restore_branch("main", m.clock.now - 4_500)),
    "decision": ("main", lambda m: m.decide("main", A, "category", "taken")),
}
"""Actions on the two branches that `two_branches` makes, with the branch that each changes."""


def two_branches(memory: Memory) -> None:
    """`main` and its fork `side`: a conflict on A's category, and rows of their own; 1 ms an action."""
    for action in (
        lambda: memory.add_fact("main", A, fact_text="a", category="one"),
        lambda: memory.add_fact("main", B, fact_text="b"),
        lambda: memory.add_relation(
            "main", "rel_a", source_entity="x", target_entity="y", relation_type="z"
        ),
        lambda: memory.fork("side", "main"),
        lambda: memory.update_fact("main", A, category="ours"),
        lambda: memory.update_fact("side", A, category="theirs"),
        lambda: memory.add_observation("side", "obs_side", summary="seen"),
        lambda: memory.add_observation("main", "obs_main", summary="seen here"),
    ):
        action()
        memory.clock.tick(1_000)


class Moments:
    """States of a branch around its actions, to be asked for later, when much has happened."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.seen: list[tuple[str, int, State]] = []

    def around(self, branch: str, action: Callable[[], Any]) -> None:
        """Do an action that changes a branch; remember it just before, at and just after."""
        before = self.memory.state(branch)
        at = action().at
        after = self.memory.state(branch)
        assert before != after
        assert self.memory.state(branch, at + 1) == after
        self.seen += [(branch, at - 1, before), (branch, at, after)]
        self.memory.clock.tick()

    def check(self) -> None:
        for branch, at, state in self.seen:
            assert self.memory.state(branch, at) == state, (branch, at)


class AsOfSuite:
    @pytest.mark.parametrize("behind", [0, 10 * SECOND], ids=["", "clock 10 s behind"])
    @pytest.mark.parametrize("committed", [True, False], ids=["committed", "pending"])
    @pytest.mark.parametrize("name", ACTIONS)
    def test_the_past_is_right_just_before_at_and_just_after_a_commit(
        self, memory: Memory, name: str, committed: bool, behind: int
    ) -> None:
        branch, action = ACTIONS[name]
        two_branches(memory)
        if name == "decision":
            memory.merge("side", "main")
        if committed:
            memory.commit_pending("main")
            memory.commit_pending("side")
        other = "side" if branch == "main" else "main"
        elsewhere = memory.state(other)
        moments = Moments(memory)
        memory.clock.skew = -behind
        moments.around(branch, lambda: action(memory))
        assert memory.state(other) == elsewhere
        moments.around(branch, lambda: memory.add_fact(branch, "fact_later", fact_text="later"))
        memory.clock.skew = 0
        moments.check()

        memory.fork("late", branch)
        past = list(moments.seen)
        moments.around(branch, lambda: memory.add_fact(branch, "fact_last", fact_text="last"))
        moments.around(branch, lambda: memory.remove(branch, "rel_a"))
        moments.around("late", lambda: memory.merge(branch, "late"))
        moments.check()
        for _, at, state in past:
            assert memory.state("late", at) == state

    def test_before_the_first_row_there_is_nothing(self, memory: Memory) -> None:
        at = memory.add_fact("main", A, fact_text="a").at
        assert memory.state("main", at - 1) == {"facts": {}, "observations": {}, "relations": {}}
        memory.update_fact("main", A, fact_text="b")
        assert not memory.state("main", at - 1)["facts"]
        assert memory.state("main", at)["facts"][A][TEXT] == "a"

    def test_pending_rows_are_told_apart_by_their_own_times(self, memory: Memory) -> None:
        times = [memory.add_fact("main", f"fact_{i}", fact_text=str(i)).at for i in range(5)]
        for commits in (False, True):
            for number, at in enumerate(times):
                assert len(memory.state("main", at - 1)["facts"]) == number
                assert len(memory.state("main", at)["facts"]) == number + 1
            if not commits:
                memory.commit_pending("main")

    def test_times_of_a_branch_only_grow(self, memory: Memory) -> None:
        first = memory.add_fact("main", A, fact_text="a").at
        memory.clock.skew = -10 * SECOND
        second = memory.update_fact("main", A, fact_text="b").at
        memory.fork("side", "main")
        third = memory.add_fact("side", B, fact_text="b").at
        assert first < second < third
        fourth = memory.merge("side", "main").at
        assert fourth is not None
        assert third < fourth

    def test_a_fork_sees_its_parents_past_and_not_its_future(self, memory: Memory) -> None:
        first = memory.add_fact("main", A, fact_text="a").at
        second = memory.add_fact("main", B, fact_text="b").at
        memory.fork("side", "main")
        memory.clock.tick()
        third = memory.add_fact("main", C, fact_text="c").at
        assert memory.state("side", first - 1)["facts"] == {}
        assert set(memory.state("side", first)["facts"]) == {A}
        assert set(memory.state("side", second)["facts"]) == {A, B}
        assert set(memory.state("side", third)["facts"]) == {A, B}
        assert set(memory.state("side")["facts"]) == {A, B}

    def test_merged_rows_are_there_from_the_merge_on(self, memory: Memory) -> None:
        memory.fork("side", "main")
        memory.clock.skew = 20 * SECOND
        added = memory.add_fact("side", A, fact_text="a").at
        memory.clock.skew = 0
        merged = memory.merge("side", "main").at
        assert merged is not None
        assert merged > added
        assert memory.state("main", added)["facts"] == {}
        assert memory.state("main", merged - 1)["facts"] == {}
        assert set(memory.state("main", merged)["facts"]) == {A}

    def test_restoring_a_branch_to_between_two_rows_of_one_cut(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        between = memory.add_fact("main", B, fact_text="b").at
        memory.add_fact("main", C, fact_text="c")
        memory.commit_pending("main")
        memory.clock.tick()
        memory.restore_branch("main", between)
        assert set(memory.state("main")["facts"]) == {A, B}

    def test_restoring_a_branch_to_before_everything(self, memory: Memory) -> None:
        at = memory.add_fact("main", A, fact_text="a").at
        memory.update_fact("main", A, fact_text="b")
        memory.restore_branch("main", at - 1)
        assert memory.state("main")["facts"] == {}
        memory.restore_row("main", A, at)
        assert fact(memory, "main")[TEXT] == "a"
        memory.restore_row("main", A, at - 1)
        assert memory.state("main")["facts"] == {}
        assert code_of(lambda: memory.restore_row("main", A, at - 1)) == "not_found"

    @pytest.mark.parametrize("committed", [True, False], ids=["committed", "pending"])
    def test_a_fork_of_the_past_is_the_past(self, memory: Memory, committed: bool) -> None:
        two_branches(memory)
        if committed:
            memory.commit_pending("main")
        moments = Moments(memory)
        for number in range(3):
            for add in (
                partial(memory.add_fact, "main", f"fact_{number}", fact_text="new"),
                partial(memory.add_observation, "main", f"obs_{number}", summary="seen"),
            ):
                moments.around("main", add)
            if number:
                moments.around("main", partial(memory.update_fact, "main", B, category=f"{number}"))
        present = memory.state("main")
        for number, (_, at, state) in enumerate(moments.seen):
            name = f"past{number}"
            memory.fork(name, "main", at)
            assert memory.state(name) == state
            for _, earlier, then in moments.seen:
                assert memory.state(name, earlier) == (then if earlier <= at else state)
            memory.clock.tick()
            memory.add_fact(name, "fact_own", fact_text="own")
            assert memory.state(name)["facts"].keys() - state["facts"].keys() == {"fact_own"}
        assert memory.state("main") == present
        moments.check()
