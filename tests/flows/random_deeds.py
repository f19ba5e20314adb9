"""Two nodes that do random pairs of deeds on one store, and what must hold of it afterwards."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from day1.interfaces.open_store import OpenStore
from day1.model.records.merge_record import MergeRecord
from day1.services.access.caller import Caller
from day1.services.health.doctor import StoreLocation, check
from day1.toolsets import TOOLSETS
from tests.flows.deeds_node import AGENTS, BRANCHES, THREADS, opened

ROOT = Path(__file__).resolve().parents[2]
NODES = 2
LIMIT_S = 30.0
"""No call takes longer, however busy the machine."""
BUSY = 0.01
"""The part of all calls that may be refused since they waited for as long as they may.

A busy machine makes that of a few. Where two calls waited for each other it would be most.
"""
LAWFUL = {
    "done",
    "branch_exists",
    "unknown_branch",
    "not_found",
    "conflict",
    "plan_changed",
}
"""How a deed may end when others do theirs meanwhile."""


@dataclass(frozen=True)
class Plan:
    """How many pairs of deeds both nodes do together, and by which draws."""

    pairs: int
    seed: int = 5


def do_pairs(folder: Path, url: str, plan: Plan) -> str:
    """Let two nodes do their pairs on a folder, or on the store at `url`; says how it was."""
    places = [folder if not url else folder / f"node-{number}" for number in range(NODES)]
    folder.mkdir(parents=True, exist_ok=True)
    with closing(opened(places[0], url)) as store:
        make_branches(store)
    nodes = [_begin(place, url, plan, number) for number, place in enumerate(places)]
    told = [_end(node) for node in nodes]
    _checked(places[0], url, told)
    return _summary(told)


def make_branches(store: OpenStore) -> None:
    """Make the task and all branches, so that deeds have something to do at once."""
    tools = {tool.name: tool for tool in TOOLSETS.choose("core")}

    def call(tool: str, **arguments: Any) -> Any:
        return tools[tool].call(store.context(Caller()), arguments)

    task = call("memory_task_create", name="deeds")
    for name in BRANCHES[: -len(AGENTS)]:
        call("memory_branch_create", branch_name=name)
    for agent in AGENTS:
        call("memory_task_join", task_id=task["task_id"], agent_id=agent)


def _begin(place: Path, url: str, plan: Plan, number: int) -> subprocess.Popen[str]:
    asked = [str(place), url, str(plan.seed + number), str(plan.pairs // NODES)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.flows.deeds_node", *asked],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )


def _end(node: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = node.communicate()
    assert node.returncode == 0
    told: dict[str, Any] = json.loads(output)
    return told


def _checked(place: Path, url: str, told: list[dict[str, Any]]) -> None:
    """Hold the ends of all deeds and the store against the rules.

    In a short run as many calls may have waited for too long as a node has threads.
    """
    failures = [failure for each in told for failure in each["failures"]]
    assert failures == [], failures[:5]
    ends = _ends(told)
    assert ends.keys() <= LAWFUL, ends.keys() - LAWFUL
    assert sum(each["busy"] for each in told) <= max(THREADS, BUSY * ends.total())
    slow = [item for each in told for item in each["slowest"].items() if item[1] >= LIMIT_S]
    assert slow == [], slow
    with closing(opened(place, url)) as store:
        check_whole(store)


def _ends(told: list[dict[str, Any]]) -> Counter[str]:
    """How often deeds of all kinds ended in each way."""
    ends: Counter[str] = Counter()
    for each in told:
        for codes in each["outcomes"].values():
            ends.update(codes)
    return ends


def check_whole(store: OpenStore) -> None:
    """No intent was left, each branch has a ref and a record, and each merge its record."""
    repo = store.repo
    assert repo.ledger.recover_orphans() == 0
    assert repo.ledger.open_intents() == []
    refs = repo.history.branches()
    recorded = {branch.name for branch in repo.ledger.branches() if branch.retired_tip is None}
    assert recorded == refs.keys()
    merges = {
        c.id: c.meta["id"] for c in repo.history.graph(list(refs.values())) if c.op == "merge"
    }
    records = {record.commit: record.id for record in repo.ledger.records(MergeRecord)}
    assert merges.items() <= records.items()
    place = StoreLocation(0, 1 << 40, read_only=False, chroma=False)
    findings = [f for f in check(repo, store.search, place) if f.level != "ok"]
    assert {finding.name for finding in findings} <= {"space"}, findings


def _summary(told: list[dict[str, Any]]) -> str:
    """What was done, in one line."""
    ends = _ends(told)
    slowest = max((s, tool) for each in told for tool, s in each["slowest"].items())
    return (
        f"{ends.total()} deeds by {NODES * THREADS} threads in "
        f"{max(each['seconds'] for each in told):.0f} s: {dict(ends)}; waited for too long: "
        f"{sum(each['busy'] for each in told)}; slowest: {slowest[1]} {slowest[0]:.1f} s"
    )
