"""What `scripts/mutmut` draws of mutmut's mutants, and how it counts them."""

from pathlib import Path
from types import ModuleType

import pytest

NAMES = [f"day1.model.merge.plan.x_plan__mutmut_{number}" for number in range(50)]


@pytest.fixture
def score(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "scripts")
    import mutation_score

    return mutation_score


def test_a_seed_draws_the_same_mutants_whatever_their_order(score: ModuleType) -> None:
    sample = score.drawn(NAMES, [], 10, "one")
    assert sample == score.drawn(reversed(NAMES), [], 10, "one")
    assert len(set(sample)) == 10
    assert sample != score.drawn(NAMES, [], 10, "another")


def test_only_mutants_of_a_pattern_are_drawn_and_no_more_than_there_are(score: ModuleType) -> None:
    assert set(score.drawn([*NAMES, "day1.other"], ["*_4?"], 99, "one")) == set(NAMES[40:])


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (1, "killed"),
        (3, "killed"),
        (-24, "killed"),
        (-9, "killed"),
        (0, "survived"),
        (33, "untested"),
        (5, "untested"),
        (None, "unknown"),
        (2, "unknown"),
    ],
)
def test_a_mutant_is_killed_when_its_tests_fail_or_never_end(
    score: ModuleType, code: int | None, verdict: str
) -> None:
    assert score.verdict(code) == verdict


def test_what_no_test_runs_counts_against_the_score(
    score: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = dict.fromkeys(NAMES[:5], 1) | dict.fromkeys(NAMES[5:7], 0) | {NAMES[7]: 33}
    assert score.report(NAMES[:8], codes) == 62.5
    assert f"untested  {NAMES[7]}" in capsys.readouterr().out
