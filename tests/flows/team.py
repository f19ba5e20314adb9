"""Agents that work on one task as processes, and what they did, played again on the oracle."""

import json
import os
import random
import signal
import subprocess
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from day1.interfaces.open_store import OpenStore
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, MESSAGE, OBSERVATION, RELATION, Kind
from day1.model.values.instant import parse
from day1.services.conversations.order import messages_of
from tests.forkserver import python
from tests.oracle.copying_store import CopyingMemory
from tests.suites.memory import Refusal

ROOT = Path(__file__).resolve().parents[2]
CALLERS_FAULT = {"not_found"}
"""Somebody else's merge may have brought the removal of a fact."""


class Killed(Exception):
    """The process died in a call."""


class Refused(Exception):
    """day1 refused a call, with this code."""


@dataclass(order=True)
class Event:
    """What a call did to a branch, at its time."""

    at: int
    branch: str
    tool: str = field(compare=False)
    arguments: dict[str, Any] = field(compare=False)
    id: str = field(compare=False, default="")
    source_at: int = field(compare=False, default=0)
    """Of a merge: when the source's last commit was, that it took."""


class Agent:
    """One agent's process; a killed one is started again."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.start()

    def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DAY1_")}
        self.process = subprocess.Popen(
            [*python(), "-m", "tests.flows.agent_process", str(self.folder), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            text=True,
        )

    def ready(self) -> None:
        assert self._read() == "ready"

    def again(self) -> None:
        """Start a process in the place of one that was killed, perhaps while it started."""
        while True:
            self.end()
            self.start()
            try:
                return self.ready()
            except Killed:
                continue

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            print(
                json.dumps({"tool": tool, "arguments": arguments}),
                file=self.process.stdin,
                flush=True,
            )
        except BrokenPipeError:
            raise Killed from None
        return self._read()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise Killed
        answer = json.loads(line)
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["answer"]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)

    def end(self) -> int:
        self.process.communicate()
        return self.process.returncode


class Work:
    """What one agent does, by lot, and what of it was acknowledged."""

    def __init__(self, agent: Agent, task: str, up: str, mine: str, shared: list[str]) -> None:
        self.agent, self.task, self.up, self.mine = agent, task, up, mine
        self.lot = random.Random(agent.name)
        self.facts = list(shared)
        self.talk = ""
        self.events: list[Event] = []
        self.messages: list[tuple[str, str, str]] = []
        """Branch, conversation and id of acknowledged ones."""
        self.in_flight: list[tuple[str, dict[str, Any]]] = []
        self.calls: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.kills = 0

    def run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                self.step()
        except BaseException as exc:
            self.wrong.append(repr(exc))
            raise

    def step(self) -> None:
        tool, arguments = self.choose()
        self.calls[tool] += 1
        try:
            answer = self.agent.call(tool, arguments)
        except Killed:
            self.kills += 1
            self.in_flight.append((tool, arguments))
            self.agent.again()
        except Refused as exc:
            if str(exc) not in CALLERS_FAULT:
                self.wrong.append(f"{tool}: {exc}")
        else:
            self.acknowledged(tool, arguments, answer)

    def choose(self) -> tuple[str, dict[str, Any]]:
        lot, number = self.lot, self.lot.randrange(10**9)
        words = f"{self.agent.name} {number} saw a lock"
        fact = lot.choice(self.facts)
        branch = self.mine if lot.random() < 0.8 else self.up
        options: list[tuple[int, str, dict[str, Any]]] = [
            (8, "memory_write_fact", {"fact_text": f"{words}.", "branch": branch}),
            (
                4,
                "memory_write_observation",
                {"observation_type": "discovery", "summary": words, "branch": branch},
            ),
            (
                2,
                "memory_write_relation",
                {
                    "source_entity": "lock",
                    "relation_type": "guards",
                    "target_entity": f"{self.agent.name}-{number}",
                    "branch": branch,
                },
            ),
            (
                4,
                "memory_log_message",
                {
                    "role": "assistant",
                    "content": words,
                    "branch": self.mine,
                    "conversation_id": self.talk or None,
                },
            ),
            (
                4,
                "memory_update_fact",
                {"fact_id": fact, "confidence": lot.random(), "branch": self.mine},
            ),
            (
                3,
                "memory_update_fact",
                {"fact_id": fact, "category": f"c{number}", "branch": self.mine},
            ),
            (1, "memory_retract_fact", {"fact_id": fact, "branch": self.mine}),
            (
                1,
                "memory_branch_merge",
                {"source_branch": self.mine, "target_branch": self.up, "strategy": "auto"},
            ),
            (
                1,
                "memory_branch_merge",
                {"source_branch": self.up, "target_branch": self.mine, "strategy": "auto"},
            ),
            (2, "memory_search_task", {"task_id": self.task, "query": words}),
            (2, "memory_search", {"query": words, "branch": branch}),
            (
                1,
                "memory_task_update",
                {"task_id": self.task, "objective_id": 0, "status": "in_progress"},
            ),
            (1, "memory_task_status", {"task_id": self.task}),
            (1, "memory_timeline", {"branch": branch}),
        ]
        _, tool, arguments = lot.choices(options, [weight for weight, _, _ in options])[0]
        return tool, arguments

    def acknowledged(self, tool: str, arguments: dict[str, Any], answer: Any) -> None:
        if tool == "memory_branch_merge":
            self.events.append(Event(0, "", tool, arguments, answer["merge_id"]))
        elif tool in {"memory_update_fact", "memory_retract_fact"}:
            at = parse(answer.get("updated_at") or answer["retracted_at"])
            self.events.append(Event(at, arguments["branch"], tool, arguments))
        elif tool == "memory_log_message":
            self.talk = answer["conversation_id"]
            self.messages.append((arguments["branch"], self.talk, answer["message_id"]))
        elif tool.startswith("memory_write_"):
            at = parse(answer["created_at"])
            self.events.append(Event(at, arguments["branch"], tool, arguments, answer["id"]))
            if tool == "memory_write_fact" and arguments["branch"] == self.mine:
                self.facts = [*self.facts, answer["id"]][-40:]


_TEXTS: dict[str, tuple[Kind, str, str]] = {
    "memory_write_fact": (FACT, "fact_text", "fact_text"),
    "memory_write_observation": (OBSERVATION, "summary", "summary"),
    "memory_write_relation": (RELATION, "target_entity", "target_entity"),
    "memory_log_message": (MESSAGE, "content", "content"),
}


def found_in_flight(store: OpenStore, works: list[Work]) -> list[Event]:
    """Of the calls that were cut off those that were done: whole, or not at all."""
    found = []
    known = {event.id for work in works for event in work.events}
    records = [r for r in store.repo.ledger.records(MergeRecord) if r.id not in known]
    for record in records:
        names = [_name(store, branch) for branch in (record.source_id, record.target_id)]
        both = dict(zip(("source_branch", "target_branch"), names, strict=True))
        asked = [a for w in works for t, a in w.in_flight if t == "memory_branch_merge"]
        assert {**both, "strategy": "auto"} in asked, "a merge that nobody asked for"
        found.append(Event(0, "", "memory_branch_merge", both, record.id))
    for work in works:
        times = {(e.arguments.get("fact_id"), e.at) for e in work.events}
        for tool, arguments in work.in_flight:
            if tool in _TEXTS:
                found += _written(store, work, tool, arguments)
            elif tool in {"memory_update_fact", "memory_retract_fact"}:
                found += _edited(store, work, tool, arguments, times)
    return found


def _written(store: OpenStore, work: Work, tool: str, arguments: dict[str, Any]) -> list[Event]:
    kind, column, argument = _TEXTS[tool]
    with store.repo.store.reading(Ref(branch=arguments["branch"])) as reading:
        rows = reading.find(kind, Query(equal={column: arguments[argument]}))
    assert len(rows) <= 1, "an unacknowledged row was written twice"
    if kind is MESSAGE:
        work.messages += [
            (arguments["branch"], str(r["conversation_id"]), str(r["id"])) for r in rows
        ]
        return []
    return [
        Event(int(row["created_at"] or 0), arguments["branch"], tool, arguments, str(row["id"]))
        for row in rows
    ]


def _edited(
    store: OpenStore, work: Work, tool: str, arguments: dict[str, Any], known: set[Any]
) -> list[Event]:
    fact = arguments["fact_id"]
    query = Query(equal={"row_id": fact, "agent_id": work.agent.name})
    with store.repo.store.reading(Ref(branch=arguments["branch"])) as reading:
        edits = reading.find(EDIT, query)
    times = {int(e["created_at"] or 0) for e in edits} - {at for row, at in known if row == fact}
    events = [Event(at, arguments["branch"], tool, arguments) for at in times]
    for event in events:
        known.add((fact, event.at))
    return events[:1]


def _name(store: OpenStore, branch_id: str) -> str:
    return next(b.name for b in store.repo.ledger.branches() if b.id == branch_id)


def dated(store: OpenStore, events: list[Event]) -> list[Event]:
    """Give merges their time and branch, from the commit that says their id; drop empty ones."""
    records = {record.id: record for record in store.repo.ledger.records(MergeRecord)}
    times: dict[str, int] = {}
    for tip in store.repo.history.branches().values():
        for commit in store.repo.history.graph([tip]):
            times[commit.id] = commit.ts
    done = []
    for event in events:
        if event.tool == "memory_branch_merge":
            record = records[event.id]
            if record.commit is None:
                continue
            event.at, event.source_at = times[record.commit], times[record.source_commit]
            event.branch = event.arguments["target_branch"]
        done.append(event)
    return done


def in_order(events: list[Event]) -> list[Event]:
    """An order in which it may have happened: each branch's own, and merges between.

    A merge comes after what it took of its source, and before what came there later.
    """
    by_branch: dict[str, list[Event]] = defaultdict(list)
    for event in sorted(events):
        by_branch[event.branch].append(event)
    index = {id(event): n for n, event in enumerate(events)}
    after: dict[int, set[int]] = {n: set() for n in range(len(events))}
    for chain in by_branch.values():
        for one, other in pairwise(chain):
            assert one.at < other.at, "two units of a branch have one time"
            after[index[id(other)]].add(index[id(one)])
    for event in events:
        if event.tool == "memory_branch_merge":
            source = by_branch[event.arguments["source_branch"]]
            taken = [e for e in source if e.at <= event.source_at]
            later = [e for e in source if e.at > event.source_at]
            if taken:
                after[index[id(event)]].add(index[id(taken[-1])])
            if later:
                after[index[id(later[0])]].add(index[id(event)])
    order: list[Event] = []
    ready = [n for n, waits in after.items() if not waits]
    followers: dict[int, list[int]] = defaultdict(list)
    for n, waits in after.items():
        for other_n in waits:
            followers[other_n].append(n)
    while ready:
        n = ready.pop()
        order.append(events[n])
        for follower in followers[n]:
            after[follower].discard(n)
            if not after[follower]:
                ready.append(follower)
    assert len(order) == len(events), "the order of the units runs in a circle"
    return order


def replay(memory: CopyingMemory, events: list[Event]) -> None:
    """Play the events on the oracle, each at the time that it had."""
    for event in in_order(events):
        memory.next_time = event.at
        given = event.arguments
        try:
            match event.tool:
                case "memory_write_fact":
                    memory.add_fact(event.branch, event.id, fact_text=given["fact_text"])
                case "memory_write_observation":
                    memory.add_observation(
                        event.branch,
                        event.id,
                        summary=given["summary"],
                        observation_type=given["observation_type"],
                    )
                case "memory_write_relation":
                    names = ("source_entity", "relation_type", "target_entity")
                    columns = {name: given[name] for name in names}
                    memory.add_relation(event.branch, event.id, **columns)
                case "memory_update_fact":
                    columns = {c: given[c] for c in ("confidence", "category") if c in given}
                    memory.update_fact(event.branch, given["fact_id"], **columns)
                case "memory_retract_fact":
                    memory.remove(event.branch, given["fact_id"])
                case "memory_branch_merge":
                    memory.merge(given["source_branch"], given["target_branch"])
        except Refusal as exc:
            raise AssertionError(f"{event.tool} was acknowledged and is refused: {exc}") from exc


def check_conversations(store: OpenStore, works: list[Work]) -> int:
    """Hold conversations against what was acknowledged, when all is merged; says how many rows."""
    told: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for work in works:
        for branch, talk, message in work.messages:
            told[branch][talk].add(message)
            told[work.up][talk].add(message)
    rows = 0
    for branch, talks in told.items():
        with store.repo.store.reading(Ref(branch=branch)) as reading:
            for talk, messages in talks.items():
                found = messages_of(store.repo, reading, talk)
                assert [number for number, _ in found] == list(range(1, len(found) + 1))
                assert {str(row["id"]) for _, row in found} == messages
                rows += len(found)
    return rows
