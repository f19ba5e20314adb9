"""What every ledger does with ratings and desks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from day1.model.lessons.rating import Rating, given_on, rating_of
from day1.model.records.desk import next_desk
from day1.model.search.usefulness import Vote
from day1.ports.ledger import Ledger

WHOSE = ("branch_1", "ada", "plan")


class LedgerContract:
    """Each ledger subclasses this, and gives its own as the fixture `ledger`."""

    def test_a_vote_of_the_same_agent_on_the_same_row_for_the_same_query_replaces_the_first(
        self, ledger: Ledger
    ) -> None:
        first = rating_of("fact_1", "ada", "Why do deploys wait?", 0.2, 1)
        again = rating_of("fact_1", "ada", "deploys wait", 0.9, 2)
        others = [
            rating_of("fact_1", "bo", "deploys wait", 0.5, 3),
            rating_of("fact_2", "ada", "deploys wait", 0.5, 4),
            rating_of("fact_1", "ada", None, 0.1, 5),
            rating_of("fact_1", None, None, 0.1, 6),
        ]
        ledger.put(first)
        ledger.put(again, *others)
        assert ledger.records(Rating) == [again, *others]
        assert ledger.records(Rating, row_id="fact_2") == [others[1]]

    def test_votes_follow_what_is_rated_later_and_anew(self, ledger: Ledger) -> None:
        assert ledger.votes() == {}
        for at, score in ((10, 1 / 3), (20, 0.5), (5, 0.7)):
            rating = rating_of("fact_1", f"agent {at}", "deploys wait", score, at * 1_000_000)
            ledger.put(rating)
            words = frozenset({"deploys", "wait"})
            vote = Vote(score, words, rating.voter, rating.created_at)
            assert ledger.votes()["fact_1"].by_rating[rating.id] == vote
        ledger.put(rating_of("fact_1", "agent 5", "deploys wait", 0.1, 30_000_000))
        votes = ledger.votes()["fact_1"].by_rating.values()
        assert sorted(vote.score for vote in votes) == [0.1, 1 / 3, 0.5]

    def test_of_votes_on_several_branches_the_newest_of_each_voter_counts(
        self, ledger: Ledger
    ) -> None:
        later = rating_of("fact_1", "ada", None, 0.9, 20).on("branch_a")
        earlier = rating_of("fact_1", "ada", None, 0.2, 10).on("branch_b")
        ledger.put(later)
        ledger.put(earlier, rating_of("fact_2", "bo", None, 0.5, 10).on("branch_b"))
        assert len(ledger.records(Rating, row_id="fact_1")) == 2
        votes = ledger.votes()
        assert [vote.score for vote in votes["fact_1"].counted.values()] == [0.9]
        seen = given_on(votes, {"branch_b"})
        assert [vote.score for vote in seen["fact_1"].counted.values()] == [0.2]
        assert given_on(votes, {"branch_a"}).keys() == {"fact_1"}

    def test_a_desk_is_written_only_by_who_saw_it_as_it_is(self, ledger: Ledger) -> None:
        first = next_desk(None, WHOSE, '{"a":1}', 5)
        assert ledger.swap(None, first)
        assert not ledger.swap(None, replace(first, value="{}"))
        second = next_desk(first, WHOSE, '{"a":2}', 6)
        assert ledger.swap(first, second)
        assert not ledger.swap(first, replace(second, value="[]"))
        assert ledger.record(type(first), first.id) == second
        assert (second.revision, second.created_at, second.changed_at) == (2, 5, 6)

    def test_of_writers_at_once_none_is_lost(self, ledger: Ledger) -> None:
        desk = next_desk(None, WHOSE, "0", 1)
        assert ledger.swap(None, desk)

        def count(_: int) -> None:
            while True:
                there = ledger.record(type(desk), desk.id)
                assert there is not None
                if ledger.swap(there, next_desk(there, WHOSE, str(int(there.value) + 1), 2)):
                    return

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(count, range(20)))
        last = ledger.record(type(desk), desk.id)
        assert last is not None
        assert (last.value, last.revision) == ("20", 21)
