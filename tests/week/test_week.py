"""What the sessions of a written week are told of what they need, and what that costs."""

from pathlib import Path

import pytest

from day1.settings import Settings
from tests.week.replayed import CHARS, Told, lines, replay, texts

LEAST = 0.78
"""Of the needed facts; 0.81 of them were told when the thresholds were chosen."""


def test_the_week_needs_only_what_was_written_before() -> None:
    known = {fact["id"] for fact in lines("earlier.jsonl")}
    for session in lines("sessions.jsonl"):
        needed = {name for prompt in session["prompts"] for name in prompt["needs"]}
        assert needed <= known, session["session"]
        known |= {fact["id"] for fact in session["facts"]}
        known -= {fact["supersedes"] for fact in session["facts"] if "supersedes" in fact}
    assert len(texts()) == 30 + sum(len(one["facts"]) for one in lines("sessions.jsonl"))


def test_a_session_is_told_what_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    week = replay(tmp_path / "store")
    needed = sum(len(told.needed) for told in week)
    missed = sum(len(told.missed) for told in week)
    prime = sum(len(told.in_prime & told.needed.keys()) for told in week)
    share = 1 - missed / needed
    with capsys.disabled():
        print(f"\nthe week: {needed - missed} of {needed} needed facts were told ({share:.2f}),")
        print(f"{prime} of them in a prime; {_mean(week, 'prime_tokens')} tokens for the prime and")
        print(f"{_mean(week, 'recall_tokens')} for hints a session, in {_sum(week, 'hints')} hints")
        print(f"to {_sum(week, 'prompts')} prompts, {_sum(week, 'idle_hints')} of them to none")
    assert share >= LEAST
    assert all(told.prime_tokens < CHARS / 3 for told in week)
    assert _sum(week, "idle_hints") <= 2


def _sum(week: list[Told], name: str) -> int:
    return sum(getattr(told, name) for told in week)


def _mean(week: list[Told], name: str) -> int:
    return round(_sum(week, name) / len(week))
