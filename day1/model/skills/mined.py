"""Patterns of tools: runs of tool calls that recur in threads, and how often they succeeded. Pure.

A run failed if one of its steps failed, or if the next user message of the thread was answered by
the same run again. It succeeded if its last step did. Of any other run the outcome is unknown, and
no rate counts it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Final

from day1.model.records.task_pattern import recurring_runs
from day1.model.rows.kind import Cell

Steps = tuple[str, ...]
"""The names of tools, in the order in which they were called."""

FEWEST_RUNS: Final = 2
"""The number of runs from which a pattern is valid."""
LEAST_RATE: Final = 0.55
"""The share of successful runs from which a pattern is valid."""
LEAST_CONFIDENCE: Final = 0.2
"""The confidence in that share from which a pattern is valid."""
_Z: Final = 1.959963984540054
"""The quantile of the normal distribution for a confidence of 95 %."""
_GOOD: Final = re.compile(r"ok|okay|success|successful|succeeded|done|completed?|pass|passed")
_BAD: Final = re.compile(r"(?:errors?|errored|fail|failed|failure)\b")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool in a thread."""

    name: str
    good: bool | None
    """Whether it succeeded; None: nobody said."""
    turn: int
    """The number of user messages before it."""
    at: int
    """When it was made. Units: microseconds UTC."""
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Spoken:
    """The parts of a message that mining reads: role, stored tool calls, time and agent."""

    role: str
    tool_calls: Cell
    at: int
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pattern in a thread: its outcome, the time of its last step, and its agent."""

    good: bool | None
    at: int
    agent: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How often a pattern ran, and with which outcome."""

    runs: int = 0
    known: int = 0
    """Runs whose outcome is known."""
    good: int = 0
    last: int | None = None
    """When it ran last; None: never. Units: microseconds UTC."""
    agents: tuple[str, ...] = ()
    """Who ran it, by name."""

    @property
    def rate(self) -> float:
        """The share of successes among the runs whose outcome is known; 0 without one."""
        return self.good / self.known if self.known else 0.0

    @property
    def confidence(self) -> float:
        """The lower bound of the rate with a confidence of 95 %."""
        return wilson(self.good, self.known)

    @property
    def valid(self) -> bool:
        """Whether the pattern may become a skill: runs, rate and confidence reach their minima."""
        return (
            self.runs >= FEWEST_RUNS
            and self.rate >= LEAST_RATE
            and self.confidence >= LEAST_CONFIDENCE
        )


def wilson(good: int, known: int) -> float:
    """Compute the lower Wilson bound (95 %) of the share `good / known`; 0 for no trial."""
    if not known:
        return 0.0
    success_share, z_squared = good / known, _Z * _Z
    margin = _Z * sqrt(
        success_share * (1 - success_share) / known + z_squared / (4 * known * known)
    )
    return max(0.0, (success_share + z_squared / (2 * known) - margin) / (1 + z_squared / known))


def outcome_of(status: object) -> bool | None:
    """Parse the status of a tool call: True for success, False for failure, else None."""
    word = str(status).strip().casefold()
    if _BAD.match(word):
        return False
    return True if _GOOD.fullmatch(word) else None


def uses_of(messages: Iterable[Spoken]) -> tuple[ToolUse, ...]:
    """List the tool calls of a thread's messages, which are given in order.

    An assistant's message announces calls, and a message of the role `tool` reports one. A call
    that is announced and reported in one turn counts once, as it was reported.
    """
    tool_uses: list[ToolUse] = []
    announced_indexes: list[int] = []
    turn_number = 0
    for message in messages:
        if message.role == "user":
            turn_number += 1
            announced_indexes = []
        for call in _calls(message.tool_calls):
            outcome = outcome_of(call.get("status"))
            tool_use = ToolUse(str(call["name"]), outcome, turn_number, message.at, message.agent)
            if message.role == "tool":
                index = next(
                    (
                        announced_index
                        for announced_index in announced_indexes
                        if tool_uses[announced_index].name == tool_use.name
                    ),
                    None,
                )
                if index is not None:
                    announced_indexes.remove(index)
                    tool_uses[index] = tool_use
                    continue
            else:
                announced_indexes.append(len(tool_uses))
            tool_uses.append(tool_use)
    return tuple(tool_uses)


def _calls(cell: Cell) -> list[dict[str, Any]]:
    """Parse the tool calls of a message; what is not a call with a name is left out."""
    if cell is None:
        return []
    try:
        parsed_json = json.loads(str(cell))
    except ValueError:  # another program's
        return []
    listed_calls = parsed_json if isinstance(parsed_json, list) else []
    return [
        call
        for call in listed_calls
        if isinstance(call, dict) and isinstance(call.get("name"), str)
    ]


def runs_in(steps: Steps, uses: Sequence[ToolUse]) -> list[Run]:
    """Find the runs of these steps in one thread; no two of them share a step."""
    tool_names = tuple(use.name for use in uses)
    run_uses: list[Sequence[ToolUse]] = []
    next_free_index = 0
    for start, tool_name in enumerate(tool_names):
        # Most steps are others: this is the cheap test.
        if tool_name == steps[0] and start >= next_free_index:
            end = start + len(steps)
            if tool_names[start:end] == steps:
                run_uses.append(uses[start:end])
                next_free_index = end
    answered_turns = {run[0].turn for run in run_uses}
    return [_run(run, again=run[-1].turn + 1 in answered_turns) for run in run_uses]


def _run(run: Sequence[ToolUse], *, again: bool) -> Run:
    """Judge one run; `again` says that the next user message was answered by the same run."""
    has_failed = again or any(use.good is False for use in run)
    return Run(False if has_failed else run[-1].good, run[-1].at, run[-1].agent)


def count_runs(runs: Iterable[Run]) -> Counts:
    """Count runs by their outcome."""
    run_list = list(runs)
    outcomes = [run.good for run in run_list if run.good is not None]
    return Counts(
        len(run_list),
        len(outcomes),
        sum(outcomes),
        max((run.at for run in run_list), default=None),
        tuple(sorted({run.agent for run in run_list if run.agent is not None})),
    )


def added(counts: Sequence[Counts]) -> Counts:
    """Add counts of different runs."""
    if len(counts) == 1:
        return counts[0]
    return Counts(
        sum(summand.runs for summand in counts),
        sum(summand.known for summand in counts),
        sum(summand.good for summand in counts),
        max((summand.last for summand in counts if summand.last is not None), default=None),
        tuple(sorted({agent for summand in counts for agent in summand.agents})),
    )


@dataclass(frozen=True, slots=True)
class Mined:
    """The tool calls of some threads. Runs are found and counted once, and kept."""

    threads: dict[str, tuple[ToolUse, ...]]
    _runs: dict[Steps, list[Run]] = field(default_factory=dict)
    _counts: dict[tuple[Steps, int | None], Counts] = field(default_factory=dict)

    def runs(self, steps: Steps) -> list[Run]:
        """Find the runs of these steps in all threads."""
        if steps not in self._runs:
            self._runs[steps] = [
                run for uses in self.threads.values() for run in runs_in(steps, uses)
            ]
        return self._runs[steps]

    def counts(self, steps: Steps, since: int | None = None) -> Counts:
        """Count the runs of these steps in all threads: all, or those since an instant.

        Units: microseconds UTC.
        """
        cache_key = (steps, since)
        if cache_key not in self._counts:
            all_runs = self.runs(steps)
            later_runs = all_runs if since is None else [run for run in all_runs if run.at >= since]
            self._counts[cache_key] = count_runs(later_runs)
        return self._counts[cache_key]

    def recurring(self, limit: int) -> list[Steps]:
        """Find up to `limit` runs that several threads have, those of the most threads first.

        A run that is part of a longer one in the same threads is left out.
        """
        steps_by_thread = {name: [use.name for use in uses] for name, uses in self.threads.items()}
        thread_names_by_run = recurring_runs(steps_by_thread)
        return sorted(
            thread_names_by_run,
            key=lambda steps: (-len(thread_names_by_run[steps]), -len(steps), steps),
        )[:limit]
