"""The rate of a token: how long a refused caller is told to wait."""

import pytest

from day1.errors import TooManyRequests
from day1.interfaces.counting import LocalCounters
from day1.interfaces.http.middleware import Buckets


@pytest.mark.parametrize("elapsed_s", [0.0, 0.0049, 0.004999])
def test_a_refused_caller_may_ask_again_after_the_wait_that_it_is_told(
    monkeypatch: pytest.MonkeyPatch, elapsed_s: float
) -> None:
    now = 1_000.0
    monkeypatch.setattr("day1.interfaces.http.middleware.time.monotonic", lambda: now)
    buckets = Buckets(200.0, LocalCounters())
    for _ in range(200):
        buckets.take("token")
    now += elapsed_s
    with pytest.raises(TooManyRequests) as refused:
        buckets.take("token")
    wait_s = refused.value.details["retry_after"]
    assert isinstance(wait_s, float)
    assert 0 < wait_s <= 0.006 - elapsed_s
    now += wait_s + 1e-6  # a sum of fractions may be this much too small
    buckets.take("token")
