"""Patterns of tools: outcomes of runs, counts and the Wilson bound, by tables."""

from math import sqrt

import pytest

from day1.model.skills.mined import (
    Counts,
    Mined,
    Run,
    Spoken,
    ToolUse,
    added,
    count_runs,
    outcome_of,
    runs_in,
    uses_of,
    wilson,
)

FIX = ("grep", "edit", "test")


def use(name: str, good: bool | None = True, turn: int = 1, at: int = 5) -> ToolUse:
    return ToolUse(name, good, turn, at, "ada")


def fix(turn: int = 1, last: bool | None = True, first: bool | None = None) -> list[ToolUse]:
    return [use("grep", first, turn), use("edit", None, turn), use("test", last, turn)]


@pytest.mark.parametrize(
    ("good", "known", "bound"),
    [
        (7, 8, 0.529112),
        (1, 1, 0.206549),
        (2, 2, 0.342380),
        (1, 2, 0.094531),
        (50, 100, 0.403832),
        (9, 10, 0.595850),
    ],
)
def test_the_lower_wilson_bound(good: int, known: int, bound: float) -> None:
    assert wilson(good, known) == pytest.approx(bound, abs=5e-7)


@pytest.mark.parametrize("known", [1, 2, 10, 1_000])
def test_the_bound_solves_its_equation(known: int) -> None:
    """Of a share p the observed one is 1.96 standard deviations away: the bound is such a p."""
    for good in range(1, known + 1, max(1, known // 7)):
        p = wilson(good, known)
        assert good / known - p == pytest.approx(1.959963984540054 * sqrt(p * (1 - p) / known))


def test_no_trial_and_no_success_give_no_confidence() -> None:
    assert wilson(0, 0) == 0
    assert wilson(0, 5) == 0
    assert Counts().rate == 0


@pytest.mark.parametrize(
    ("status", "good"),
    [
        *((word, True) for word in ("ok", "OK", " success ", "passed", "completed", "done")),
        *((word, False) for word in ("error", "Failed", "failure", "fail", "errored", "error: 3")),
        *((word, None) for word in ("running", "", None, 0, "not ok", "failsafe", "erroneous")),
    ],
)
def test_the_outcome_of_a_status(status: object, good: bool | None) -> None:
    assert outcome_of(status) is good


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ('[{"name":"grep","args":{}}]', ["grep"]),
        ('[{"name":"a"},{"name":"b"}]', ["a", "b"]),
        ('[{"name":3},{"args":{}},"x",{"name":"b"}]', ["b"]),
        ('{"name":"a"}', []),
        ("[redacted]", []),
        ("3", []),
        (None, []),
    ],
)
def test_the_calls_of_a_message(calls: str | None, names: list[str]) -> None:
    assert [u.name for u in uses_of([Spoken("tool", calls, 1)])] == names


def test_a_call_that_is_announced_and_reported_counts_once() -> None:
    both = [
        Spoken("user", None, 1),
        Spoken("assistant", '[{"name":"grep"},{"name":"edit"},{"name":"grep"}]', 2, "ada"),
        Spoken("tool", '[{"name":"grep","status":"failed"}]', 3, "bo"),
        Spoken("tool", '[{"name":"grep","status":"ok"}]', 4),
        Spoken("tool", '[{"name":"test","status":"ok"}]', 5),
        Spoken("tool", '[{"name":"grep","status":"ok"}]', 6),
    ]
    assert [(u.name, u.good, u.at) for u in uses_of(both)] == [
        ("grep", False, 3),
        ("edit", None, 2),
        ("grep", True, 4),
        ("test", True, 5),
        ("grep", True, 6),
    ]
    assert [u.agent for u in uses_of(both)][:2] == ["bo", "ada"]


def test_one_message_may_report_several_calls() -> None:
    both = '[{"name":"grep","status":"ok"},{"name":"edit","status":"ok"}]'
    said = [Spoken("assistant", both, 1), Spoken("tool", both, 2)]
    assert [(u.name, u.at) for u in uses_of(said)] == [("grep", 2), ("edit", 2)]


def test_a_report_of_a_later_turn_is_a_call_of_its_own() -> None:
    said = '[{"name":"grep"}]'
    messages = [Spoken(role, None if role == "user" else said, 1) for role in ("user", "assistant", "user", "tool")]  # fmt: skip
    assert [u.turn for u in uses_of(messages)] == [1, 2]


@pytest.mark.parametrize(
    ("uses", "outcomes"),
    [
        (fix(), [True]),
        (fix(last=None), [None]),
        (fix(last=False), [False]),
        (fix(first=False), [False]),
        ([*fix(1), *fix(2)], [False, True]),
        ([*fix(1, None), *fix(2, None)], [False, None]),
        ([*fix(1), *fix(3)], [True, True]),
        ([*fix(1), *fix(1)], [True, True]),
        ([*fix(1), *fix(1), *fix(2)], [False, False, True]),
        ([*fix(1), use("grep", turn=2), use("edit", turn=2)], [True]),
        ([use("grep"), *fix()], [True]),
        ([], []),
    ],
)
def test_the_outcomes_of_runs(uses: list[ToolUse], outcomes: list[bool | None]) -> None:
    assert [run.good for run in runs_in(FIX, uses)] == outcomes


@pytest.mark.parametrize(
    ("turns", "outcomes"),
    [
        ((1, 1, 2, 3, 3, 3), [False, True]),
        ((1, 2, 2, 3, 3, 3), [False, True]),
        ((1, 2, 3, 3, 3, 3), [True, True]),
        ((1, 1, 1, 2, 3, 3), [False, True]),
        ((1, 1, 1, 3, 3, 3), [True, True]),
    ],
)
def test_a_run_is_answered_by_one_that_begins_in_the_turn_after_its_end(
    turns: tuple[int, ...], outcomes: list[bool]
) -> None:
    uses = [use(name, turn=turn) for name, turn in zip(FIX * 2, turns, strict=True)]
    assert [run.good for run in runs_in(FIX, uses)] == outcomes


def test_runs_share_no_step_and_have_the_time_and_agent_of_their_last() -> None:
    uses = [use("a", at=number) for number in range(5)]
    assert runs_in(("a", "a"), uses) == [Run(True, 1, "ada"), Run(True, 3, "ada")]
    agents = ("bo", "cy", "dee")
    long = [
        ToolUse(*each) for each in zip(FIX, (None,) * 3, (1,) * 3, range(3), agents, strict=True)
    ]
    assert runs_in(FIX, long) == [Run(None, 2, "dee")]
    assert runs_in(FIX, [use("look"), use("look"), use("look"), *long]) == [Run(None, 2, "dee")]


def test_runs_are_counted_by_outcome() -> None:
    runs = [Run(True, 3, "bo"), Run(False, 9, "ada"), Run(None, 4, None), Run(True, 1, "bo")]
    assert count_runs(runs) == Counts(4, 3, 2, 9, ("ada", "bo"))
    assert count_runs([]) == Counts(0, 0, 0, None, ())


@pytest.mark.parametrize(
    ("counts", "valid"),
    [
        (Counts(8, 8, 7), True),
        (Counts(2, 2, 2), True),
        (Counts(1, 1, 1), False),  # its bound is 0.21, so only the number of runs refuses it
        (Counts(2, 1, 1), True),
        (Counts(9, 0, 0), False),
        (Counts(100, 100, 55), True),
        (Counts(100, 100, 54), False),
        (Counts(7, 7, 4), True),  # 0.57, and a bound of 0.25
        (Counts(5, 5, 3), True),
        (Counts(3, 3, 2), True),  # 0.2077
        (Counts(2, 2, 1), False),
    ],
)
def test_which_pattern_is_valid(counts: Counts, valid: bool) -> None:
    assert counts.valid is valid


def test_the_confidence_decides_where_the_rate_suffices() -> None:
    counts = Counts(11, 11, 6)  # 0.5454 is too few
    assert (counts.rate < 0.55, counts.valid) == (True, False)
    assert all(Counts(n, n, g).confidence >= 0.2 for n in range(2, 9) for g in range(n) if g / n >= 0.6)  # fmt: skip


def test_recurring_runs_come_by_the_threads_that_have_them() -> None:
    threads = {
        "t1": tuple(fix()),
        "t2": tuple(fix()),
        "t3": (use("grep"), use("edit")),
        "t4": (use("look"), use("tell")),
    }
    mined = Mined(threads)
    assert mined.recurring(9) == [("grep", "edit"), FIX]
    assert mined.recurring(1) == [("grep", "edit")]
    assert [run.good for run in mined.runs(FIX)] == [True, True]
    assert mined.runs(FIX) is mined.runs(FIX)


def test_of_as_many_threads_the_longer_run_comes_first_and_then_the_alphabet() -> None:
    calls = {"t1": "pq-xyz-mn", "t2": "pq+xyz+mn"}
    mined = Mined({name: tuple(use(each) for each in text) for name, text in calls.items()})
    assert mined.recurring(9) == [("x", "y", "z"), ("m", "n"), ("p", "q")]


def test_counts_are_kept_and_added() -> None:
    calls = Mined({"t": (ToolUse("a", True, 1, 5, "ada"), ToolUse("a", False, 4, 9, "bo"))})
    assert calls.counts(("a",)) == Counts(2, 2, 1, 9, ("ada", "bo"))
    assert calls.counts(("a",)) is calls.counts(("a",))
    later = calls.counts(("a",), 6)
    assert later == Counts(1, 1, 0, 9, ("bo",))
    assert calls.counts(("a",), 10) == Counts()
    old = Mined({"t": (ToolUse("a", True, 1, -5, "ada"),)})  # before 1970
    assert old.counts(("a",)).runs == 1
    assert old.counts(("a",), 0).runs == 0
    assert added([later]) is later
    assert added([]) == Counts()
    both = added([later, Counts(3, 2, 2, 20, ("ada", "bo")), Counts()])
    assert both == Counts(4, 3, 2, 20, ("ada", "bo"))
