"""How often some calls send a Dolt server something, and the most that each may."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from day1.interfaces.open_store import OpenStore
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.health.doctor import index_state
from day1.services.upkeep.chores import Clock
from day1.services.upkeep.poller import ChangePoller
from day1.services.upkeep.status import branch_status
from day1.services.upkeep.worker import NO_TASKS, _MemoryChores
from day1.toolsets import TOOLSETS
from tests.fakes.sql_wire import Wire

_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core,review")}

MOST = {
    "write": 6,
    "write over HTTP": 7,
    "search": 4,
    "first search after a write": 9,
    "branch create": 16,
    "merge of 20 rows": 32,
    "branch list": 6,
    "status": 9,
    "task join": 21,
    "look": 4,
    "look after a write": 11,
    "look for changes after a write": 12,
}
"""Packets, each of one statement or more: a packet is a round trip. These may only fall."""


def counts(store: OpenStore, wire: Wire) -> Iterator[tuple[str, list[str]]]:
    """Each call with what it sent, on a store with a few facts that was searched before."""
    yield "write", sent(wire, lambda: write(store, "The gateway is counted."))
    yield "first search after a write", sent(wire, lambda: search(store))
    yield "search", sent(wire, lambda: search(store))
    named = partial(call, store, "memory_branch_create", branch_name="fresh")
    yield "branch create", sent(wire, named)
    fork(store, "side", 20)
    yield "merge of 20 rows", sent(wire, lambda: merge(store, "side"))
    listed(store)
    yield "branch list", sent(wire, lambda: listed(store))
    yield "status", sent(wire, lambda: status(store))
    task = call(store, "memory_task_create", name="gateway")
    join = partial(call, store, "memory_task_join", task_id=task["task_id"], agent_id="mia")
    yield "task join", sent(wire, join)
    chores = _MemoryChores(store.repo, store.search, NO_TASKS, Clock())
    poller = ChangePoller(store.repo)
    for name in ("one", "two", "three"):
        fork(store, name, 1)
    look(chores)
    poller.look()
    write(store, "The gateway is seen.", branch="two")
    yield "look after a write", sent(wire, lambda: look(chores))
    yield "look", sent(wire, lambda: look(chores))
    yield "look for changes after a write", sent(wire, poller.look)


def look(chores: _MemoryChores) -> None:
    """What a process does every two seconds with the branches that moved."""
    for chore in (chores.commit, chores.renew_primes, chores.index, chores.forget):
        chore(lambda: False)


def sent(wire: Wire, action: Callable[[], object]) -> list[str]:
    with wire.counted() as found:
        action()
    return found


def begin(store: OpenStore) -> None:
    """Write and search once: what is read for the first time is not counted."""
    write(store, "The gateway drops calls.", "The gateway is slow on Tuesdays.")
    search(store)


def call(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a client whose HEAD is known."""
    answer: dict[str, Any] = _TOOLS[tool].call(store.context(Caller()), arguments)
    return answer


def write(store: OpenStore, *texts: str, branch: str = "main") -> None:
    for text in texts:
        call(store, "memory_write_fact", fact_text=text, branch=branch)


def search(store: OpenStore) -> None:
    assert call(store, "memory_search", query="gateway")["result"]


def fork(store: OpenStore, name: str, rows: int) -> None:
    """A branch with some facts of its own."""
    call(store, "memory_branch_create", branch_name=name)
    write(store, *(f"{name} knows {number}." for number in range(rows)), branch=name)


def merge(store: OpenStore, name: str) -> None:
    call(store, "memory_branch_merge", source_branch=name, target_branch="main", strategy="auto")


def status(store: OpenStore) -> None:
    """What `day1 status` asks once the store is open."""
    with store.repo.ledger.same_version():
        here = branch_status(store.repo, find(store.repo, "main"))
        index_state(store.repo, store.search, here.state.branch)


def listed(store: OpenStore) -> None:
    call(store, "memory_branch_list")
