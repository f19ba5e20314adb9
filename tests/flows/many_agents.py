"""Agents that work on tasks over HTTP, and make a call again when its answer never came.

Each joins a task, which gives it a branch, writes facts there, searches once and merges into the
task's branch. A few work at a time. Meanwhile others kill the processes that answer them. Each
agent knows what was acknowledged; all of them share a record of how their calls ended.
"""

import itertools
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2

LIMIT_S = 30.0
"""Every call is answered within this time, whatever is wrong."""
TRIED_S = 240.0
"""An agent gives up a call that nobody answered for so long."""
AT_ONCE = 8
TASKS = 20
FACTS = 5
AGAIN = {"store_busy", "store_unavailable"}
"""What a call may be refused with: each says to try again."""


@dataclass(frozen=True)
class Task:
    """A task, and the branch into which its agents merge."""

    id: str
    branch: str


@dataclass
class Done:
    """What one agent was told: its branch, its facts by id, and its merge."""

    agent: str
    task: Task
    branch: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    merge: str = ""


class Calls:
    """How the calls of all agents ended."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.refused: Counter[str] = Counter()
        self.cut_off = 0

    def note(self, tool: str, seconds: float, code: str | None) -> None:
        """Note an answer; `code` is that of a refusal."""
        with self._guard:
            self.seconds[tool].append(seconds)
            if code is not None:
                self.refused[code] += 1

    def note_cut_off(self) -> None:
        with self._guard:
            self.cut_off += 1

    @property
    def slowest(self) -> tuple[float, str]:
        return max((max(times), tool) for tool, times in self.seconds.items())


class Team:
    """All agents, at the addresses of one or more servers of a store."""

    def __init__(self, addresses: Sequence[str], agents: int) -> None:
        self.addresses = addresses
        self.agents = agents
        self.calls = Calls()
        self.done: list[Done] = []
        self._numbers = itertools.count()
        self._failed = threading.Event()

    def work(self) -> None:
        """Let all agents work; the first one that fails stops the rest, and fails here."""
        self.tasks = self._make_tasks()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for line in [threads.submit(self._some) for _ in range(AT_ONCE)]:
                line.result()

    def _make_tasks(self) -> list[Task]:
        maker = Agent(self, 0, "maker")
        made = [
            maker.insist("memory_task_create", f"task-{number}", name=f"Task {number}")
            for number in range(min(TASKS, self.agents))
        ]
        maker.close()
        return [Task(answer["task_id"], answer["branch_name"]) for answer in made]

    def _some(self) -> None:
        """Be one agent after the other until there are enough."""
        while not self._failed.is_set() and (number := next(self._numbers)) < self.agents:
            agent = Agent(self, number, f"a{number}")
            try:
                self.done.append(agent.work(self.tasks[number % len(self.tasks)]))
            except BaseException:
                self._failed.set()
                raise
            finally:
                agent.close()


class Agent:
    """One agent, which asks the next server if one does not answer."""

    def __init__(self, team: Team, number: int, name: str) -> None:
        self.name = name
        self._team, self._at = team, number
        # Nothing is encrypted here, and reading all authorities takes a tenth of a second.
        self._clients = [
            httpx2.Client(base_url=address, timeout=2 * LIMIT_S, verify=False)
            for address in team.addresses
        ]

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def work(self, task: Task) -> Done:
        """Join, write, search and merge; says what was acknowledged."""
        done = Done(self.name, task)
        joined = self.insist("memory_task_join", "join", task_id=task.id, agent_id=self.name)
        done.branch = joined["branch_name"]
        assert joined["task_branch"] == task.branch
        for number in range(FACTS):
            text = f"Agent {self.name} found out {number} about the gateway."
            given = {"fact_text": text, "branch": done.branch}
            fact = self.insist("memory_write_fact", f"fact-{number}", **given)
            done.facts[fact["id"]] = text
        found = self.insist("memory_search", "search", query="gateway", branch=done.branch)
        assert found["result"], self.name
        both = {"source_branch": done.branch, "target_branch": task.branch, "strategy": "auto"}
        merged = self.insist("memory_branch_merge", "merge", **both)
        assert merged["rejected_count"] == 0, merged
        done.merge = merged["merge_id"]
        return done

    def insist(self, tool: str, key: str, **arguments: Any) -> dict[str, Any]:
        """Make one call, again and again with one key, until it is answered with what it did."""
        end = time.monotonic() + TRIED_S
        while (answer := self._call(tool, f"{self.name}-{key}", arguments)) is None:
            assert time.monotonic() < end, (tool, arguments, self._team.calls.refused)
            time.sleep(0.2)  # as a client waits before it tries again
        return answer

    def _call(self, tool: str, key: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Call once; None if the client must try again."""
        http = self._clients[self._at % len(self._clients)]
        begun = time.monotonic()
        headers = {"Idempotency-Key": key}
        try:
            answer = http.post(f"/api/v1/{tool}", json=arguments, headers=headers)
        except httpx2.TimeoutException as exc:
            raise AssertionError(f"{tool} hangs: {arguments}") from exc
        except httpx2.TransportError:
            self._team.calls.note_cut_off()
            self._at += 1
            return None
        body: dict[str, Any] = answer.json()
        code = None if answer.status_code == 200 else body["error"]["code"]
        seconds = time.monotonic() - begun
        self._team.calls.note(tool, seconds, code)
        assert seconds < LIMIT_S, f"{tool} took {seconds:.1f} s: {arguments} {answer.text[:300]}"
        if code is None:
            return body
        assert code in AGAIN, (tool, arguments, answer.status_code, body)
        assert answer.status_code == 503, (tool, answer.status_code, body)
        assert "again" in body["error"]["message"].lower(), (tool, body)
        assert answer.headers["Retry-After"], (tool, body)
        return None
