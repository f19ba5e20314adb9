"""One row for each tool of a team's work: against the empty call, and against a smaller store."""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client

from benchmarks.bench import Bench
from benchmarks.report import Row, milliseconds
from benchmarks.texts import facts, questions
from benchmarks.wire import Arguments, call, day1_server, empty_server

_AGENTS = 4
_ROWS = 25
"""Observations of each agent, and messages of the conversation."""
_CALLS = 40
_WARM = 5


@dataclass(frozen=True, slots=True)
class Scene:
    """A task that was worked on, in a store of so many facts."""

    task: str
    up: str
    branches: list[str]
    talk: str
    message: str
    facts: list[str]
    handoff: str


_QUESTIONS = list(questions(_CALLS, "team"))
Ask = Callable[[Scene, int], Arguments]
_WRITES_ONE_ROW = 2.0

_TOOLS: list[tuple[str, float | None, str, Ask]] = [
    (
        "memory_log_message",
        _WRITES_ONE_ROW,
        "",
        lambda s, n: {"conversation_id": s.talk, "role": "user", "content": f"And the {n}th?"},
    ),
    (
        "memory_write_observation",
        _WRITES_ONE_ROW,
        "",
        lambda _, n: {"observation_type": "insight", "summary": f"Seen for the {n}th time."},
    ),
    (
        "memory_task_update",
        _WRITES_ONE_ROW,
        "",
        lambda s, _: {"task_id": s.task, "objective_id": 0, "status": "in_progress"},
    ),
    ("memory_task_status", None, "", lambda s, _: {"task_id": s.task}),
    ("memory_task_join", None, "again", lambda s, _: {"task_id": s.task, "agent_id": "agent-0"}),
    (
        "memory_search_task",
        None,
        f"{_AGENTS} agents, {_ROWS} rows each",
        lambda s, n: {"task_id": s.task, "query": _QUESTIONS[n % len(_QUESTIONS)]},
    ),
    ("memory_agent_timeline", None, "", lambda *_: {"agent_id": "agent-1"}),
    (
        "memory_consolidate",
        None,
        "all known already",
        lambda s, _: {"level": "agent", "task_id": s.task, "agent_id": "agent-1"},
    ),
    ("memory_replay_task_type", None, "one task", lambda *_: {"task_type": "bench"}),
    ("memory_list_conversations", None, "", lambda *_: {}),
    (
        "memory_search_messages",
        None,
        f"{_ROWS} messages",
        lambda _, n: {"query": _QUESTIONS[n % len(_QUESTIONS)]},
    ),
    (
        "memory_fork_conversation",
        None,
        f"{_ROWS} messages, a commit",
        lambda s, _: {"conversation_id": s.talk, "fork_at_message_id": s.message},
    ),
    ("memory_session_context", None, "", lambda *_: {"session_id": "bench"}),
    (
        "memory_branch_create_curated",
        None,
        "5 facts",
        lambda s, n: {"branch_name": f"curated-{n}", "fact_ids": s.facts[:5]},
    ),
    (
        "memory_template_create",
        None,
        "counts the facts that it keeps",
        lambda s, n: {"name": f"template-{n}", "source_branch": s.up},
    ),
    (
        "memory_template_instantiate",
        None,
        "",
        lambda _, n: {"template_name": "bench", "target_branch_name": f"from-template-{n}"},
    ),
    (
        "memory_handoff_create",
        None,
        "",
        lambda s, _: {
            "source_branch": s.branches[0],
            "target_branch": s.branches[1],
            "include_unverified": True,
        },
    ),
    ("memory_handoff_get", None, "", lambda s, _: {"handoff_id": s.handoff}),
    (
        "knowledge_bundle_create",
        None,
        "looks through all facts for the verified ones",
        lambda s, n: {"name": f"bundle {n}", "source_branch": s.up},
    ),
    ("knowledge_bundle_list", None, "", lambda *_: {}),
    (
        "verify_fact",
        None,
        "by rules, with its searches",
        lambda s, n: {"fact_id": s.facts[n % len(s.facts)]},
    ),
    (
        "verify_merge_gate",
        None,
        "",
        lambda s, _: {"source_branch": s.branches[0], "target_branch": s.up},
    ),
]


def rows(bench: Bench) -> Iterator[Row]:
    """Every tool at 10,000 facts: times the empty call, and times itself at 1,000."""
    small, large = (anyio.run(_measure, bench, n) for n in (bench.sizes.small, bench.sizes.middle))
    for tool, limit, why, _ in _TOOLS:
        empty, spent = large[tool]
        growth = spent / small[tool][1]
        note = f"{growth:.1f} x that at {bench.sizes.small:,} facts"
        target = "stated" if limit is None else f"<= {limit:g} x the empty call's"
        yield Row(
            f"{tool}, p50",
            f"{milliseconds(spent)} / {milliseconds(empty)}",
            target,
            spent / empty,
            limit,
            value=spent,
            note=f"{note}{'; ' if why else ''}{why}",
        )


async def _measure(bench: Bench, size: int) -> dict[str, tuple[float, float]]:
    """Medians of the empty call and of each tool's, alternated, in a store of `size` facts."""
    folder = bench.copy(size)
    numbers = count()
    seconds_by_tool = {}
    async with _servers(bench, folder) as (empty, day1):
        scene = await _scene(day1)
        for tool, _, _, ask in _TOOLS:
            floors, spent = [], []
            for number in range(_WARM + _CALLS):
                floor, _ = await call(empty, "empty", {})
                seconds, _ = await call(day1, tool, ask(scene, next(numbers)))
                if number >= _WARM:
                    floors.append(floor)
                    spent.append(seconds)
            seconds_by_tool[tool] = statistics.median(floors), statistics.median(spent)
    return seconds_by_tool


@asynccontextmanager
async def _servers(bench: Bench, folder: Path) -> AsyncIterator[tuple[Client, Client]]:
    # Without a model: what grows with the store is to be seen, not the embedding.
    environment = {**bench.environment(folder), "DAY1_EMBEDDER__KIND": "none"}
    environment["DAY1_SESSION_ID"] = "bench"
    async with empty_server() as empty, day1_server(environment) as day1:
        yield empty, day1


async def _scene(day1: Client) -> Scene:
    """A task with agents, their rows, a conversation, a template and a handoff."""

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        return (await call(day1, tool, arguments))[1]

    objectives = [{"description": "Measure"}]
    task = await ask("memory_task_create", name="bench", task_type="bench", objectives=objectives)
    up, branches, ids = task["branch_name"], [], []
    texts = facts(_AGENTS * _ROWS, "team")
    for number in range(_AGENTS):
        agent = f"agent-{number}"
        membership = await ask("memory_task_join", task_id=task["task_id"], agent_id=agent)
        branches.append(membership["branch_name"])
        for text, _ in (next(texts) for _ in range(_ROWS)):
            await ask(
                "memory_write_observation",
                observation_type="discovery",
                summary=text,
                branch=branches[-1],
            )
    for text, _ in facts(_CALLS + _WARM, "team facts"):
        ids.append((await ask("memory_write_fact", fact_text=text))["id"])
    logged: dict[str, Any] = {"conversation_id": None}
    for number in range(_ROWS):
        logged = await ask(
            "memory_log_message",
            conversation_id=logged["conversation_id"],
            role="user",
            content=f"{_QUESTIONS[number]}",
        )
    await ask("memory_consolidate", level="agent", task_id=task["task_id"], agent_id="agent-1")
    await ask("memory_template_create", name="bench", source_branch=branches[1])
    handoff = await ask(
        "memory_handoff_create",
        source_branch=branches[1],
        target_branch=branches[2],
        include_unverified=True,
    )
    return Scene(
        task["task_id"],
        up,
        branches,
        logged["conversation_id"],
        logged["message_id"],
        ids,
        handoff["handoff_id"],
    )
