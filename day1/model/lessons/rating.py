"""Ratings: how useful an agent found a memory for a query. They are not memory."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from day1.model.search.usefulness import RowVotes, Vote, asked_words
from day1.model.values.ids import short_hash
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class Rating:
    """The vote of one agent on one row for one query; the newest counts."""

    KIND: ClassVar = RecordKind("ratings", ("row_id",), branch_ids=("branch_id",))

    id: str
    row_id: str
    agent_id: str | None
    query: str | None
    score: float
    """From 0 (no use) to 1 (it solved the problem)."""
    created_at: int
    branch_id: str | None = None
    """The branch on which the vote was given; None for a vote kept by an earlier day1."""

    @property
    def voter(self) -> str:
        """The key of a vote: row, agent, words of the query; the newest vote of a key counts."""
        agent_parts = [] if self.agent_id is None else [f"={self.agent_id}"]
        query_words = "" if self.query is None else " ".join(sorted(asked_words(self.query)))
        return short_hash("rating", self.row_id, query_words, *agent_parts)

    def on(self, branch_id: str) -> "Rating":
        """Return the vote as one of a branch: it replaces no vote of another branch.

        So whoever sees some branches finds every vote that was given there.
        """
        return replace(self, id=short_hash(self.voter, branch_id), branch_id=branch_id)


def rating_of(
    row_id: str, agent_id: str | None, query: str | None, score: float, now: int
) -> Rating:
    """Build a vote; a later one of the same agent, row and query replaces it.

    Queries of the same words are the same.
    """
    vote = Rating("", row_id, agent_id, query, score, now)
    return replace(vote, id=vote.voter)


Votes = Mapping[str, RowVotes]
"""Votes by row, for rows that have some."""
_LOOK_BACK_US: Final = 600_000_000


@dataclass(frozen=True, slots=True)
class KnownVotes:
    """The votes of a ledger up to an instant."""

    votes: Votes = field(default_factory=dict)
    newest: int | None = None

    @property
    def since(self) -> int:
        """The instant from which ratings may be new: another node's clock may be behind."""
        return -1 if self.newest is None else self.newest - _LOOK_BACK_US

    def plus(self, fresh: Sequence[Rating]) -> "KnownVotes":
        """Return these votes with new ratings added, some of which may be known already."""
        if not fresh:
            return self
        new_votes_by_row: dict[str, dict[str, Vote]] = {}
        for rating in fresh:
            query_words = frozenset[str]() if rating.query is None else asked_words(rating.query)
            vote = Vote(
                rating.score, query_words, rating.voter, rating.created_at, rating.branch_id
            )
            new_votes_by_row.setdefault(rating.row_id, {})[rating.id] = vote
        votes_by_row = dict(self.votes)
        for row_id, row_votes in new_votes_by_row.items():
            known_vote_by_id = votes_by_row[row_id].by_rating if row_id in votes_by_row else {}
            votes_by_row[row_id] = RowVotes({**known_vote_by_id, **row_votes})
        return KnownVotes(
            votes_by_row, max(self.newest or 0, *(rating.created_at for rating in fresh))
        )


def given_on(votes: Votes, branches: Container[str | None]) -> Votes:
    """Return the votes that were given on certain branches, by their ids."""
    votes_by_row = {}
    for row_id, row_votes in votes.items():
        branch_votes = {
            rating_id: vote
            for rating_id, vote in row_votes.by_rating.items()
            if vote.branch_id in branches
        }
        if branch_votes:
            votes_by_row[row_id] = (
                row_votes
                if len(branch_votes) == len(row_votes.by_rating)
                else RowVotes(branch_votes)
            )
    return votes_by_row
