"""A node whose threads do random pairs of deeds on the branches of a store that other nodes share.

Arguments: the folder of the node, the URL of the store ("" for the folder), the seed, and how many
pairs. A pair is two deeds of one thread on the same two branches, one after the other: merges both
ways, a fork and a deletion, and so on. What became of them is printed as one JSON document, and
each minute on stderr how many deeds are done. SIGTERM ends it early: it begins no further pair.
"""

import json
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from day1.app.background import background_worker
from day1.app.open import open_store
from day1.errors import Day1Error, StoreBusy
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import Branch
from day1.model.records.task import Task
from day1.services.access.caller import Caller
from day1.services.access.calls import now
from day1.services.branches import lookup, retiring
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from day1.toolsets import TOOLSETS

THREADS = 8
"""Of each node."""
AGENTS = ("ada", "bo", "cy", "di")
BRANCHES = (*(f"b{number}" for number in range(8)), *(f"task/deeds/{name}" for name in AGENTS))
_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core,review")}
_REVERTED = 40
"""How many of the newest merges a revert chooses from."""


def opened(folder: Path, url: str) -> OpenStore:
    """The store of a node, searched by keywords only."""
    settings = Settings(
        home=folder,
        embedder=EmbedderSettings(kind="none"),
        search=SearchSettings(chroma=False),
        store=StoreSettings(url=SecretStr(url) if url else None),
    )
    return open_store(settings, create=True)


class Node:
    """Deeds of several threads on one opened store, and how they ended."""

    def __init__(self, store: OpenStore, task: str) -> None:
        """Set the store and the task that agents join."""
        self._store, self._task = store, task
        self._guard = threading.Lock()
        self._merges: list[tuple[str, str]] = []
        self.outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        self.slowest: dict[str, float] = defaultdict(float)
        self.busy = 0
        """How many calls were refused after they had waited for as long as they may."""
        self.failures: list[str] = []
        self.has_enough = threading.Event()
        """Set when no further pair is to be begun."""

    def report(self) -> None:
        """Print each minute how many deeds are done, until there are enough."""
        while not self.has_enough.wait(60):
            with self._guard:
                done = sum(codes.total() for codes in self.outcomes.values())
            print(f"{done} deeds are done", file=sys.stderr, flush=True)

    def work(self, seed: int, pairs: int) -> None:
        """Do so many pairs in each thread."""

        def some(number: int) -> None:
            chance = random.Random(f"{seed}-{number}")
            for _ in range(pairs // THREADS):
                if self.has_enough.is_set():
                    return
                one, other = chance.sample(BRANCHES, 2)
                for _ in range(2):
                    kind = chance.choices(list(_DEEDS), [w for w, _ in _DEEDS.values()])[0]
                    self._do(kind, chance, one, other)

        with ThreadPoolExecutor(THREADS) as threads:
            for line in [threads.submit(some, number) for number in range(THREADS)]:
                line.result()

    def _do(self, kind: str, chance: random.Random, one: str, other: str) -> None:
        """Do a deed, again and again while it is refused because others were first."""
        outcome = ""
        while not outcome:
            outcome = self._tried(kind, chance, one, other)
        with self._guard:
            self.outcomes[kind][outcome] += 1

    def _tried(self, kind: str, chance: random.Random, one: str, other: str) -> str:
        """Do a deed once; says how it ended, or nothing if it is to be tried again."""
        try:
            _DEEDS[kind][1](self, chance, one, other)
        except Day1Error as exc:
            if isinstance(exc, StoreBusy):  # a branch is being deleted, or it waited for too long
                with self._guard:
                    self.busy += "limit_s" in exc.details
                time.sleep(0.05)  # as a client waits before it tries again
                return ""
            if exc.retryable:
                why = f"{exc.code}: {exc} {exc.details} {exc.__cause__!r}"
                self.failures.append(f"{kind} {one} {other}: {why}")
            return exc.code
        except Exception:
            self.failures.append(f"{kind} {one} {other}: {traceback.format_exc()}")
            return "fault"
        return "done"

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        """Note how long a call took, whatever came of it."""
        begun = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - begun
            with self._guard:
                self.slowest[name] = max(self.slowest[name], seconds)

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        with self._timed(tool):
            context = self._store.context(Caller())
            answer: dict[str, Any] = _TOOLS[tool].call(context, arguments)
        return answer

    def write(self, chance: random.Random, one: str, other: str) -> None:
        self._call("memory_write_fact", fact_text=f"{one} says {chance.random()}", branch=one)

    def fork(self, chance: random.Random, one: str, other: str) -> None:
        parent = other if chance.random() < 0.5 else "main"
        self._call("memory_branch_create", branch_name=one, parent_branch=parent)

    def join(self, chance: random.Random, one: str, other: str) -> None:
        self._call("memory_task_join", task_id=self._task, agent_id=chance.choice(AGENTS))

    def merge_up(self, chance: random.Random, one: str, other: str) -> None:
        both = {"source_branch": one, "target_branch": other}
        merged = self._call("memory_branch_merge", **both, strategy="auto")
        with self._guard:
            self._merges.append((other, merged["merge_id"]))

    def merge_down(self, chance: random.Random, one: str, other: str) -> None:
        self.merge_up(chance, other, one)

    def review(self, chance: random.Random, one: str, other: str) -> None:
        opened = self._call("review_open", source_branch=one, target_branch=other)
        ends = "review_close" if chance.random() < 0.2 else "review_merge"
        self._call(ends, review_id=opened["id"])

    def revert(self, chance: random.Random, one: str, other: str) -> None:
        with self._guard:
            newest = self._merges[-_REVERTED:]
        if newest:
            branch, merge = chance.choice(newest)
            self._call("memory_revert", commit=merge, branch=branch)

    def delete(self, chance: random.Random, one: str, other: str) -> None:
        self._call("memory_branch_delete", branch_name=one, force=True)

    def cascade(self, chance: random.Random, one: str, other: str) -> None:
        """Delete a branch with all that were forked from it, the youngest first."""
        branches = self._store.repo.ledger.branches()
        doomed = [branch for branch in branches if branch.name == one]
        for branch in doomed:
            doomed += [child for child in branches if child.parent_id == branch.id]
        for branch in reversed(doomed):
            try:
                self.delete(chance, branch.name, other)
            except Day1Error as exc:
                if exc.code != "unknown_branch":  # another thread deleted it first
                    raise

    def retire(self, chance: random.Random, one: str, other: str) -> None:
        """Retire a branch, and bring it back."""
        repo = self._store.repo
        with self._timed("retire"):
            retired: Branch = retiring.retire(repo, lookup.find(repo, one), now())
        with self._timed("revive"):
            retiring.revive(repo, retired, now())


_Deed = Callable[[Node, random.Random, str, str], None]
_DEEDS: dict[str, tuple[int, _Deed]] = {
    "write": (4, Node.write),
    "fork": (6, Node.fork),
    "join": (3, Node.join),
    "merge_up": (3, Node.merge_up),
    "merge_down": (3, Node.merge_down),
    "review": (2, Node.review),
    "revert": (2, Node.revert),
    "delete": (1, Node.delete),
    "cascade": (1, Node.cascade),
    "retire": (1, Node.retire),
}
"""Each kind with its weight."""


def main(folder: Path, url: str, seed: int, pairs: int) -> None:
    with closing(opened(folder, url)) as store:
        (task,) = store.repo.ledger.records(Task)
        node = Node(store, task.id)
        signal.signal(signal.SIGTERM, lambda *_: node.has_enough.set())
        threading.Thread(target=node.report, daemon=True).start()
        background = background_worker(store)
        background.start()
        begun = time.monotonic()
        try:
            node.work(seed, pairs)
        finally:
            node.has_enough.set()
            background.stop()
        seconds = time.monotonic() - begun
    said = {
        "outcomes": node.outcomes,
        "slowest": node.slowest,
        "busy": node.busy,
        "failures": node.failures,
        "seconds": seconds,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
