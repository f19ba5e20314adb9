"""What every memory must do with what a merge withheld."""

from tests.suites.memory import Choice, Memory
from tests.suites.starting_states import (
    NEW,
    SECOND,
    STATUS,
    TEXT,
    VERDICT,
    A,
    B,
    code_of,
    conflicting,
    fact,
    forked,
    listed,
)


def superseding(memory: Memory, source: str, *successors: str) -> str:
    """Main with a held supersession of A, which a branch replaced by one fact after the other."""
    memory.add_fact("main", A, fact_text="a")
    memory.fork(source, "main")
    old = A
    for new in successors:
        memory.supersede(source, old, new, f"the text of {new}")
        old = new
    memory.update_fact("main", A, valid_until=8)
    memory.merge(source, "main")
    assert (A, STATUS) in listed(memory, "main")
    return source


def take_with_successors(memory: Memory, source: str) -> None:
    """Take the held supersession of A: both new facts come, and nothing is left to merge."""
    memory.decide("main", A, STATUS, "taken")
    facts = memory.state("main")["facts"]
    assert [facts[i]["superseded_by"] for i in (A, NEW)] == [NEW, "fact_last"]
    assert facts["fact_last"]["status"] == "active"
    assert memory.held("main") == []
    assert memory.merge(source, "main").at is None
    assert memory.merge("main", source).rejected == 0


class HoldingSuite:
    def test_merging_back_and_again_leaves_a_held_item_undecided(self, memory: Memory) -> None:
        conflicting(memory)
        memory.merge("main", "side")
        assert fact(memory, "side")["category"] == "theirs"
        memory.add_fact("side", B, fact_text="b")
        assert memory.merge("side", "main").merged == 1
        assert fact(memory, "main")["category"] == "ours"
        assert listed(memory, "main") == [(A, "category")]
        memory.decide("main", A, "category", "taken")
        assert fact(memory, "main")["category"] == "theirs"

    def test_a_choice_about_a_cell_decides_no_removal(self, memory: Memory) -> None:
        forked(memory)
        memory.fork("other", "main")
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, confidence=0.5)
        memory.remove("other", A)
        memory.merge("other", "main")
        memory.merge("side", "main", "cherry_pick", [Choice(A, "ours", "confidence")], [A])
        assert listed(memory, "main") == [(A, "*")]

    def test_a_fork_has_the_held_items_of_its_parent(self, memory: Memory) -> None:
        conflicting(memory)
        memory.fork("child", "main")
        assert listed(memory, "child") == [(A, "category")]
        memory.add_fact("child", B, fact_text="b")
        assert memory.merge("child", "main").merged == 1
        assert listed(memory, "main") == [(A, "category")]

    def test_a_merge_brings_the_decisions_of_a_fork(self, memory: Memory) -> None:
        conflicting(memory)
        memory.fork("child", "main")
        memory.decide("child", A, "category", "taken")
        assert listed(memory, "main") == [(A, "category")]
        done = memory.merge("child", "main")
        assert (done.merged, done.rejected) == (1, 0)
        assert fact(memory, "main")["category"] == "theirs"
        assert memory.held("main") == []

    def test_a_cherry_pick_brings_no_decision_of_a_held_item(self, memory: Memory) -> None:
        conflicting(memory)
        memory.fork("child", "main")
        memory.decide("child", A, "category", "taken")
        done = memory.merge("child", "main", "cherry_pick", items=[A])
        assert (done.merged, done.rejected) == (0, 1)
        assert (fact(memory, "main")["category"], listed(memory, "main")) == (
            "ours",
            [(A, "category")],
        )

    def test_a_decision_that_was_restored_away_holds_again(self, memory: Memory) -> None:
        conflicting(memory)
        memory.clock.tick()
        at = memory.clock.now
        memory.clock.tick()
        memory.fork("child", "main")
        memory.decide("child", A, "category", "dismissed")
        memory.merge("child", "main")
        memory.restore_branch("main", at)
        memory.update_fact("child", A, category="later")
        assert memory.merge("child", "main").rejected == 1
        assert fact(memory, "main")["category"] == "ours"

    def test_a_merge_brings_the_dismissals_of_a_fork(self, memory: Memory) -> None:
        conflicting(memory)
        memory.fork("child", "main")
        memory.decide("child", A, "category", "dismissed")
        memory.merge("child", "main")
        assert (memory.held("main"), fact(memory, "main")["category"]) == ([], "ours")

    def test_a_held_row_is_taken_later_at_the_time_of_the_decision(self, memory: Memory) -> None:
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

    def test_an_edit_of_a_held_cell_decides_it(self, memory: Memory) -> None:
        conflicting(memory)
        memory.update_fact("main", A, confidence=0.5)
        assert listed(memory, "main") == [(A, "category")]
        memory.update_fact("main", A, category="third")
        assert memory.held("main") == []
        assert code_of(lambda: memory.decide("main", A, "category", "taken")) == "not_found"

    def test_a_later_merge_may_decide_what_is_held(self, memory: Memory) -> None:
        conflicting(memory)
        done = memory.merge("side", "main", choices=[Choice(A, "theirs", "category")])
        assert (done.merged, done.rejected) == (1, 0)
        assert (fact(memory, "main")["category"], memory.held("main")) == ("theirs", [])

    def test_a_cell_that_was_decided_merges_as_any_other_afterwards(self, memory: Memory) -> None:
        conflicting(memory)
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

    def test_a_new_row_comes_whole_with_what_is_open_on_it(self, memory: Memory) -> None:
        """A1: a row that the target never had was withheld, and the merge back removed it."""
        memory.fork("feature", "main")
        memory.add_fact("main", A, fact_text="Friday")
        memory.fork("side", "main")
        memory.update_fact("side", A, fact_text="Monday")
        memory.update_fact("main", A, fact_text="Tuesday")
        assert memory.merge("side", "main").rejected == 1
        done = memory.merge("main", "feature")
        assert (done.merged, done.rejected) == (1, 0)
        assert fact(memory, "feature")[TEXT] == "Tuesday"
        assert listed(memory, "feature") == [(A, TEXT)]
        memory.decide("feature", A, TEXT, "dismissed")
        memory.merge("feature", "main")
        assert fact(memory, "main")[TEXT] == "Tuesday"
        assert memory.held("main") == []

    def test_a_new_row_that_was_dismissed_stays_where_it_is(self, memory: Memory) -> None:
        """A1: nobody removed the row; dismissing it keeps it away from one branch only."""
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        memory.merge("side", "main", choices=[Choice(A, "skip")])
        memory.decide("main", A, "*", "dismissed")
        memory.merge("main", "side")
        assert fact(memory, "side")[TEXT] == "a"
        memory.merge("side", "main")
        assert (A in memory.state("main")["facts"], memory.held("main")) == (False, [])
        memory.update_fact("side", A, fact_text="better")
        assert memory.merge("side", "main").rejected == 1
        assert listed(memory, "main") == [(A, "*")]
        memory.merge("main", "side")
        assert fact(memory, "side")[TEXT] == "better"

    def test_a_new_row_that_was_decided_against_stays_where_it_is(self, memory: Memory) -> None:
        """A1: whoever keeps the target's side of a new row removes it nowhere else."""
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        done = memory.merge("side", "main", choices=[Choice(A, "ours")])
        assert (done.merged, done.rejected) == (1, 0)
        assert (A in memory.state("main")["facts"], memory.held("main")) == (False, [])
        memory.merge("main", "side")
        assert fact(memory, "side")[TEXT] == "a"
        memory.merge("side", "main", "cherry_pick", items=[A])
        assert fact(memory, "main")[TEXT] == "a"

    def test_a_dismissed_supersession_stays_where_it_is(self, memory: Memory) -> None:
        """A1: the new fact that was held with it is not removed by the merge back."""
        forked(memory)
        memory.supersede("main", A, "fact_ours", "our new")
        memory.supersede("side", A, "fact_theirs", "their new")
        memory.merge("side", "main")
        memory.decide("main", A, STATUS, "dismissed")
        memory.decide("main", "fact_theirs", "*", "dismissed")
        memory.merge("main", "side")
        assert set(memory.state("side")["facts"]) == {A, "fact_ours", "fact_theirs"}
        assert fact(memory, "side")["superseded_by"] == "fact_ours"

    def test_a_held_row_that_was_taken_and_then_removed_stays_removed(self, memory: Memory) -> None:
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        memory.merge("side", "main", choices=[Choice(A, "skip")])
        memory.decide("main", A, "*", "taken")
        memory.remove("main", A)
        memory.merge("main", "side")
        assert A not in memory.state("side")["facts"]

    def test_a_row_kept_out_of_another_branch_can_be_edited_and_removed(
        self, memory: Memory
    ) -> None:
        """A1: the item is about the branch that lacks the row, and binds no other."""
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        memory.merge("side", "main", choices=[Choice(A, "skip")])
        memory.merge("main", "side")
        memory.fork("child", "side")
        memory.update_fact("child", A, fact_text="better")
        assert memory.merge("child", "side").rejected == 0
        assert (fact(memory, "side")[TEXT], memory.held("side")) == ("better", [])
        assert [item.theirs and item.theirs[TEXT] for item in memory.held("main")] == ["better"]
        memory.remove("child", A)
        memory.merge("child", "side")
        assert A not in memory.state("side")["facts"]

    def test_a_row_declined_on_another_branch_can_be_removed(self, memory: Memory) -> None:
        """A1: a removal of it goes on to other branches, as that of any other row."""
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        memory.fork("child", "side")
        memory.merge("side", "main", choices=[Choice(A, "ours")])
        memory.merge("main", "side")
        memory.remove("side", A)
        memory.merge("side", "child")
        assert A not in memory.state("child")["facts"]

    def test_a_removal_that_was_kept_goes_back(self, memory: Memory) -> None:
        forked(memory)
        memory.remove("main", A)
        memory.update_fact("side", A, category="theirs")
        memory.merge("side", "main")
        memory.decide("main", A, "*", "dismissed")
        memory.merge("main", "side")
        assert A not in memory.state("side")["facts"]

    def test_taking_a_supersession_removes_no_fact(self, memory: Memory) -> None:
        """Who takes it takes the new fact too, which the source may lack."""
        forked(memory)
        memory.supersede("side", A, NEW, "new")
        memory.remove("main", A)
        assert memory.merge("side", "main").rejected == 2
        memory.merge("side", "main", choices=[Choice(A, "theirs"), Choice(NEW, "skip")])
        memory.update_fact("side", NEW, category="later")
        memory.merge("main", "side", choices=[Choice(A, "theirs")])
        assert set(memory.state("side")["facts"]) == {A, NEW}

    def test_a_supersession_that_is_taken_later_brings_its_new_facts(self, memory: Memory) -> None:
        """Otherwise a search would find neither of the two."""
        take_with_successors(memory, superseding(memory, "side", NEW, "fact_last"))

    def test_a_new_fact_comes_with_its_supersession_after_a_dismissal(self, memory: Memory) -> None:
        source = superseding(memory, "side", NEW, "fact_last")
        memory.decide("main", NEW, "*", "dismissed")
        take_with_successors(memory, source)

    def test_a_choice_of_a_supersession_brings_what_was_declined(self, memory: Memory) -> None:
        source = superseding(memory, "side", NEW)
        memory.merge(source, "main", choices=[Choice(A, "ours"), Choice(NEW, "ours")])
        memory.update_fact(source, A, valid_until=7)
        memory.merge(source, "main", choices=[Choice(A, "theirs", STATUS)])
        assert fact(memory, "main")["superseded_by"] == NEW
        assert NEW in memory.state("main")["facts"]

    def test_a_supersession_names_no_fact_that_was_removed(self, memory: Memory) -> None:
        source = superseding(memory, "side", NEW)
        memory.remove(source, NEW)
        memory.decide("main", A, STATUS, "taken")
        taken = fact(memory, "main")
        assert (taken[STATUS], taken["superseded_by"]) == ("superseded", None)
        memory.supersede("main", A, "fact_other", "other")
        assert fact(memory, "main")["superseded_by"] == "fact_other"

    def test_a_merge_brings_a_fact_whose_successor_was_removed(self, memory: Memory) -> None:
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="a")
        memory.supersede("side", A, NEW, "new")
        memory.remove("side", NEW)
        memory.merge("side", "main")
        came = fact(memory, "main")
        assert (came[STATUS], came["superseded_by"]) == ("superseded", None)

    def test_a_new_fact_that_the_target_has_stays_as_it_is_there(self, memory: Memory) -> None:
        superseding(memory, "side", NEW)
        memory.decide("main", NEW, "*", "taken")
        memory.update_fact("main", NEW, category="ours")
        memory.decide("main", A, STATUS, "taken")
        assert fact(memory, "main")["superseded_by"] == NEW
        assert memory.state("main")["facts"][NEW]["category"] == "ours"

    def test_a_fact_is_superseded_anew_once_its_successor_was_removed(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        memory.supersede("main", A, NEW, "new")
        again = lambda: memory.supersede("main", A, "fact_other", "other")  # noqa: E731 - one line that is called twice
        assert code_of(again) == "refused"
        memory.remove("main", NEW)
        again()
        assert fact(memory, "main")["superseded_by"] == "fact_other"
