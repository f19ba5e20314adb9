"""What every memory must do when an action is undone, and what it knows of a row's past."""

import pytest

from tests.suites.memory import Choice, Memory, Refusal
from tests.suites.starting_states import (
    NEW,
    STATUS,
    TEXT,
    VERDICT,
    A,
    B,
    code_of,
    fact,
    forked,
    listed,
)


class RevertingSuite:
    def test_a_merge_is_undone_and_the_undoing_too(self, memory: Memory) -> None:
        forked(memory, category="base")
        memory.update_fact("side", A, category="theirs")
        memory.add_fact("side", B, fact_text="b")
        memory.update_fact("main", A, confidence=0.5)
        before = memory.state("main")
        merged = memory.merge("side", "main").at
        after = memory.state("main")
        done = memory.revert("main", merged or 0)
        assert (memory.state("main"), done.kept) == (before, ())
        assert memory.merge("side", "main").at is None, "the merge base is past it"
        memory.revert("main", done.at or 0)
        assert memory.state("main") == after

    def test_an_addition_is_undone(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        memory.commit_pending("main")
        added = memory.add_fact("main", B, fact_text="b").at
        memory.commit_pending("main")
        done = memory.revert("main", added)
        assert set(memory.state("main")["facts"]) == {A}
        memory.revert("main", done.at or 0)
        assert fact(memory, "main", B)["fact_text"] == "b"

    def test_a_removal_is_undone(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        memory.revert("main", memory.remove("main", A).at)
        assert fact(memory, "main")["fact_text"] == "a"

    def test_what_changed_since_stays_and_is_said(self, memory: Memory) -> None:
        forked(memory, category="base")
        changed = memory.update_fact("main", A, category="wrong", confidence=0.5).at
        memory.update_fact("main", A, category="right")
        done = memory.revert("main", changed)
        assert done.kept == ((A, "category"),)
        assert (fact(memory, "main")["category"], fact(memory, "main")["confidence"]) == (
            "right",
            1.0,
        )
        assert memory.held("main") == []

    def test_a_row_changed_since_it_was_added_stays(self, memory: Memory) -> None:
        added = memory.add_fact("main", A, fact_text="a").at
        memory.update_fact("main", A, category="new")
        state = memory.state("main")
        done = memory.revert("main", added)
        assert (done.at, done.kept, memory.state("main")) == (None, ((A, "*"),), state)
        done = memory.revert("main", added, [Choice(A, "theirs")])
        assert memory.state("main")["facts"] == {}
        memory.revert("main", done.at or 0)
        assert memory.state("main") == state

    @pytest.mark.parametrize(("take", "category"), [("theirs", "base"), ("ours", "right")])
    def test_choices_decide_where_a_revert_conflicts(
        self, memory: Memory, take: str, category: str
    ) -> None:
        forked(memory, category="base")
        changed = memory.update_fact("main", A, category="wrong").at
        memory.update_fact("main", A, category="right")
        memory.revert("main", changed, [Choice(A, take, "category")])
        assert fact(memory, "main")["category"] == category

    def test_a_supersession_is_undone_as_one(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        done = memory.revert("main", memory.supersede("main", A, NEW, "new").at)
        assert set(memory.state("main")["facts"]) == {A}
        assert (fact(memory, "main")[STATUS], fact(memory, "main")["superseded_by"]) == (
            "active",
            None,
        )
        memory.revert("main", done.at or 0)
        assert fact(memory, "main")["superseded_by"] == NEW
        assert NEW in memory.state("main")["facts"]

    def test_a_fact_stays_superseded_by_one_that_stays(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        superseded = memory.supersede("main", A, NEW, "new").at
        memory.update_fact("main", NEW, category="since")
        done = memory.revert("main", superseded)
        assert done.kept == ((A, STATUS), (NEW, "*"))
        assert fact(memory, "main")["superseded_by"] == NEW

    def test_a_fact_that_others_are_superseded_by_stays(self, memory: Memory) -> None:
        forked(memory)
        memory.supersede("side", A, NEW, "new")
        picked = memory.merge("side", "main", "cherry_pick", items=[NEW]).at or 0
        memory.merge("side", "main", "cherry_pick", items=[A])
        assert memory.revert("main", picked).kept == ((NEW, "*"),)
        assert fact(memory, "main")["superseded_by"] == NEW
        memory.revert("main", picked, [Choice(NEW, "theirs")])
        assert set(memory.state("main")["facts"]) == {A}
        assert (fact(memory, "main")[STATUS], fact(memory, "main")["valid_until"]) == (
            "active",
            None,
        )

    def test_a_fact_does_not_come_back_superseded_by_one_that_is_gone(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        memory.supersede("main", A, NEW, "new")
        removed = memory.remove("main", A).at
        memory.remove("main", NEW)
        memory.revert("main", removed)
        assert (fact(memory, "main")[STATUS], fact(memory, "main")["superseded_by"]) == (
            "active",
            None,
        )
        assert fact(memory, "main")["valid_until"] is None, "nothing ended it any more"

    def test_a_verdict_on_the_undone_text_lapses(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="a")
        changed = memory.update_fact("main", A, fact_text="b").at
        memory.judge("main", A, "verified", "[1]")
        memory.revert("main", changed)
        assert (fact(memory, "main")[TEXT], fact(memory, "main")[VERDICT]) == ("a", "unverified")

    def test_a_revert_leaves_held_items_undecided(self, memory: Memory) -> None:
        forked(memory, category="base")
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs", confidence=0.5)
        merged = memory.merge("side", "main").at
        memory.revert("main", merged or 0)
        assert fact(memory, "main")["confidence"] == 1.0
        assert listed(memory, "main") == [(A, "category")]
        memory.decide("main", A, "category", "taken")
        assert fact(memory, "main")["category"] == "theirs"

    def test_a_held_cell_is_not_written_unasked(self, memory: Memory) -> None:
        forked(memory, category="base")
        changed = memory.update_fact("main", A, category="ours", confidence=0.5).at
        memory.update_fact("side", A, category="theirs")
        memory.merge("side", "main")
        assert memory.revert("main", changed).kept == ((A, "category"),)
        row = fact(memory, "main")
        assert (row["category"], row["confidence"]) == ("ours", 1.0)
        memory.revert("main", changed, [Choice(A, "theirs", "category")])
        assert fact(memory, "main")["category"] == "base"
        assert listed(memory, "main") == [(A, "category")], "nothing of it is forgotten"

    def test_only_commits_of_the_branch_itself_are_undone(self, memory: Memory) -> None:
        forked(memory)
        memory.clock.tick()
        changed = memory.update_fact("side", A, category="new").at
        memory.clock.tick()
        memory.merge("side", "main")
        assert code_of(lambda: memory.revert("main", changed)) == "not_found"
        assert code_of(lambda: memory.revert("nowhere", changed)) == "unknown_branch"
        unknown = [Choice(B, "theirs")]
        assert code_of(lambda: memory.revert("side", changed, unknown)) == "not_found"

    def test_a_row_has_its_versions_across_merges(self, memory: Memory) -> None:
        forked(memory, category="base")
        memory.update_fact("main", A, category="ours")
        memory.clock.tick()
        memory.update_fact("side", A, confidence=0.5)
        memory.clock.tick()
        memory.add_fact("side", B, fact_text="not of A")
        memory.merge("side", "main")
        memory.clock.tick()
        merged = fact(memory, "main")
        memory.remove("main", A)
        memory.clock.tick()
        rows = [row for _, row in memory.versions("main", A)]
        short = [row and (row["category"], row["confidence"]) for row in rows]
        assert short == [("base", 1.0), ("ours", 1.0), ("base", 0.5), ("ours", 0.5), None]
        assert rows[3] == merged
        assert len(memory.versions("side", A)) == 2, "what came later is not in its past"

    def test_a_pending_row_has_a_version(self, memory: Memory) -> None:
        at = memory.add_fact("main", A, fact_text="a").at
        assert memory.versions("main", A) == [(at, fact(memory, "main"))]
        memory.commit_pending("main")
        assert memory.versions("main", A) == [(at, fact(memory, "main"))]
        with pytest.raises(Refusal):
            memory.versions("main", B)
