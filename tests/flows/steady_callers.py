"""Callers of one server who never pause, and what the server needs meanwhile."""

import itertools
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.flows.many_agents import Calls
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import environment

CALLERS = 6
LIMIT_S = 50.0
"""No call takes longer: a writer waits 10 s for others and 40 s for a compaction."""
FACTS = 20
"""What a caller writes before it merges."""
MERGES_A_BRANCH = 3
"""A caller goes on, on a new branch, after so many merges."""
LOOK_S = 5.0
EARLY = 1 / 12
"""The part of the time after which memory is taken as full: five minutes of an hour."""
MIB = 1 << 20
_THINGS = ("gateway", "invoice", "deployment", "parser", "calendar", "sensor", "ledger", "queue")
_DEEDS = ("retries", "rounds", "rejects", "archives", "compresses", "signs", "splits", "delays")


@dataclass
class Needs:
    """What the server needed, seen every few seconds."""

    pid: int
    folder: Path
    memory: list[float] = field(default_factory=list)
    """MiB that only this process has: pages of files that it maps are not among them."""
    file: float = 0.0
    """The most that memory.db had, MiB."""
    open_files: int = 0

    def look(self) -> None:
        text = Path(f"/proc/{self.pid}/smaps_rollup").read_text(encoding="ascii")
        (line,) = [line for line in text.splitlines() if line.startswith("Private_Dirty:")]
        self.memory.append(int(line.split()[1]) / 1024)
        self.file = max(self.file, file_size(self.folder))
        self.open_files = max(
            self.open_files, sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir())
        )


def file_size(folder: Path) -> float:
    """MiB of the store's file."""
    return (folder / "memory.db").stat().st_size / MIB


def call_without_a_pause(
    folder: Path, minutes: float, report: Callable[[str], None] = lambda _: None
) -> str:
    """Serve a folder with the model to six callers; says how it was.

    `report` hears of the server's needs once a minute.
    """
    calls = Calls()
    server = HttpServer(
        folder,
        DAY1_EMBEDDER__KIND="minilm",
        DAY1_SEARCH__CHROMA="true",
        DAY1_HTTP__RATE="0",
    )
    server.command = [sys.executable]
    with server:
        needs = Needs(server.process.pid, folder)
        over = threading.Event()
        with ThreadPoolExecutor(CALLERS) as threads:
            lines = [
                threads.submit(_Caller(server.address, number, calls).work, over)
                for number in range(CALLERS)
            ]
            try:
                _watch(needs, minutes * 60, lambda: any(line.done() for line in lines), report)
            finally:
                over.set()
            for line in lines:
                line.result()
        assert server.process.poll() is None
    assert server.process.returncode == 0
    return _told(calls, needs, _compacted(folder))


def _watch(
    needs: Needs, seconds: float, failed: Callable[[], bool], report: Callable[[str], None]
) -> None:
    """Look at the server until the time is over or a caller failed."""
    begun = time.monotonic()
    minute = 0
    while (passed := time.monotonic() - begun) < seconds and not failed():
        time.sleep(LOOK_S)
        needs.look()
        if passed // 60 > minute:
            minute = int(passed // 60)
            report(
                f"minute {minute}: {needs.memory[-1]:.0f} MiB private, memory.db "
                f"{file_size(needs.folder):.0f} MiB, at most {needs.open_files} open files"
            )


class _Caller:
    """One caller, who writes on a branch, looks at it and merges it, without an end."""

    def __init__(self, address: str, number: int, calls: Calls) -> None:
        self._name = f"caller-{number}"
        self._chance = random.Random(number)
        self._calls = calls
        self._http = httpx2.Client(base_url=address, timeout=2 * LIMIT_S, verify=False)

    def work(self, over: threading.Event) -> None:
        """Make round after round; each ends with a merge."""
        with self._http:
            for number in itertools.takewhile(lambda _: not over.is_set(), itertools.count()):
                branch = f"{self._name}/{number // MERGES_A_BRANCH}"
                if number % MERGES_A_BRANCH == 0:
                    self._call("memory_branch_create", branch_name=branch)
                self._round(branch)

    def _round(self, branch: str) -> None:
        both = {"source_branch": branch, "target_branch": "main", "strategy": "auto"}
        for number in range(FACTS):
            self._call("memory_write_fact", fact_text=self._fact(), branch=branch)
            if number % 2 == 0:
                self._call("memory_search", query=self._question(), branch=branch)
            if number % 3 == 0:
                self._call("memory_timeline", branch=branch)
            if number % 10 == 0:
                self._call("memory_merge_preview", **both)
        self._call("memory_branch_merge", **both)

    def _fact(self) -> str:
        number = self._chance.randrange(10**9)
        return f"{self._name} saw that the {self._question()} when {number} items wait."

    def _question(self) -> str:
        return f"{self._chance.choice(_THINGS)} {self._chance.choice(_DEEDS)}"

    def _call(self, tool: str, **arguments: Any) -> None:
        begun = time.monotonic()
        answer = self._http.post(f"/api/v1/{tool}", json=arguments)
        seconds = time.monotonic() - begun
        assert answer.status_code == 200, (tool, arguments, answer.status_code, answer.text[:500])
        self._calls.note(tool, seconds, None)
        assert seconds < LIMIT_S, f"{tool} took {seconds:.1f} s"


def _compacted(folder: Path) -> float:
    """MiB of the store's file after `day1 gc`."""
    command = [sys.executable, "-m", "day1", "gc"]
    subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, **environment(folder)}
    )
    return file_size(folder)


def _told(calls: Calls, needs: Needs, compact: float) -> str:
    """What was done and needed, in one line."""
    early = needs.memory[int(len(needs.memory) * EARLY)]
    slowest, tool = calls.slowest
    count = sum(len(times) for times in calls.seconds.values())
    return (
        f"{count} calls, no error, slowest: {tool} {slowest:.1f} s; private memory "
        f"{early:.0f} MiB early, {needs.memory[-1]:.0f} at the end, {max(needs.memory):.0f} at "
        f"most; {needs.open_files} open files at most; memory.db {needs.file:.0f} MiB at most, "
        f"{compact:.0f} after gc"
    )
