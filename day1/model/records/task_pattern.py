"""Patterns that recur in several tasks. Pure rules; every pattern names its tasks."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

T = TypeVar("T", bound=Hashable)

PatternName = Literal["objective_order", "tool", "error", "fact", "duration"]
FEWEST = 2
"""The fewest tasks in which something must occur to be a pattern."""
_LONGEST_RUN = 8


@dataclass(frozen=True, slots=True)
class TaskStep:
    """An observation, and the next one of its agent."""

    id: str
    observation_type: str
    summary: str
    agent_id: str | None
    followed_by: "TaskStep | None" = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that occurs in several tasks."""

    name: PatternName
    text: str
    tasks: list[str]
    """The tasks that have the pattern."""
    ids: list[str] = field(default_factory=list)
    """The ids of the rows that show the pattern."""
    value: float | None = None
    """The count or measure of the pattern: uses of a tool, or seconds."""
    followed_by: list[TaskStep] = field(default_factory=list)
    """The observations that followed, one for each occurrence."""


def recurring_runs(orders: Mapping[str, Sequence[T]]) -> dict[tuple[T, ...], list[str]]:
    """Return runs of two or more steps that several orders have, each with the orders' names.

    A run that is part of a longer one with the same orders is left out; the longest have 8 steps.
    """
    order_names_by_run: dict[tuple[T, ...], dict[str, None]] = {}
    for order_name, order in orders.items():
        for start in range(len(order)):
            for end in range(start + 2, min(len(order), start + _LONGEST_RUN) + 1):
                order_names_by_run.setdefault(tuple(order[start:end]), {})[order_name] = None
    names_by_recurring_run = {
        run: list(order_names)
        for run, order_names in order_names_by_run.items()
        if len(order_names) >= FEWEST
    }
    contained_runs = {
        shorter_run
        for run, order_names in names_by_recurring_run.items()
        for shorter_run in (run[1:], run[:-1])
        if names_by_recurring_run.get(shorter_run) == order_names
    }
    return {
        run: order_names
        for run, order_names in names_by_recurring_run.items()
        if run not in contained_runs
    }
