"""How long a hook takes from start to end, against a Python that does nothing."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.report import Row, duration
from benchmarks.starting import command_line

_TIMES = 31
_BARE = [sys.executable, "-c", "pass"]
_SAID = {"cwd": "/", "prompt": "Where do swallows sleep?", "last_assistant_message": "In reeds."}


def rows(bench: Bench) -> Iterator[Row]:
    """Medians of starts that alternate, after one that is not counted; each has its own session."""
    folder = bench.copy(bench.sizes.small, "hooked")
    events = ("session-start", "prompt", "turn-end")
    seconds_by_event: dict[str, list[float]] = {name: [] for name in ("bare", *events)}
    for number in range(_TIMES + 1):
        seconds_by_event["bare"].append(_run(bench, folder, _BARE, number))
        for event in events:
            command = [*command_line(), "hook", event, "--client", "claude"]
            seconds_by_event[event].append(_run(bench, folder, command, number))
    medians = {name: statistics.median(times[1:]) for name, times in seconds_by_event.items()}
    for event in events:
        note = f"a Python that does nothing: {medians['bare'] * 1000:.0f} ms"
        yield duration(f"day1 hook {event}", medians[event], 0.06, note)


def _run(bench: Bench, folder: Path, command: list[str], number: int) -> float:
    payload = json.dumps({**_SAID, "session_id": f"session {number}", "prompt_id": str(number)})
    started = time.perf_counter()
    subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin", **bench.environment(folder)},
        input=payload.encode(),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - started
