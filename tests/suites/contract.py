"""What every memory must do, whatever the engine: as of an instant, merging, holding.

A test class inherits `MemorySuite` and gives the fixture `memory`, a fresh `Memory` with the
branch `main`; it never overrides a test.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.suites.memory import Choice, Memory, Refusal, State

SECOND = 1_000_000
A, B, C, NEW = "fact_a", "fact_b", "fact_c", "fact_new"
TEXT, STATUS, VERDICT = "fact_text", "status", "verification"

Deed = Callable[[Memory], Any]

DEEDS: dict[str, tuple[str, Deed]] = {
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
"""Deeds on the two branches that `two_branches` makes, with the branch that each changes."""


def two_branches(memory: Memory) -> None:
    """`main` and its fork `side`: a clash on A's category, and rows of their own; 1 ms a deed."""
    for deed in (
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
        deed()
        memory.clock.tick(1_000)


class Moments:
    """States of a branch around its deeds, to be asked for later, when much has happened."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.seen: list[tuple[str, int, State]] = []

    def around(self, branch: str, deed: Callable[[], Any]) -> None:
        """Do a deed that changes a branch; remember it just before, at and just after."""
        before = self.memory.state(branch)
        at = deed().at
        after = self.memory.state(branch)
        assert before != after
        assert self.memory.state(branch, at + 1) == after
        self.seen += [(branch, at - 1, before), (branch, at, after)]
        self.memory.clock.tick()

    def check(self) -> None:
        for branch, at, state in self.seen:
            assert self.memory.state(branch, at) == state, (branch, at)


def fact(memory: Memory, branch: str, fact_id: str = A) -> dict[str, Any]:
    return memory.state(branch)["facts"][fact_id]


def forked(memory: Memory, **columns: Any) -> None:
    """A fact A on `main` and on its fork `side`."""
    memory.add_fact("main", A, **{"fact_text": "a", **columns})
    memory.fork("side", "main")
    memory.clock.tick()


def clashing(memory: Memory) -> None:
    """A's category changed on both branches and merged: held on `main`."""
    forked(memory, category="base")
    memory.update_fact("main", A, category="ours")
    memory.update_fact("side", A, category="theirs")
    assert memory.merge("side", "main").rejected == 1


def listed(memory: Memory, branch: str) -> list[tuple[str, str]]:
    return sorted((item.row_id, item.cell) for item in memory.held(branch))


def code_of(deed: Callable[[], Any]) -> str:
    with pytest.raises(Refusal) as refused:
        deed()
    return refused.value.code


class AsOfSuite:
    @pytest.mark.parametrize("behind", [0, 10 * SECOND], ids=["", "clock 10 s behind"])
    @pytest.mark.parametrize("cut", [True, False], ids=["cut", "waiting"])
    @pytest.mark.parametrize("name", DEEDS)
    def test_as_of_around_a_deed(self, memory: Memory, name: str, cut: bool, behind: int) -> None:
        branch, deed = DEEDS[name]
        two_branches(memory)
        if name == "decision":
            memory.merge("side", "main")
        if cut:
            memory.cut("main")
            memory.cut("side")
        other = "side" if branch == "main" else "main"
        elsewhere = memory.state(other)
        moments = Moments(memory)
        memory.clock.skew = -behind
        moments.around(branch, lambda: deed(memory))
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

    def test_waiting_rows_are_told_apart_by_their_own_times(self, memory: Memory) -> None:
        times = [memory.add_fact("main", f"fact_{i}", fact_text=str(i)).at for i in range(5)]
        for cut in (False, True):
            for number, at in enumerate(times):
                assert len(memory.state("main", at - 1)["facts"]) == number
                assert len(memory.state("main", at)["facts"]) == number + 1
            if not cut:
                memory.cut("main")

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
        memory.cut("main")
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


class MergingSuite:
    def test_different_columns_of_one_row_both_merge(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, confidence=0.5)
        assert memory.merge("side", "main").merged == 1
        assert (fact(memory, "main")["category"], fact(memory, "main")["confidence"]) == (
            "ours",
            0.5,
        )
        assert fact(memory, "side")["category"] is None

    def test_the_same_column_clashes_and_the_target_stays(self, memory: Memory) -> None:
        clashing(memory)
        assert fact(memory, "main")["category"] == "ours"
        (item,) = memory.held("main")
        assert (item.row_id, item.cell) == (A, "category")
        assert (item.ours, item.theirs) == ({"category": "ours"}, {"category": "theirs"})

    def test_the_same_value_on_both_sides_is_no_clash(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, fact_text="same", category="same")
        memory.update_fact("side", A, fact_text="same", category="same")
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected, memory.held("main")) == (0, 0, [])
        assert done.at is not None

    def test_a_row_counts_once(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="new", confidence=0.1)
        memory.add_observation("side", "obs_a", summary="seen")
        memory.add_relation(
            "side", "rel_a", source_entity="x", target_entity="y", relation_type="z"
        )
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected) == (3, 0)
        assert memory.state("main") == memory.state("side")

    def test_nothing_new_is_nothing_done(self, memory: Memory) -> None:
        clashing(memory)
        state = memory.state("main")
        done = memory.merge("side", "main")
        assert (done.at, done.merged, done.rejected) == (None, 0, 0)
        assert memory.state("main") == state

    def test_removal_meets_an_untouched_row(self, memory: Memory) -> None:
        forked(memory)
        memory.remove("side", A)
        assert memory.merge("side", "main").merged == 1
        assert memory.state("main")["facts"] == {}

    @pytest.mark.parametrize("remover", ["side", "main"])
    def test_delete_and_modify_keep_the_targets_side(self, memory: Memory, remover: str) -> None:
        forked(memory)
        changer = "main" if remover == "side" else "side"
        memory.remove(remover, A)
        memory.update_fact(changer, A, category="changed")
        assert memory.merge("side", "main").rejected == 1
        assert (A in memory.state("main")["facts"]) == (remover == "side")
        (item,) = memory.held("main")
        assert item.cell == "*"
        assert (item.theirs is None) == (remover == "side")
        memory.decide("main", A, "*", "taken")
        assert memory.state("main") == memory.state("side")
        assert memory.held("main") == []

    def test_rows_of_one_id_made_on_both_sides_merge_cell_by_cell(self, memory: Memory) -> None:
        memory.fork("side", "main")
        memory.add_fact("main", A, fact_text="same", category="ours")
        memory.add_fact("side", A, fact_text="same", category="theirs")
        assert memory.merge("side", "main").rejected == 1
        assert listed(memory, "main") == [(A, "category")]

    @pytest.mark.parametrize("writer", ["side", "main"])
    def test_a_new_text_beside_a_verdict_on_the_old_is_unverified(
        self, memory: Memory, writer: str
    ) -> None:
        forked(memory)
        memory.update_fact(writer, A, fact_text="new")
        memory.judge("side" if writer == "main" else "main", A, "verified", "[1]")
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected) == (1, 0) if writer == "side" else done.rejected == 0
        after = fact(memory, "main")
        assert (after[TEXT], after[VERDICT], after["scores"]) == ("new", "unverified", None)

    def test_a_verdict_on_the_new_text_comes_with_it(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, fact_text="new")
        memory.judge("side", A, "verified", "[1]")
        memory.update_fact("main", A, category="ours")
        memory.merge("side", "main")
        after = fact(memory, "main")
        assert (after[TEXT], after[VERDICT], after["scores"]) == ("new", "verified", "[1]")

    def test_two_new_texts_clash_and_each_verdict_stays_with_its_own(self, memory: Memory) -> None:
        forked(memory)
        for branch, text, verdict in (
            ("main", "ours", "verified"),
            ("side", "theirs", "invalidated"),
        ):
            memory.update_fact(branch, A, fact_text=text)
            memory.judge(branch, A, verdict, None)
        memory.merge("side", "main")
        assert listed(memory, "main") == [(A, TEXT)]
        assert (fact(memory, "main")[TEXT], fact(memory, "main")[VERDICT]) == ("ours", "verified")
        memory.decide("main", A, TEXT, "taken")
        assert (fact(memory, "main")[TEXT], fact(memory, "main")[VERDICT]) == (
            "theirs",
            "unverified",
        )

    def test_two_verdicts_on_one_text_clash(self, memory: Memory) -> None:
        forked(memory)
        memory.judge("main", A, "verified", "[1]")
        memory.judge("side", A, "invalidated", "[0]")
        assert memory.merge("side", "main").rejected == 1
        assert listed(memory, "main") == [(A, VERDICT)]

    def test_choices_decide_what_clashes(self, memory: Memory) -> None:
        forked(memory, category="base")
        for branch in ("main", "side"):
            memory.update_fact(branch, A, fact_text=f"{branch} text", category=branch)
            memory.judge(branch, A, "verified", None)
        choices = [Choice(A, "theirs", "category"), Choice(A, "value", TEXT, {TEXT: "third"})]
        done = memory.merge("side", "main", choices=choices)
        assert (done.merged, done.rejected, memory.held("main")) == (1, 0, [])
        after = fact(memory, "main")
        assert (after["category"], after[TEXT], after[VERDICT]) == ("side", "third", "unverified")

    def test_a_text_written_by_the_chooser_is_unverified(self, memory: Memory) -> None:
        forked(memory)
        memory.judge("main", A, "verified", "[1]")
        memory.update_fact("side", A, category="changed")
        memory.merge("side", "main", choices=[Choice(A, "value", TEXT, {TEXT: "third"})])
        assert (fact(memory, "main")[TEXT], fact(memory, "main")[VERDICT]) == (
            "third",
            "unverified",
        )

    def test_skip_holds_what_would_merge_and_nothing_else(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, confidence=0.5)
        memory.update_fact("side", A, category="theirs")
        memory.add_fact("side", NEW, fact_text="new")
        done = memory.merge("side", "main", choices=[Choice(A, "skip"), Choice(NEW, "skip")])
        assert (done.merged, done.rejected) == (0, 2)
        assert listed(memory, "main") == [(A, "category"), (NEW, "*")]

    def test_delete_is_a_choice(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="theirs")
        assert memory.merge("side", "main", choices=[Choice(A, "delete")]).merged == 1
        assert memory.state("main")["facts"] == {}

    def test_a_held_supersession_holds_the_new_fact_until_it_is_taken(self, memory: Memory) -> None:
        forked(memory)
        memory.supersede("main", A, "fact_ours", "our new")
        memory.supersede("side", A, "fact_theirs", "their new")
        memory.supersede("side", "fact_theirs", "fact_last", "their newest")
        assert memory.merge("side", "main").rejected == 3
        assert listed(memory, "main") == [(A, STATUS), ("fact_last", "*"), ("fact_theirs", "*")]
        assert set(memory.state("main")["facts"]) == {A, "fact_ours"}
        done = memory.merge("side", "main", choices=[Choice(A, "theirs", STATUS)])
        assert (done.merged, done.rejected, memory.held("main")) == (3, 0, [])
        assert memory.state("main")["facts"].items() > memory.state("side")["facts"].items()

    def test_a_withheld_new_fact_holds_its_supersession(self, memory: Memory) -> None:
        forked(memory)
        memory.supersede("side", A, NEW, "new")
        assert memory.merge("side", "main", choices=[Choice(NEW, "skip")]).rejected == 2
        assert listed(memory, "main") == [(A, STATUS), (NEW, "*")]
        assert fact(memory, "main")[STATUS] == "active"

    def test_a_removed_fact_holds_what_supersedes_it(self, memory: Memory) -> None:
        forked(memory)
        memory.supersede("side", A, NEW, "new")
        memory.remove("main", A)
        assert memory.merge("side", "main").rejected == 2
        assert listed(memory, "main") == [(A, "*"), (NEW, "*")]


class PickingSuite:
    def test_pick_then_merge(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="new")
        memory.add_fact("side", B, fact_text="b")
        done = memory.merge("side", "main", "cherry_pick", items=[A])
        assert (done.merged, done.rejected) == (1, 0)
        assert B not in memory.state("main")["facts"]
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected) == (1, 0)
        assert memory.state("main") == memory.state("side")

    def test_pick_edit_merge(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="picked")
        memory.merge("side", "main", "cherry_pick", items=[A])
        memory.update_fact("side", A, category="edited")
        assert memory.merge("side", "main").rejected == 1
        (item,) = memory.held("main")
        assert (item.ours, item.theirs) == ({"category": "picked"}, {"category": "edited"})

    def test_a_picked_fact_brings_what_supersedes_it(self, memory: Memory) -> None:
        forked(memory)
        memory.supersede("side", A, B, "b")
        memory.supersede("side", B, C, "c")
        memory.add_fact("side", NEW, fact_text="unrelated")
        assert memory.merge("side", "main", "cherry_pick", items=[A]).merged == 3
        assert set(memory.state("main")["facts"]) == {A, B, C}

    def test_a_pick_brings_a_removed_row_back(self, memory: Memory) -> None:
        forked(memory)
        memory.remove("main", A)
        assert memory.merge("side", "main", "cherry_pick", items=[A]).merged == 1
        assert memory.state("main") == memory.state("side")

    def test_a_pick_of_a_clash_is_held_every_time(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        for _ in range(2):
            assert memory.merge("side", "main", "cherry_pick", items=[A]).rejected == 1
            assert listed(memory, "main") == [(A, "category")]
            memory.decide("main", A, "category", "dismissed")
            assert memory.held("main") == []

    def test_a_pick_of_what_is_not_there_is_refused(self, memory: Memory) -> None:
        forked(memory)
        assert (
            code_of(lambda: memory.merge("side", "main", "cherry_pick", items=[A, NEW]))
            == "not_found"
        )

    def test_squash_twice(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="new")
        assert memory.merge("side", "main", "squash").merged == 1
        assert memory.state("main") == memory.state("side")
        assert code_of(lambda: memory.merge("side", "main", "squash")) == "branch_closed"
        assert code_of(lambda: memory.merge("side", "main")) == "branch_closed"
        assert code_of(lambda: memory.merge("main", "side")) == "branch_closed"
        assert code_of(lambda: memory.add_fact("side", B, fact_text="b")) == "branch_closed"
        memory.fork("anew", "side")
        memory.update_fact("anew", A, category="newer")

    def test_a_squash_that_would_hold_is_refused(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        state = memory.state("main")
        assert code_of(lambda: memory.merge("side", "main", "squash")) == "would_hold"
        assert memory.state("main") == state
        memory.merge("side", "main", "squash", choices=[Choice(A, "ours", "category")])
        assert memory.held("main") == []


class HoldingSuite:
    def test_hold_merge_back_merge_again(self, memory: Memory) -> None:
        clashing(memory)
        memory.merge("main", "side")
        assert fact(memory, "side")["category"] == "theirs"
        memory.add_fact("side", B, fact_text="b")
        assert memory.merge("side", "main").merged == 1
        assert fact(memory, "main")["category"] == "ours"
        assert listed(memory, "main") == [(A, "category")]
        memory.decide("main", A, "category", "taken")
        assert fact(memory, "main")["category"] == "theirs"

    def test_refresh_then_merge_up(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        assert memory.merge("main", "side").rejected == 1
        assert fact(memory, "side")["category"] == "theirs"
        memory.add_fact("side", B, fact_text="b")
        assert memory.merge("side", "main").merged == 1
        assert fact(memory, "main")["category"] == "ours"
        assert listed(memory, "side") == [(A, "category")]
        memory.decide("side", A, "category", "taken")
        assert fact(memory, "side")["category"] == "ours"

    def test_fork_after_holding(self, memory: Memory) -> None:
        clashing(memory)
        memory.fork("child", "main")
        assert listed(memory, "child") == [(A, "category")]
        memory.add_fact("child", B, fact_text="b")
        assert memory.merge("child", "main").merged == 1
        assert listed(memory, "main") == [(A, "category")]

    def test_what_a_fork_decided_comes_with_it(self, memory: Memory) -> None:
        clashing(memory)
        memory.fork("child", "main")
        memory.decide("child", A, "category", "taken")
        assert listed(memory, "main") == [(A, "category")]
        done = memory.merge("child", "main")
        assert (done.merged, done.rejected) == (1, 0)
        assert fact(memory, "main")["category"] == "theirs"
        assert memory.held("main") == []

    def test_what_a_fork_dismissed_is_dismissed(self, memory: Memory) -> None:
        clashing(memory)
        memory.fork("child", "main")
        memory.decide("child", A, "category", "dismissed")
        memory.merge("child", "main")
        assert (memory.held("main"), fact(memory, "main")["category"]) == ([], "ours")

    def test_a_sibling_learns_what_is_held(self, memory: Memory) -> None:
        forked(memory, category="base")
        memory.fork("sibling", "main")
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        memory.merge("side", "main")
        memory.merge("main", "sibling")
        assert fact(memory, "sibling")["category"] == "base"
        assert listed(memory, "sibling") == [(A, "category")]
        memory.decide("sibling", A, "category", "edited", {"category": "third"})
        assert fact(memory, "sibling")["category"] == "third"
        assert listed(memory, "main") == [(A, "category")]

    def test_held_rows_taken_later(self, memory: Memory) -> None:
        forked(memory)
        memory.supersede("main", A, "fact_ours", "our new")
        memory.clock.skew = 10 * SECOND
        memory.supersede("side", A, "fact_theirs", "their new")
        memory.merge("side", "main")
        memory.clock.skew = -10 * SECOND
        before = memory.state("main")
        at = memory.decide("main", "fact_theirs", "*", "taken").at
        assert memory.state("main", at - 1) == before
        assert set(memory.state("main", at)["facts"]) == {A, "fact_ours", "fact_theirs"}
        memory.decide("main", A, STATUS, "taken")
        assert fact(memory, "main")["superseded_by"] == "fact_theirs"
        assert memory.held("main") == []

    def test_offered_is_what_the_source_has_now(self, memory: Memory) -> None:
        clashing(memory)
        memory.update_fact("side", A, category="newer")
        assert [item.theirs for item in memory.held("main")] == [{"category": "newer"}]
        memory.update_fact("side", A, category="ours")
        assert memory.held("main") == []
        memory.update_fact("side", A, category="theirs")
        assert listed(memory, "main") == [(A, "category")]

    def test_a_new_value_of_a_held_cell_is_held_too(self, memory: Memory) -> None:
        clashing(memory)
        memory.update_fact("side", A, category="newer")
        memory.merge("side", "main")
        assert fact(memory, "main")["category"] == "ours"
        assert set(listed(memory, "main")) == {(A, "category")}

    def test_an_edit_of_a_held_cell_decides_it(self, memory: Memory) -> None:
        clashing(memory)
        memory.update_fact("main", A, confidence=0.5)
        assert listed(memory, "main") == [(A, "category")]
        memory.update_fact("main", A, category="third")
        assert memory.held("main") == []
        assert code_of(lambda: memory.decide("main", A, "category", "taken")) == "not_found"

    def test_a_later_merge_may_decide_what_is_held(self, memory: Memory) -> None:
        clashing(memory)
        done = memory.merge("side", "main", choices=[Choice(A, "theirs", "category")])
        assert (done.merged, done.rejected) == (1, 0)
        assert (fact(memory, "main")["category"], memory.held("main")) == ("theirs", [])

    def test_a_decided_cell_merges_again(self, memory: Memory) -> None:
        clashing(memory)
        memory.decide("main", A, "category", "dismissed")
        memory.update_fact("side", A, confidence=0.5)
        memory.merge("side", "main")
        memory.update_fact("main", A, category="again")
        memory.merge("main", "side")
        assert fact(memory, "side")["category"] == "again"

    def test_an_undecided_delete_stays_undecided(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, category="ours")
        memory.remove("side", A)
        memory.merge("side", "main")
        memory.add_fact("side", B, fact_text="b")
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected) == (1, 1)
        memory.merge("main", "side")
        assert A not in memory.state("side")["facts"]
        assert listed(memory, "main") == [(A, "*")]

    def test_a_hand_edited_new_fact_is_unverified(self, memory: Memory) -> None:
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        memory.judge("side", A, "verified", "[1]")
        memory.merge("side", "main", choices=[Choice(A, "skip")])
        memory.decide("main", A, "*", "edited", {TEXT: "third"})
        assert (fact(memory, "main")[TEXT], fact(memory, "main")[VERDICT]) == (
            "third",
            "unverified",
        )

    def test_an_edited_row_gets_the_given_columns_only(self, memory: Memory) -> None:
        at = memory.add_fact("main", A, fact_text="a").at
        memory.fork("side", "main")
        memory.remove("main", A)
        memory.update_fact("side", A, category="theirs", confidence=0.5)
        memory.merge("side", "main")
        memory.restore_row("main", A, at)
        memory.decide("main", A, "*", "edited", {"category": "third"})
        assert (fact(memory, "main")["category"], fact(memory, "main")["confidence"]) == (
            "third",
            1.0,
        )

    def test_restoring_the_branch_takes_held_items_back(self, memory: Memory) -> None:
        forked(memory)
        at = memory.update_fact("main", A, category="ours").at
        memory.update_fact("side", A, category="theirs")
        merged = memory.merge("side", "main").at
        assert merged is not None
        memory.restore_branch("main", at)
        assert memory.held("main") == []
        memory.restore_branch("main", merged)
        assert listed(memory, "main") == [(A, "category")]


class MemorySuite(AsOfSuite, MergingSuite, PickingSuite, HoldingSuite):
    """All of it."""
