"""A time budget ends before the step that would exceed it."""

from day1.services.search.indexing import TimeBudget


def test_no_step_is_begun_that_would_likely_exceed_the_budget():
    now = [100.0]
    enough = TimeBudget(20.0, lambda: now[0])
    now[0] += 8.0
    assert not enough(), "8 of 20, and one more of 8 has room"
    now[0] += 4.0
    assert not enough(), "12 of 20, and the last step took 4"
    now[0] += 5.0
    assert enough(), "17 of 20, and the last step took 5"


def test_a_step_longer_than_the_budget_is_the_only_one():
    now = [0.0]
    enough = TimeBudget(20.0, lambda: now[0])
    now[0] = 300.0
    assert enough()
