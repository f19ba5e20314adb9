"""Which memories are rated, and by whom."""

import pytest

from day1.errors import Day1Error, InvalidRequest, NotFound, Refused
from day1.model.lessons.rating import Rating
from day1.services.lessons.judging import JudgeRequest, Opinion, judge_memory
from day1.services.rows.recording import NewFact, record
from tests.unit.services.conftest import ADA, Bench


def by_length(query: str, text: str) -> Opinion:
    """Rate a text by whether it is as long as the query."""
    return Opinion(float(len(query) == len(text)), "length", degraded=True)


def fact(bench: Bench, sensitivity: str | None = None) -> str:
    new = NewFact("milk is cold", sensitivity=sensitivity)
    return str(record(bench.repo, bench.branch(), new, ADA).row["id"])


@pytest.mark.parametrize(
    ("sensitivity", "query", "score", "outcome"),
    [
        (None, None, 0.5, Opinion(0.5)),
        (None, "milk is warm", 0.5, Opinion(0.5)),
        (None, "milk is warm", 0.0, Opinion(0.0)),
        (None, "milk is warm", None, Opinion(1.0, "length", degraded=True)),
        (None, None, None, InvalidRequest),
        ("secret", "milk is warm", 0.5, Opinion(0.5)),
        ("secret", "milk is warm", None, Refused),
    ],
)
def test_a_memory_is_rated_by_its_score_else_by_a_judge_that_sees_no_secret(
    bench: Bench,
    sensitivity: str | None,
    query: str | None,
    score: float | None,
    outcome: Opinion | type[Day1Error],
) -> None:
    row_id = fact(bench, sensitivity)
    request = JudgeRequest(row_id, row_id, query, score)
    if isinstance(outcome, type):
        with pytest.raises(outcome):
            judge_memory(bench.repo, bench.branch(), request, by_length)
        assert bench.repo.ledger.records(Rating) == []
    else:
        judged = judge_memory(bench.repo, bench.branch(), request, by_length)
        assert (judged.opinion, judged.votes) == (outcome, 1)


def test_each_agent_has_one_vote_on_a_memory(bench: Bench) -> None:
    row_id = fact(bench)
    votes = []
    for agent in ("ada", "bo", "ada"):
        request = JudgeRequest(row_id, row_id, None, 0.5, agent)
        votes.append(judge_memory(bench.repo, bench.branch(), request, by_length).votes)
    assert votes == [1, 2, 2]


def test_a_memory_of_another_branch_is_not_found(bench: Bench) -> None:
    bench.fork("side")
    row_id = fact(bench)
    request = JudgeRequest(row_id, "named so", None, 0.5)
    with pytest.raises(NotFound, match="named so is not a fact on branch 'side'"):
        judge_memory(bench.repo, bench.branch("side"), request, by_length)
