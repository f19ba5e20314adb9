"""Two day1 servers share a store on a Dolt server, and four processes work on each of them."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.flows.repeating_agent import Agent, Progress
from tests.servers import DoltServer
from tests.waiting import until
from tests.wires.http_server import HttpServer

AGENTS, ROUNDS = 8, 8


@pytest.fixture
def nodes(own_dolt: DoltServer, tmp_path: Path) -> Iterator[list[HttpServer]]:
    """Two day1 servers on one store, with a branch that all work on."""
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(
                HttpServer(
                    tmp_path / name,
                    DAY1_STORE__URL=f"{own_dolt.url}/team",
                    DAY1_EMBEDDER__KIND="none",
                    DAY1_HTTP__RATE="0",
                )
            )
            for name in ("one", "two")
        ]
        nodes[0].ok("memory_branch_create", branch_name="shared")
        yield nodes


def begin(nodes: Sequence[HttpServer], counter: str = "") -> list[subprocess.Popen[str]]:
    """Agents at work, by turns on one node and the other."""
    return [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.flows.server_agent"),
                *(nodes[number % 2].address, f"agent {number}", str(ROUNDS), counter),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(AGENTS)
    ]


def end(agents: Sequence[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """What each was told."""
    outputs = [agent.communicate(timeout=240)[0] for agent in agents]
    assert [agent.returncode for agent in agents] == [0] * AGENTS
    return [json.loads(output) for output in outputs]


def has_facts(node: HttpServer, count: int) -> bool:
    """Whether the branch that all work on has so many facts."""
    found = node.ok("memory_list", type="fact", branch="shared", limit=1)
    return int(found["total"]) >= count


def check(nodes: Sequence[HttpServer], told: Sequence[dict[str, Any]]) -> None:
    """All that was acknowledged is there, once, whichever node is asked."""
    for node in nodes:
        rows = [
            row
            for offset in (0, 100)
            for row in node.ok(
                "memory_list", type="fact", branch="shared", offset=offset, limit=100
            )["rows"]
        ]
        texts = [row["fact_text"] for row in rows if row["fact_text"].startswith("agent ")]
        assert sorted(texts) == sorted(text for one in told for text in one["texts"])
        assert len(texts) == AGENTS * ROUNDS
        names = [branch["branch_name"] for branch in node.ok("memory_branch_list")["result"]]
        assert Counter(names) == Counter(["main", "shared", *(f"team/{n}" for n in range(ROUNDS))])
    made = Counter(name for one in told for name in one["branches"])
    assert max(made.values()) == 1


def test_eight_processes_on_two_nodes_lose_no_update_and_make_no_branch_twice(
    nodes: list[HttpServer],
) -> None:
    counter = nodes[1].ok("memory_write_fact", fact_text="0", branch="shared")["id"]
    told = end(begin(nodes, counter))
    check(nodes, told)
    assert sum(len(one["branches"]) for one in told) == ROUNDS
    row = nodes[0].ok("memory_get", id=counter, branch="shared")["row"]
    assert int(row["fact_text"]) == sum(one["raised"] for one in told) == AGENTS * ROUNDS


def test_a_dolt_server_that_is_killed_loses_nothing_and_is_found_again(
    nodes: list[HttpServer], own_dolt: DoltServer
) -> None:
    agents = begin(nodes)
    for written in (AGENTS, AGENTS * ROUNDS // 2):
        until(partial(has_facts, nodes[0], written), "the agents are at work")
        own_dolt.kill()
        away = nodes[0].ask(
            "POST", "/api/v1/memory_write_fact", json={"fact_text": "Nobody there."}
        )
        assert (away.status, away.code) == (503, "store_unavailable")
        assert "try again" in away.body["error"]["message"].lower()
        own_dolt.up()
    told = end(agents)
    check(nodes, told)
    refused = Counter[str]()
    for one in told:
        refused.update(one["refused"])
    assert refused["store_unavailable"] > 0
    for node in nodes:
        assert node.ask("GET", "/ready").status == 200


def test_calls_made_again_are_done_once_however_often_the_server_is_killed(
    nodes: list[HttpServer], own_dolt: DoltServer
) -> None:
    """Eight clients of MCP: nothing is lost, nothing is there twice, every error has its code."""
    progress = Progress()
    agents = [Agent(nodes[n % 2].address, f"agent-{n}", progress) for n in range(AGENTS)]
    threads = [threading.Thread(target=agent.run, args=(ROUNDS,)) for agent in agents]
    for thread in threads:
        thread.start()
    for kills in range(1, 4):
        progress.wait(done=kills * AGENTS * ROUNDS)
        own_dolt.kill()
        progress.wait(refused=progress.refused + AGENTS // 2)
        own_dolt.up()
    for thread in threads:
        thread.join(240)
    assert progress.failed == []
    assert sum(agent.codes["store_unavailable"] for agent in agents) > 0
    for node in nodes:
        found = {
            kind: [row[column] for row in listed(node, kind)]
            for kind, column in (("fact", "fact_text"), ("message", "content"))
        }
        assert sorted(found["fact"]) == sorted(text for a in agents for text in a.facts)
        assert sorted(found["message"]) == sorted(text for a in agents for text in a.messages)
        names = [branch["branch_name"] for branch in node.ok("memory_branch_list")["result"]]
        assert sorted(names) == sorted(["main", "shared", *(agent.own for agent in agents)])


def listed(node: HttpServer, kind: str) -> list[dict[str, Any]]:
    """All rows of a kind on the branch that all share."""
    pages = (
        node.ok("memory_list", type=kind, branch="shared", offset=offset, limit=100)["rows"]
        for offset in range(0, 2 * AGENTS * ROUNDS + 100, 100)
    )
    return [row for page in pages for row in page]
