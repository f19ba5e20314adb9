"""A server killed under loops of Compose, and what must be there afterwards.

Each loop has a wallet of its own. It asks for prompts, records turns, remembers facts, lets patterns
be mined and promotes them, and makes, pauses and drops schedules. Whatever it does it does again
after the kill that cut it off, as a client does that got no answer: all that was acknowledged is
there then, and nothing is there twice.
"""

import json
import random
import threading
import time
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from day1.interfaces.open_store import OpenStore
from day1.model.jobs.job import KINDS, Job
from day1.model.jobs.schedule import Schedule
from day1.model.records.desk import Desk
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, MESSAGE
from day1.model.skills.structure import PATTERN, SKILL
from day1.model.values.wallet_space import Owner
from tests.flows.kill_scenarios import check_doctor
from tests.flows.killed_process import opened
from tests.flows.killed_server import WAIT_S, Gone
from tests.wires.http_server import HttpServer

RUN = [{"name": name, "result": "done", "status": "ok"} for name in ("grep", "edit", "test")]
EACH = len(RUN) + 2
"""Messages of a turn."""


class Deed(NamedTuple):
    """A write, as it is sent: also when it is sent again."""

    kind: str
    method: str
    path: str
    body: dict[str, Any]


@dataclass
class Kept:
    """What a loop was told that is kept."""

    turns: dict[str, str] = field(default_factory=dict)
    """The session of each turn, by the turn's name, in their order."""
    facts: set[str] = field(default_factory=set)
    skills: set[str] = field(default_factory=set)
    """Ids of promoted patterns."""
    jobs: set[str] = field(default_factory=set)
    schedules: dict[str, bool] = field(default_factory=dict)
    """Whether the schedule of a kind is paused."""


class Loop:
    """An agent that works by lot; knows what was acknowledged, and what is under way."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.wallet = f"w{number}"
        self.kept = Kept()
        self.under_way: Deed | None = None
        self.done: Counter[str] = Counter()
        self.again = 0
        """How many deeds were done again after a kill."""
        self._chance, self._count = random.Random(chance.random()), 0

    def step(self, http: httpx2.Client) -> None:
        """Do what was cut off, else something new."""
        if self.under_way is not None:
            self.again += 1
        deed = self.under_way or self._next(http)
        if deed is None:
            return
        self.under_way = deed
        answer = send(http, deed)
        self._keep(deed, answer)
        self.under_way = None
        self.done[deed.kind] += 1

    def _next(self, http: httpx2.Client) -> Deed | None:
        self._count += 1
        lot = self._chance.random()
        if lot < 0.45:
            return self._turn()
        if lot < 0.6:
            content = f"{self.wallet} knows {self._count}-{self._chance.random()}"
            body = {"agentWallet": self.wallet, "content": content}
            return Deed("remember", "POST", "/remember", body)
        if lot < 0.7:
            body = {"agentWallet": self.wallet, "type": "patterns_extract"}
            return Deed("job", "POST", "/jobs", body)
        if lot < 0.85:
            return self._scheduling()
        if lot < 0.95:
            return self._promotion(http)
        query = {"agentWallet": self.wallet, "query": "What is known?", "threadId": "t1"}
        send(http, Deed("read", "POST", "/context/assemble", query))
        return None

    def _turn(self) -> Deed:
        name = f"turn-{self._count}-{self._chance.random()}"
        if self.kept.turns and self._chance.random() < 0.2:
            name = self._chance.choice([*self.kept.turns])
            session = self.kept.turns[name]
        else:
            session = f"s{self._chance.randrange(3)}"
        body = {
            "agentWallet": self.wallet,
            "threadId": f"t{session[1:]}",
            "sessionId": session,
            "turnId": name,
            "userMessage": f"Ask {name}.",
            "assistantMessage": f"Tell {name}.",
            "toolEvents": RUN,
        }
        return Deed("turn", "POST", "/turns/record", body)

    def _scheduling(self) -> Deed:
        body = {"agentWallets": [self.wallet]}
        if not self.kept.schedules or self._chance.random() < 0.2:
            return Deed("schedule", "POST", "/schedules", body)
        if self._chance.random() < 0.2:
            return Deed("drop", "DELETE", f"/schedules?agentWallets={self.wallet}", {})
        kind = self._chance.choice(KINDS)
        how = "resume" if self.kept.schedules[kind] else "pause"
        return Deed(how, "POST", f"/schedules/{kind}:{self.wallet}/{how}", {})

    def _promotion(self, http: httpx2.Client) -> Deed | None:
        path = f"/patterns?agentWallet={self.wallet}"
        patterns = send(http, Deed("read", "GET", path, {}))["patterns"]
        if not patterns:
            return None
        of = patterns[0]["patternId"]
        path = f"/patterns/{of}/validate?agentWallet={self.wallet}"
        data = send(http, Deed("read", "POST", path, {}))
        if not data["valid"]:
            return None
        body = {"agentWallet": self.wallet, "skillName": "Fix", "validationData": data}
        return Deed("promote", "POST", f"/patterns/{of}/promote", body)

    def _keep(self, deed: Deed, answer: Any) -> None:
        """Note what was acknowledged."""
        self.kept = after(self.kept, deed)
        if deed.kind == "job":
            assert answer["status"] == "completed", answer
            self.kept.jobs.add(answer["jobId"])
        if deed.kind == "promote":
            assert answer["promoted"], answer
        if deed.kind == "turn":
            assert answer["stored"]["transcript"], answer

    def compare_with(self, store: OpenStore) -> None:
        """Hold what is there against what there may be."""
        allowed = [self.kept]
        if self.under_way is not None:
            allowed.append(after(self.kept, self.under_way))
        self._compare_rows(store, allowed)
        self._compare_ledger(store, allowed)

    def _compare_rows(self, store: OpenStore, allowed: list[Kept]) -> None:
        space = Owner(self.wallet).space
        with store.repo.store.reading(Ref(branch="main")) as reading:
            said = reading.find(MESSAGE, Query(equal={"agent_id": self.wallet}))
            mine = reading.find(FACT, Query(equal={"space": space, "status": "active"}))
        texts = Counter(str(row["content"]) for row in said if row["role"] != "tool")
        wanted = [
            Counter(f"{word} {name}." for name in kept.turns for word in ("Ask", "Tell"))
            for kept in allowed
        ]
        assert texts in wanted, (self.wallet, self.under_way, *(texts - w for w in wanted))
        assert len(said) * 2 == texts.total() * EACH
        by_category: dict[object, Counter[str]] = {}
        for row in mine:
            by_category.setdefault(row["category"], Counter())[str(row["fact_text"])] += 1
        patterns = by_category.pop(PATTERN, Counter())
        assert set(patterns.values()) <= {1}, patterns
        promoted = Counter(str(row["origin_id"]) for row in mine if row["category"] == SKILL)
        assert promoted in [Counter(kept.skills) for kept in allowed], promoted
        by_category.pop(SKILL, None)
        facts = sum(by_category.values(), Counter())
        assert facts in [Counter(kept.facts) for kept in allowed], (self.under_way, facts)

    def _compare_ledger(self, store: OpenStore, allowed: list[Kept]) -> None:
        status = {job.id: job.status for job in store.repo.ledger.records(Job)}
        assert {status.get(job_id) for job_id in self.kept.jobs} <= {"completed"}
        found = {s.kind: s.paused for s in store.repo.ledger.records(Schedule, wallet=self.wallet)}
        assert found in [kept.schedules for kept in allowed], (self.under_way, found)
        desks = [d for d in store.repo.ledger.records(Desk) if json.loads(d.name)[0] == self.wallet]
        by_session = {json.loads(d.name)[1]: json.loads(d.value)["messages"] for d in desks}
        assert by_session.keys() >= {*self.kept.turns.values()}
        for messages in by_session.values():
            assert len(messages) == len({*messages})


def after(kept: Kept, deed: Deed) -> Kept:
    """What is kept when a deed is done."""
    new = deepcopy(kept)
    match deed.kind:
        case "turn":
            new.turns[deed.body["turnId"]] = deed.body["sessionId"]
        case "remember":
            new.facts.add(deed.body["content"])
        case "promote":
            new.skills.add(deed.path.split("/")[2])
        case "schedule":
            new.schedules = {kind: kept.schedules.get(kind, False) for kind in KINDS}
        case "drop":
            new.schedules = {}
        case "pause" | "resume":
            new.schedules[deed.path.split("/")[2].split(":")[0]] = deed.kind == "pause"
    return new


def send(http: httpx2.Client, deed: Deed) -> Any:
    """Send a deed, which must succeed.

    Raises:
        Gone: the server died before it answered whole.
    """
    try:
        answer = http.request(deed.method, f"/api/memory{deed.path}", json=deed.body or None)
    except httpx2.TransportError as exc:
        raise Gone from exc
    assert answer.status_code == 200, (deed, answer.text)
    return answer.json()


def kill(folder: Path, loops: list[Loop], chance: random.Random) -> str:
    """Serve a store to the loops, kill the server, and check what it left; says how it was."""
    failed: list[Exception] = []

    def work(loop: Loop) -> None:
        with httpx2.Client(base_url=server.address, timeout=WAIT_S, verify=False) as http:
            try:
                while True:
                    loop.step(http)
            except Gone:
                pass
            except Exception as exc:
                failed.append(exc)

    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        threads = [threading.Thread(target=work, args=(loop,)) for loop in loops]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.3, 1.5))  # killed at any moment, whatever is under way
        server.process.kill()
        for thread in threads:
            thread.join(WAIT_S)
    if failed:
        raise failed[0]
    check(folder, loops)
    return ", ".join(loop.under_way.kind for loop in loops if loop.under_way) or "nothing"


def check(folder: Path, loops: list[Loop]) -> None:
    """Open the store as the next process would: all that was acknowledged is there, and once."""
    store = opened(folder)
    try:
        assert store.repo.ledger.open_intents() == []
        for loop in loops:
            loop.compare_with(store)
        check_doctor(store, folder)
    finally:
        store.close()


def finish(folder: Path, loops: list[Loop]) -> None:
    """Do what the last kill cut off, and check once more."""
    with (
        HttpServer(folder, DAY1_HTTP__RATE="0") as server,
        httpx2.Client(base_url=server.address, timeout=WAIT_S, verify=False) as http,
    ):
        for loop in loops:
            if loop.under_way is not None:
                loop.step(http)
            assert loop.under_way is None
    check(folder, loops)
