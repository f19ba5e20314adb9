"""What every memory must do when it merges, picks and squashes."""

import pytest

from tests.suites.memory import Choice, Memory
from tests.suites.starting_states import (
    NEW,
    STATUS,
    TEXT,
    VERDICT,
    A,
    B,
    C,
    code_of,
    conflicting,
    fact,
    forked,
    listed,
)


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

    def test_the_same_column_conflicts_and_the_target_stays(self, memory: Memory) -> None:
        conflicting(memory)
        assert fact(memory, "main")["category"] == "ours"
        (item,) = memory.held("main")
        assert (item.row_id, item.cell) == (A, "category")
        assert (item.ours, item.theirs) == ({"category": "ours"}, {"category": "theirs"})

    def test_the_same_value_on_both_sides_is_no_conflict(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("main", A, fact_text="same", category="same")
        memory.update_fact("side", A, fact_text="same", category="same")
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected, memory.held("main")) == (0, 0, [])
        assert done.at is not None

    def test_a_merge_counts_each_row_once_however_many_cells_changed(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="new", confidence=0.1)
        memory.add_observation("side", "obs_a", summary="seen")
        memory.add_relation(
            "side", "rel_a", source_entity="x", target_entity="y", relation_type="z"
        )
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected) == (3, 0)
        assert memory.state("main") == memory.state("side")

    @pytest.mark.parametrize("committed", [True, False], ids=["committed", "pending"])
    def test_a_fork_of_the_past_merges_as_if_it_was_forked_then(
        self, memory: Memory, committed: bool
    ) -> None:
        """Its first rows and those after them are one commit of the parent."""
        *_, at = [memory.add_fact("main", row, fact_text=row).at for row in (A, B, C)]
        memory.add_fact("main", NEW, fact_text="later")
        if committed:
            memory.commit_pending("main")
        memory.fork("past", "main", at)
        memory.fork("earlier", "main", at - 1)
        assert memory.state("earlier")["facts"].keys() == {A, B}
        memory.update_fact("main", A, category="ours")
        memory.remove("main", B)
        memory.update_fact("past", C, category="theirs")
        memory.add_fact("past", "fact_own", fact_text="own")
        memory.update_fact("earlier", A, confidence=0.5)
        done = memory.merge("past", "main")
        assert (done.merged, done.rejected, memory.held("main")) == (2, 0, [])
        facts = memory.state("main")["facts"]
        assert facts.keys() == {A, C, NEW, "fact_own"}
        assert (facts[A]["category"], facts[C]["category"]) == ("ours", "theirs")
        assert memory.merge("earlier", "past").rejected == 0
        facts = memory.state("past")["facts"]
        assert facts.keys() == {A, B, C, "fact_own"}
        assert (facts[A]["confidence"], facts[C]["category"]) == (0.5, "theirs")

    def test_the_present_merges_into_a_fork_of_the_past(self, memory: Memory) -> None:
        *_, at = [memory.add_fact("main", row, fact_text=row).at for row in (A, B, C)]
        memory.add_fact("main", NEW, fact_text="later")
        memory.fork("past", "main", at)
        memory.update_fact("main", A, category="ours")
        memory.remove("main", B)
        memory.update_fact("past", C, category="theirs")
        assert memory.merge("main", "past").rejected == 0
        facts = memory.state("past")["facts"]
        assert facts.keys() == {A, C, NEW}
        assert (facts[A]["category"], facts[C]["category"]) == ("ours", "theirs")
        assert memory.merge("past", "main").rejected == 0
        assert memory.state("past") == memory.state("main")

    def test_a_merge_that_brings_nothing_new_makes_no_commit(self, memory: Memory) -> None:
        conflicting(memory)
        state = memory.state("main")
        done = memory.merge("side", "main")
        assert (done.at, done.merged, done.rejected) == (None, 0, 0)
        assert memory.state("main") == state

    def test_a_branch_that_left_its_parent_later_brings_what_happened_there_before(
        self, memory: Memory
    ) -> None:
        memory.add_fact("main", A, fact_text="a")
        memory.add_fact("main", B, fact_text="b")
        memory.fork("side", "main")
        memory.add_fact("side", C, fact_text="c")
        memory.update_fact("main", A, category="new")
        memory.remove("main", B)
        memory.fork("later", "main")
        memory.add_fact("later", NEW, fact_text="new")
        before = memory.state("later")["facts"]
        memory.merge("later", "side")
        assert memory.state("side")["facts"].keys() == {A, C, NEW}
        assert fact(memory, "side")["category"] == "new"
        memory.merge("side", "main")
        assert memory.state("main") == memory.state("side")
        assert before.items() <= memory.state("main")["facts"].items()

    def test_a_merge_removes_a_row_that_only_the_source_removed(self, memory: Memory) -> None:
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

    def test_two_new_texts_conflict_and_each_verdict_stays_with_its_own(
        self, memory: Memory
    ) -> None:
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

    def test_two_verdicts_on_one_text_conflict(self, memory: Memory) -> None:
        forked(memory)
        memory.judge("main", A, "verified", "[1]")
        memory.judge("side", A, "invalidated", "[0]")
        assert memory.merge("side", "main").rejected == 1
        assert listed(memory, "main") == [(A, VERDICT)]

    def test_choices_decide_what_conflicts(self, memory: Memory) -> None:
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

    def test_the_choice_delete_removes_the_row(self, memory: Memory) -> None:
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
    def test_a_merge_after_a_cherry_pick_brings_only_the_rest(self, memory: Memory) -> None:
        forked(memory)
        memory.update_fact("side", A, category="new")
        memory.add_fact("side", B, fact_text="b")
        done = memory.merge("side", "main", "cherry_pick", items=[A])
        assert (done.merged, done.rejected) == (1, 0)
        assert B not in memory.state("main")["facts"]
        done = memory.merge("side", "main")
        assert (done.merged, done.rejected) == (1, 0)
        assert memory.state("main") == memory.state("side")

    def test_a_row_edited_after_its_cherry_pick_is_held(self, memory: Memory) -> None:
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

    def test_a_pick_of_a_conflict_is_held_every_time(self, memory: Memory) -> None:
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

    def test_a_squashed_branch_is_closed_until_it_is_forked_anew(self, memory: Memory) -> None:
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
