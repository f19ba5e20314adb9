"""Workers are killed while eight clients write: nothing acknowledged is lost, nothing is doubled."""

import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Semaphore

import httpx2
import pytest

from day1.model.branches.branch import MAIN
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from tests.flows.opened_store import opened
from tests.wires.mcp_session import WAIT_S
from tests.wires.worker_server import WorkerServer

CLIENTS, KILLS = 8, 3


def write(address: str, client: int, wrote: Semaphore, enough: Event) -> dict[str, str]:
    """Write facts one after the other, each as often as it takes; answers text by id."""
    text_by_id: dict[str, str] = {}
    with httpx2.Client(base_url=address, timeout=WAIT_S, verify=False) as http:
        while not enough.is_set():
            name = f"{client}-{len(text_by_id)}"
            body = {"fact_text": f"Fact {name}."}
            while (answer := post(http, body, f"key-{name}")) is None:
                time.sleep(0.1)  # a worker was killed, or the store is busy: the client asks again
            text_by_id[answer["id"]] = body["fact_text"]
            wrote.release()
    return text_by_id


def post(http: httpx2.Client, body: dict[str, str], key: str) -> dict[str, str] | None:
    """Write once; None if the client must try again."""
    headers = {"Idempotency-Key": key}
    try:
        answer = http.post("/api/v1/memory_write_fact", json=body, headers=headers)
    except httpx2.TransportError:
        return None
    if answer.status_code == 503:
        return None
    assert answer.status_code == 200, answer.text
    fact: dict[str, str] = answer.json()
    return fact


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it finds workers in /proc")
def test_nothing_is_lost_or_doubled_when_workers_are_killed(tmp_path: Path) -> None:
    chosen, wrote, enough = random.Random(29), Semaphore(0), Event()
    with WorkerServer(tmp_path / "store", DAY1_HTTP__RATE="0") as server:
        pids = server.all_ready()
        with ThreadPoolExecutor(CLIENTS) as threads:
            clients = [
                threads.submit(write, server.address, number, wrote, enough)
                for number in range(CLIENTS)
            ]
            try:
                for _ in range(KILLS):
                    for _ in range(2 * CLIENTS):
                        assert wrote.acquire(timeout=WAIT_S)
                    victim = chosen.choice(pids)
                    os.kill(victim, signal.SIGKILL)
                    pids = server.all_ready(but=victim)
            finally:
                enough.set()
            written: dict[str, str] = {}
            for client in clients:
                written |= client.result(WAIT_S)
        assert server.process.poll() is None
    with opened(tmp_path / "store") as store, store.repo.store.reading(Ref(branch=MAIN)) as rows:
        facts = rows.find(FACT, Query())
    assert {fact["id"]: fact["fact_text"] for fact in facts} == written
    assert len(facts) == len(written) >= 2 * CLIENTS * KILLS
