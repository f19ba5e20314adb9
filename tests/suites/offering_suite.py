"""Which withheld values every memory must offer, and on which branch."""

from tests.suites.memory import Memory
from tests.suites.starting_states import (
    A,
    B,
    conflicting,
    fact,
    forked,
    listed,
)


class OfferingSuite:
    def test_an_item_held_by_a_refresh_stays_on_the_branch_that_was_refreshed(
        self, memory: Memory
    ) -> None:
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

    def test_what_a_refreshed_branch_kept_is_offered_where_it_is_merged(
        self, memory: Memory
    ) -> None:
        """The merge base moves past it, so a decision on the branch would come too late."""
        forked(memory)
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        memory.merge("main", "side")
        assert memory.merge("side", "main").rejected == 1
        assert [item.theirs for item in memory.held("main")] == [{"category": "theirs"}]
        memory.decide("side", A, "category", "dismissed")
        memory.merge("side", "main")
        assert [item.theirs for item in memory.held("main")] == [{"category": "theirs"}]
        assert memory.merge("side", "main").at is None

    def test_each_branch_offers_what_it_kept_of_one_commit(self, memory: Memory) -> None:
        """Items of one cell and one source commit have one id, on whichever branch."""
        forked(memory)
        memory.fork("other", "main")
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        memory.update_fact("other", A, category="others")
        for branch in ("side", "other"):
            memory.merge("main", branch)
        for branch in ("side", "other"):
            memory.merge(branch, "main")
        offered = [item.theirs for item in memory.held("main")]
        assert offered == [{"category": "theirs"}, {"category": "others"}]

    def test_two_branches_offer_one_value_until_one_has_another(self, memory: Memory) -> None:
        forked(memory)
        memory.fork("other", "main")
        memory.update_fact("main", A, category="ours")
        for branch in ("side", "other"):
            memory.update_fact(branch, A, category="theirs")
            memory.merge(branch, "main")
        assert listed(memory, "main") == [(A, "category")]
        memory.update_fact("side", A, category="newer")
        offered = [item.theirs for item in memory.held("main")]
        assert offered == [{"category": "newer"}, {"category": "theirs"}]

    def test_an_item_that_was_restored_away_offers_nothing(self, memory: Memory) -> None:
        forked(memory, category="base")
        memory.update_fact("side", A, category="theirs")
        at = memory.update_fact("main", A, category="ours").at
        memory.merge("side", "main")
        memory.merge("main", "side")
        memory.restore_branch("main", at)
        assert memory.held("main") == []
        memory.merge("side", "main")
        assert [item.theirs for item in memory.held("main")] == [{"category": "theirs"}]

    def test_a_sibling_learns_what_is_held(self, memory: Memory) -> None:
        forked(memory, category="base")
        memory.fork("sibling", "main")
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        memory.merge("side", "main")
        memory.merge("main", "sibling")
        assert fact(memory, "sibling")["category"] == "base"
        offered = [item.theirs for item in memory.held("sibling")]
        assert offered == [{"category": "theirs"}, {"category": "ours"}]
        memory.decide("sibling", A, "category", "edited", {"category": "third"})
        assert fact(memory, "sibling")["category"] == "third"
        assert listed(memory, "main") == [(A, "category")]

    def test_a_held_item_offers_what_the_source_has_now(self, memory: Memory) -> None:
        conflicting(memory)
        memory.update_fact("side", A, category="newer")
        assert [item.theirs for item in memory.held("main")] == [{"category": "newer"}]
        memory.update_fact("side", A, category="ours")
        assert memory.held("main") == []
        memory.update_fact("side", A, category="theirs")
        assert listed(memory, "main") == [(A, "category")]

    def test_a_new_value_of_a_held_cell_is_held_too(self, memory: Memory) -> None:
        conflicting(memory)
        memory.update_fact("side", A, category="newer")
        memory.merge("side", "main")
        assert fact(memory, "main")["category"] == "ours"
        assert listed(memory, "main") == [(A, "category")]

    def test_a_cell_that_the_source_never_changed_is_not_offered(self, memory: Memory) -> None:
        """A2: beside the expected item stood a second one that offered the oldest value."""
        memory.add_fact("main", A, fact_text="a", category="oldest")
        memory.fork("old", "main")
        memory.fork("side", "main")
        memory.update_fact("main", A, category="ours")
        memory.update_fact("side", A, category="theirs")
        memory.merge("side", "main")
        memory.update_fact("old", A, confidence=0.5)
        memory.merge("old", "main")
        assert [item.theirs for item in memory.held("main")] == [{"category": "theirs"}]
        assert fact(memory, "main")["confidence"] == 0.5

    def test_a_value_that_two_merges_bring_is_offered_once(self, memory: Memory) -> None:
        """A2: a branch changed a held cell to and fro, and each merge withheld it anew."""
        conflicting(memory)
        for category in ("newer", "theirs", "newest"):
            memory.update_fact("side", A, category=category)
            memory.merge("side", "main")
        assert [item.theirs for item in memory.held("main")] == [{"category": "newest"}]
        memory.decide("main", A, "category", "dismissed")
        assert memory.held("main") == []
