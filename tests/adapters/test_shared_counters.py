"""Counters in a file: all processes see one value, and a killed one leaves no lock."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from day1.adapters import shared_counters
from day1.adapters.shared_counters import SharedCounters, SharedMoment
from day1.errors import TooManyRequests
from day1.interfaces.http.middleware import Buckets
from day1.interfaces.web.signing import Tries
from day1.ports.counters import Numbers
from day1.services.upkeep.embedding import LastCall
from tests.fakes.stepped_clock import SteppedClock
from tests.wires.mcp_session import ROOT

_COUNTING = """
import sys
from pathlib import Path
from day1.adapters.shared_counters import SharedCounters

counters = SharedCounters(Path(sys.argv[1]))
for _ in range(2_000):
    counters.change("one", lambda numbers: (sum(numbers) + 1,))
"""
_HOLDING = """
import sys, time
from pathlib import Path
from day1.adapters.shared_counters import SharedCounters

def hold(numbers):
    print("held", flush=True)
    time.sleep(600)

SharedCounters(Path(sys.argv[1])).change("one", hold)
"""


def run(program: str, file: Path) -> subprocess.Popen[str]:
    """Start a process on the counters of a file."""
    command = [sys.executable, "-c", program, str(file)]
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )


def test_no_change_of_another_process_is_lost(tmp_path: Path) -> None:
    processes = [run(_COUNTING, tmp_path / "counters") for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert SharedCounters(tmp_path / "counters").numbers("one") == (4_000.0,)


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    counters = SharedCounters(tmp_path / "counters")
    counters.change("one", lambda _: (1.0, 2.0))
    holder = run(_HOLDING, tmp_path / "counters")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait(60)
    assert counters.numbers("one") == (1.0, 2.0)


def test_a_rule_that_raises_leaves_the_numbers(tmp_path: Path) -> None:
    counters = SharedCounters(tmp_path / "counters")
    counters.change("one", lambda _: (1.0, 2.0, 3.0, 4.0, 5.0))

    def refuse(_: Numbers) -> Numbers:
        raise TooManyRequests("wait")

    with pytest.raises(TooManyRequests):
        counters.change("one", refuse)
    assert counters.numbers("one") == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert counters.numbers("\ud800 no text") == ()


def test_a_full_table_forgets_the_key_that_was_changed_longest_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_counters, "_GROUPS", 1)
    counters = SharedCounters(tmp_path / "counters")
    keys = [f"key {number}" for number in range(shared_counters._SLOTS_OF_A_KEY + 1)]
    for key in keys[:-1]:
        counters.change(key, lambda _: (7.0,))
    counters.change(keys[0], lambda _: (8.0,))
    counters.change(keys[-1], lambda _: (9.0,))
    assert counters.numbers(keys[0]) == (8.0,)
    assert counters.numbers(keys[-1]) == (9.0,)
    assert [key for key in keys if counters.numbers(key) == ()] == [keys[1]]


def test_a_rate_and_failed_sign_ins_are_those_of_one_process(tmp_path: Path) -> None:
    """Two openings of a file stand for two workers."""
    one, other = (SharedCounters(tmp_path / "counters") for _ in range(2))
    rate = 0.001
    Buckets(rate, one).take("token")
    with pytest.raises(TooManyRequests):
        Buckets(rate, other).take("token")
    Buckets(rate, other).take("another token")
    for number in range(5):
        Tries((one, other)[number % 2]).failed("203.0.113.7", "day1_guess")
    with pytest.raises(TooManyRequests):
        Tries(one).failed("203.0.113.7", "day1_guess")


def test_a_moment_is_the_same_everywhere(tmp_path: Path) -> None:
    one, other = (SharedMoment(SharedCounters(tmp_path / "last"), "call") for _ in range(2))
    assert other.at == 0.0
    one.at = 12.5
    assert other.at == 12.5


def test_a_call_to_one_worker_postpones_the_embedding_of_all(tmp_path: Path) -> None:
    clock, counters = SteppedClock(), SharedCounters(tmp_path / "last")
    called, embedding = (LastCall(clock, (), SharedMoment(counters, "call")) for _ in range(2))
    before = clock.now()
    assert not embedding.is_after(before)
    clock.at += 1
    called.begins()
    assert embedding.is_after(before)
