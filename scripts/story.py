"""The main job: fill a store with this repository's history and docs, then let two agents work.

Everything an agent does here goes over real MCP stdio, each agent with a server process of its
own; what is printed is what the servers answered. At the end the store is served over HTTP.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from story_agents import DAY1, Agent, agent, clip, merge

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".day1" / "demo"
BIN = Path(sys.executable).parent

PORT = 8420


def main(once: bool) -> None:  # noqa: FBT001 - the one thing that is asked
    """Import, tell the story, say what to try next, and serve it."""
    env = {**os.environ, "DAY1_HOME": str(HOME)}
    say("1", f"A store in {HOME.relative_to(ROOT)}")
    subprocess.run([*DAY1, "init"], env=env, check=True, stdout=subprocess.DEVNULL)

    say("2", "Real memory: this repository's git history and its documents")
    day1(env, "import", "git", ".")
    day1(env, "import", "markdown", "README.md", "docs")

    reviews = anyio.run(story, env)
    say("9", "What to look at next")
    serve(env, reviews, once=once)


NEXT: tuple[tuple[str, str], ...] = (
    ('day1 search "merge conflicts"', "search by meaning and by words"),
    ("day1 log --graph", "how the branches forked and merged"),
    ("day1 review", "the reviews that wait, here in the terminal"),
    ("day1 doctor", "whether the store is sound"),
)
"""Commands to try on the demo store, and what each shows."""


def serve(env: dict[str, str], reviews: Sequence[str], *, once: bool) -> None:
    """Serve until Ctrl-C; with `once` only see that the server is ready and shows its pages.

    What is printed is the last screenful of the story: where to look, and what to try.
    """
    with served(env, 0 if once else free_port()) as (process, address):
        print("  In a browser, and for programs:")
        for path, what in (("/review", "people"), ("/mcp", "agents"), ("/api/v1", "scripts")):
            print(f"  {what:8} {address}{path}")
        for number in reviews:
            print(f"  decide   {address}/review/reviews/{number}")
        print("\n  In another terminal, after")
        print(f"  export DAY1_HOME={env['DAY1_HOME']} PATH={BIN}:$PATH")
        for command, what in NEXT:
            print(f"  {command:32} {what}")
        print(f"\n  Your own agent: `claude mcp add --transport http day1 {address}/mcp`, or")
        print(f'  {{"mcpServers": {{"day1": {{"type": "http", "url": "{address}/mcp"}}}}}}\n')
        for path in ("/ready", "/review", *(f"/review/reviews/{number}" for number in reviews)):
            with urllib.request.urlopen(address + path, timeout=60) as answer:  # noqa: S310 - http, our own
                if answer.status != 200 or not answer.read():
                    raise SystemExit(f"{path} does not answer")
        if once:
            print("  It is ready and its pages are there; it stops, since nobody is to stop it.")
            return
        try:
            print("\n  Ctrl-C stops it.", flush=True)
            process.wait()
        except KeyboardInterrupt:
            print("\n  Stopped; `day1 serve` on this store starts it again.")


@contextmanager
def served(env: dict[str, str], port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address; it is stopped at the end, and finishes what runs."""
    process = subprocess.Popen(
        [*DAY1, "serve", "--port", str(port)], env=env, stderr=subprocess.PIPE, text=True
    )
    lines = iter(process.stderr or ())
    try:
        first_line = next((line for line in lines if line.startswith(("http://", "error:"))), "")
        if not first_line.startswith("http://"):
            raise SystemExit(first_line or "the server did not start")
        for _ in range(2):
            next(lines)  # the same address for agents and scripts
        log = threading.Thread(target=sys.stderr.writelines, args=(lines,), daemon=True)
        log.start()  # a pipe that nobody empties would stop the server one day
        yield process, first_line.partition("/review")[0]
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """The usual port, or any if another program has it."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


def say(number: str, text: str) -> None:
    """A heading of the story."""
    print(f"\n{number}. {text}\n", flush=True)


def day1(env: dict[str, str], *arguments: str) -> None:
    """Run a command as a user would, showing its output."""
    print("  $ day1 " + " ".join(_short(a) for a in arguments), flush=True)
    command = [*DAY1, *arguments]
    done = subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        print(f"    {line}")


def _short(argument: str) -> str:
    return os.path.relpath(argument, ROOT) if argument.startswith(str(ROOT)) else argument


async def story(env: dict[str, str]) -> list[str]:
    """Two agents on one task: what they find, where they conflict, what is kept and carried on.

    Answers the reviews that are left to people.
    """
    run = datetime.now(UTC).strftime("%H%M%S")
    async with AsyncExitStack() as stack:
        scout, builder = await agent(stack, "scout", env), await agent(stack, "builder", env)
        task, mine, theirs = await join(scout, builder, run)
        await work(scout, builder, task, run)
        before = datetime.now(UTC).isoformat()
        await review(scout, builder, task, mine, theirs)
        await look_back(builder, run, before, {"main": "main", "scout": mine, "builder": theirs})
        await carry_on(scout, mine, theirs, task, run)
        return await leave_to_people(scout, builder, run)


async def join(scout: Agent, builder: Agent, run: str) -> tuple[dict[str, Any], str, str]:
    """A task with two objectives, and a branch for each agent."""
    say("3", "A task, and two agents that join it: each has a server process and a branch")
    task = await scout.call(
        "memory_task_create",
        name=f"Write lock {run}",
        task_type="investigation",
        objectives=[
            {"description": "Find out how long a writer waits"},
            {"description": "Say what to do when it waits too long"},
        ],
    )
    branches = []
    for number, who in enumerate((scout, builder)):
        membership = await who.call(
            "memory_task_join",
            task_id=task["task_id"],
            agent_id=who.name,
            assigned_objectives=[number],
        )
        await who.call("memory_branch_switch", branch_name=membership["branch_name"])
        branches.append(membership["branch_name"])
    print(f"      {task['branch_name']} -> {', '.join(branches)}")
    return task, *branches


async def work(scout: Agent, builder: Agent, task: dict[str, Any], run: str) -> None:
    """They log, observe, find each other's findings, and make facts of what they saw."""
    say("4", "They work: messages, observations, facts; and see each other's findings")
    question = await scout.call(
        "memory_log_message",
        role="user",
        content=f"Run {run}: how long does a writer wait for the write lock of a store?",
    )
    await scout.call(
        "memory_log_message",
        conversation_id=question["conversation_id"],
        role="assistant",
        content="DAY1_STORE__WAIT_S says it: 10 seconds unless somebody sets it.",
        thinking="The settings page has it; nobody but me reads this line.",
    )
    for who, text in (
        (scout, f"Run {run}: DAY1_STORE__WAIT_S sets how long a writer waits; 10 by default."),
        (scout, f"Run {run}: DAY1_STORE__WAIT_S sets how long a writer waits, 10 by default"),
        (builder, f"Run {run}: a writer that waits too long gets the error store_busy."),
    ):
        await who.call(
            "memory_write_observation",
            observation_type="discovery",
            summary=text,
            tool_name="Read",
        )
    await builder.call(
        "memory_write_relation",
        source_entity="write lock",
        relation_type="guards",
        target_entity="memory.db",
    )
    found = await builder.call(
        "memory_search_task", task_id=task["task_id"], query="how long does a writer wait", limit=1
    )
    print(f"      {found['result'][0]['agent_id']} found: {found['result'][0]['fact_text']}")
    for number, who in enumerate((scout, builder)):
        updated = await who.call(
            "memory_consolidate", level="agent", task_id=task["task_id"], agent_id=who.name
        )
        print(f"      new facts {updated['new_facts']}, merged {updated['duplicates_merged']}")
        await who.call(
            "memory_task_update",
            task_id=task["task_id"],
            objective_id=number,
            status="completed",
        )


async def review(
    scout: Agent, builder: Agent, task: dict[str, Any], mine: str, theirs: str
) -> None:
    """A correction on each branch that conflicts; the gate; a merge with a held item."""
    say("5", "One memory, corrected twice: verified, held against the gate, merged, held")
    branch = task["branch_name"]
    fact = await scout.call(
        "memory_write_fact",
        fact_text=f"{branch}: the write lock of a store waits 10 seconds before it gives up.",
        category="architecture",
    )
    await merge(scout, mine, branch)
    await merge(builder, branch, theirs)
    for who, seconds in ((scout, 30), (builder, 60)):
        text = f"{branch}: the write lock of a store waits {seconds} seconds before it gives up."
        await who.call("memory_update_fact", fact_id=fact["id"], fact_text=text)
    verdict = await scout.call("verify_fact", fact_id=fact["id"])
    print(f"      {verdict['verdict']} by {verdict['judge']}: {clip(verdict['reason'], 120)}")
    gate = await scout.call(
        "verify_merge_gate", source_branch=mine, target_branch=branch, require_verified=False
    )
    print(f"      may merge: {gate['can_merge']}")
    await merge(scout, mine, branch)
    await merge(builder, theirs, branch)
    held_answer = await scout.call("memory_held", action="list", branch=branch)
    for item in held_answer["items"]:
        print(f"      held {item['cell']} of {item['row_id']}:")
        print(f"        {branch} has {clip(item['present'], 110)}")
        print(f"        offered  {clip(item['offered'], 110)}")
        await scout.call("memory_held", action="take", id=item["id"], branch=branch)
    await merge(scout, branch, "main")
    status = await scout.call("memory_task_status", task_id=task["task_id"])
    print(f"      the task is {status['task']['status']}")


async def look_back(who: Agent, run: str, before: str, branches: dict[str, str]) -> None:
    """The same question on each branch, and to the past."""
    say("6", "The same question on each branch, and to the past")
    question = f"Write lock {run}: how many seconds does the write lock wait?"
    for branch in branches.values():
        hits = await who.call("memory_search", query=question, branch=branch, limit=1)
        print(f"      {branch}: {hits['result'][0]['fact_text']}  ({hits['read']['mode']})")
    past = await who.call(
        "memory_time_travel", timestamp=before, query=question, branch="main", limit=1
    )
    print(f"      main before the merges: {clip([h['fact_text'] for h in past['result']], 100)}")


async def carry_on(who: Agent, mine: str, theirs: str, task: dict[str, Any], run: str) -> None:
    """What is kept for the next one: a handoff, a template, a bundle in a second store."""
    say("7", "What lasts: a handoff, a template for the next task, a bundle in a second store")
    handoff = await who.call(
        "memory_handoff_create", source_branch=mine, target_branch=theirs, include_unverified=True
    )
    packet = await who.call("memory_handoff_get", handoff_id=handoff["handoff_id"])
    print(f"      {packet['context_summary']}")
    await who.call("memory_template_create", name=f"lock-{run}", source_branch=task["branch_name"])
    imported = await who.call(
        "memory_template_instantiate",
        template_name=f"lock-{run}",
        target_branch_name=f"next/{run}",
    )
    print(f"      {imported['branch_name']} begins with {imported['facts_inherited']} facts")
    bundle = await who.call(
        "knowledge_bundle_create", name=f"locks {run}", source_branch=mine, only_verified=False
    )
    second = HOME.with_name("second")
    file = HOME / "locks.jsonl"
    day1({**os.environ, "DAY1_HOME": str(HOME)}, "bundle", "export", bundle["id"], str(file))
    other_env = {**os.environ, "DAY1_HOME": str(second)}
    subprocess.run([*DAY1, "init"], env=other_env, check=True, stdout=subprocess.DEVNULL)
    day1(other_env, "bundle", "import", str(file))


async def leave_to_people(scout: Agent, builder: Agent, run: str) -> list[str]:
    """Two reviews: one that conflicts with main in two facts, one that says a thing twice."""
    say("8", "What agents leave to people: two reviews, to be decided in the browser")
    limits, notes = f"limits/{run}", f"notes/{run}"
    body = f"Server {run}: a request body may have 1 MB."
    wire_fact = f"Server {run}: agents connect over stdio only."
    facts = [
        await scout.call("memory_write_fact", fact_text=t, branch="main") for t in (body, wire_fact)
    ]
    for branch in (limits, notes):
        await scout.call("memory_branch_create", branch_name=branch)
    changes = {
        limits: (scout, f"Server {run}: a request body may have 4 MB.", "streamable HTTP"),
        "main": (builder, f"Server {run}: a request body may have 2 MB.", "stdio or SSE"),
    }
    for branch, (who, text, transport) in changes.items():
        for fact, said in zip(
            facts, (text, wire_fact.replace("stdio only", transport)), strict=True
        ):
            await who.call("memory_update_fact", fact_id=fact["id"], fact_text=said, branch=branch)
    for who, branch, said in (
        (scout, limits, f"Server {run}: above 200 requests a second a token is answered 429."),
        (scout, limits, f"Server {run}: GET /ready answers 503 while the store cannot be read."),
        (builder, "main", f"Server {run}: /metrics is in the text format of Prometheus."),
        (builder, notes, f"Server {run}: /metrics has the text format that Prometheus reads."),
        (builder, notes, f"Server {run}: `day1 backup FILE` works while agents write."),
    ):
        await who.call("memory_write_fact", fact_text=said, branch=branch)
    reviews = []
    for who, branch, title in (
        (scout, limits, "Limits of the server: main says otherwise in two places"),
        (builder, notes, "Notes on operating the server"),
    ):
        opened_review = await who.call("review_open", source_branch=branch, title=title)
        print(f"      {opened_review['summary']}")
        reviews.append(str(opened_review["id"]))
    return reviews


def asked() -> bool:
    """Whether to stop at the end: said, or there is no terminal at which to press Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="scripts/start",
        description="Set day1 up and tell a true story of two agents; then serve its store.",
        epilog="Without a terminal it behaves as with --once, so that it ends in CI too.",
    )
    parser.add_argument(
        "--once", action="store_true", help="see that the server is ready and stop it again"
    )
    once: bool = parser.parse_args().once
    return once or not (sys.stdin.isatty() and sys.stdout.isatty())


if __name__ == "__main__":
    main(asked())
