"""A server killed under many clients, and what must be there afterwards.

Some of the clients write, each on a branch and forks of its own, all of which it merges to `main`
now and then; half of them speak MCP, half REST. The others read whatever there is. A text is
written once and names its writer, so that after a kill each writer's part can be told: it is as
before the action that was cut off, or as after it.
"""

import random
import threading
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from tests.flows.kill_scenarios import check_doctor, check_index, check_ledger, facts_on
from tests.flows.killed_process import opened
from tests.wires.http_server import HttpServer
from tests.wires.tool_call import post_call

MOST_FORKS = 3
WAIT_S = 60
LEAST_ACTIONS = 12
"""Each server lives to acknowledge as many writes, however slow the machine is."""

Texts = dict[str, set[str]]
"""Branch -> what one writer wrote, as far as it is there."""


class Gone(Exception):
    """The server died in a call."""


class Client:
    """One client of a server, over REST or MCP of 2026."""

    def __init__(self, address: str, *, mcp: bool) -> None:
        # Nothing is encrypted here, and reading all authorities takes a tenth of a second.
        self._http = httpx2.Client(base_url=address, timeout=WAIT_S, verify=False)
        self._mcp = mcp

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, which must succeed.

        Raises:
            Gone: the server died before it answered whole.
        """
        try:
            return (
                self._over_mcp(tool, arguments) if self._mcp else self._over_rest(tool, arguments)
            )
        except httpx2.TransportError as exc:
            raise Gone from exc

    def _over_rest(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(f"/api/v1/{tool}", json=arguments)
        assert answer.status_code == 200, (tool, arguments, answer.text)
        body: dict[str, Any] = answer.json()
        return body

    def _over_mcp(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = post_call(self._http, tool, arguments)
        assert answer.status_code == 200, (tool, arguments, answer.text)
        result = answer.json()["result"]
        assert not result.get("isError"), (tool, arguments, result)
        body: dict[str, Any] = result["structuredContent"]
        return body

    def close(self) -> None:
        self._http.close()


class Action(NamedTuple):
    """A write of `what` to `branch`, a fork of `branch` named `what`, a merge of `what` into it."""

    kind: str
    branch: str
    what: str


def after(texts: Texts, action: Action) -> Texts:
    """What there is of a writer's when an action is done."""
    new = deepcopy(texts)
    match action.kind:
        case "write":
            new[action.branch].add(action.what)
        case "fork":
            new[action.what] = set(new[action.branch])
        case "merge":
            new[action.branch] |= new[action.what]
    return new


class Writer:
    """Writes, forks and merges by lot; knows what was acknowledged, and what is under way."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number, self.own = number, f"w{number}"
        self.texts: Texts = {"main": set()}
        self.under_way: Action | None = None
        self.done = 0
        self._chance, self._count = random.Random(chance.random()), 0

    def step(self, client: Client) -> None:
        """Do one thing."""
        self.under_way = action = self._next()
        match action.kind:
            case "write":
                client.call("memory_write_fact", fact_text=action.what, branch=action.branch)
            case "fork":
                client.call(
                    "memory_branch_create", branch_name=action.what, parent_branch=action.branch
                )
            case "merge":
                target = {"source_branch": action.what, "target_branch": action.branch}
                client.call("memory_branch_merge", **target, strategy="auto")
        self.texts, self.under_way = after(self.texts, action), None
        self.done += 1

    def _next(self) -> Action:
        if self.own not in self.texts:
            return Action("fork", "main", self.own)
        self._count += 1
        forks = [name for name in self.texts if name.startswith(f"{self.own}/")]
        kinds = {"write": 12, "deliver": 1}
        kinds |= {"merge": 3} if forks else {}
        kinds |= {"fork": 2} if len(forks) < MOST_FORKS else {}
        (kind,) = self._chance.choices(list(kinds), list(kinds.values()))
        match kind:
            case "fork":
                return Action("fork", self.own, f"{self.own}/{self._count}")
            case "merge":
                return Action("merge", self.own, self._chance.choice(forks))
            case "deliver":
                return Action("merge", "main", self.own)
        branch = self._chance.choice(["main", self.own, *forks])
        return Action("write", branch, f"{self.own} says {self._count}-{self._chance.random()}")

    def compare_with(self, found: Texts) -> None:
        """Hold what is there against what there may be, and go on from it."""
        allowed = [self.texts]
        if self.under_way is not None:
            allowed.append(after(self.texts, self.under_way))
        assert found in allowed, (self.own, self.under_way, _difference(found, self.texts))
        self.texts, self.under_way = found, None


def _difference(found: Texts, acknowledged: Texts) -> Texts:
    """By branch, what was lost and what nobody was told of; at most three of each."""
    names = found.keys() | acknowledged.keys()
    both = {n: found.get(n, set()) ^ acknowledged.get(n, set()) for n in names}
    return {n: set(sorted(texts)[:3]) for n, texts in both.items() if texts}


def read(number: int, chance: random.Random) -> Callable[[Client], None]:
    """A reader: it asks this and that, and every answer must be one."""
    lot = random.Random(chance.random())

    def step(client: Client) -> None:
        match lot.randrange(4):
            case 0:
                client.call("memory_search", query=f"w{number} says", limit=5)
            case 1:
                client.call("memory_timeline", branch="main", limit=20)
            case 2:
                client.call("memory_branch_list")
            case 3:
                client.call("memory_list", type="fact", branch="main", limit=20)

    return step


class Crowd:
    """Clients at work, each in a thread, until the server is gone."""

    def __init__(self, address: str, steps: list[Callable[[Client], None]]) -> None:
        self._failed: list[Exception] = []
        self.calls = 0
        self._threads = [
            threading.Thread(target=self._work, args=(Client(address, mcp=number % 2 == 0), step))
            for number, step in enumerate(steps)
        ]

    def _work(self, client: Client, step: Callable[[Client], None]) -> None:
        try:
            while True:
                step(client)
                self.calls += 1
        except Gone:
            pass
        except Exception as exc:
            self._failed.append(exc)
        finally:
            client.close()

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Wait for all to notice; one that failed before the server was gone fails here."""
        for thread in self._threads:
            thread.join(WAIT_S)
        assert not any(thread.is_alive() for thread in self._threads)
        if self._failed:
            raise self._failed[0]


def kill(folder: Path, writers: list[Writer], readers: int, chance: random.Random) -> str:
    """Serve a store to a crowd, kill the server, and check what it left; says how it was."""
    done = sum(writer.done for writer in writers)
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        assert server.ask("GET", "/ready").status == 200
        steps = [writer.step for writer in writers]
        crowd = Crowd(server.address, [*steps, *(read(n, chance) for n in range(readers))])
        crowd.begin()
        time.sleep(chance.uniform(0.5, 2.5))  # killed at any moment, whatever is under way
        _wait_for(writers, done + LEAST_ACTIONS)
        server.process.kill()
        crowd.end()
    cut_off = [writer.under_way.kind for writer in writers if writer.under_way is not None]
    check(folder, writers)
    written = sum(writer.done for writer in writers) - done
    return f"after {crowd.calls} calls, {written} of them actions, in {', '.join(sorted(cut_off))}"


def _wait_for(writers: list[Writer], actions: int) -> None:
    """Wait until so many actions were acknowledged, at most a minute."""
    end = time.monotonic() + WAIT_S
    while sum(writer.done for writer in writers) < actions and time.monotonic() < end:
        time.sleep(0.01)


def check(folder: Path, writers: list[Writer]) -> None:
    """Open the store as the next process would: all that was acknowledged is there, and whole."""
    store = opened(folder)
    try:
        assert store.repo.ledger.open_intents() == []
        found = {name: facts_on(store, name) for name in store.repo.history.branches()}
        for branch, facts in found.items():
            assert len(facts) == len(set(facts.values())), f"a text is twice on {branch}"
        for writer in writers:
            mine = {"main", writer.own, *(n for n in found if n.startswith(f"{writer.own}/"))}
            said = f"{writer.own} says "
            writer.compare_with(
                {
                    name: {text for text in found[name].values() if text.startswith(said)}
                    for name in mine & found.keys()
                }
            )
        check_doctor(store, folder)
        check_ledger(store)
        check_index(store, found)
    finally:
        store.close()
