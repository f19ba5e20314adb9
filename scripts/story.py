"""The main job: fill a store with this repository's history and docs, then let two agents work.

Everything an agent does here goes over real MCP stdio, each agent with a server process of its
own; what is printed is what the servers answered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".day1" / "demo"
DAY1 = [sys.executable, "-m", "day1"]


def main() -> None:
    """Import, tell the story, say what to try next."""
    env = {**os.environ, "DAY1_HOME": str(HOME)}
    say("1", f"A store in {HOME.relative_to(ROOT)}")
    if not (HOME / "memory.db").exists():
        HOME.mkdir(parents=True, exist_ok=True)
    subprocess.run([*DAY1, "init", str(HOME)], env=env, check=True, stdout=subprocess.DEVNULL)

    say("2", "Real memory: this repository's git history and its documents")
    day1(env, "import", "git", str(ROOT))
    documents = [str(ROOT / "README.md"), *map(str, sorted((ROOT / "docs").rglob("*.md")))]
    day1(env, "import", "markdown", *documents)

    anyio.run(story, env)
    say("6", "Connect your own agent: paste this into your MCP client's configuration")
    server = {
        "command": str(Path(sys.executable)),
        "args": ["-m", "day1", "mcp", "--toolsets", "core,review"],
        "env": {"DAY1_HOME": str(HOME)},
    }
    print(json.dumps({"mcpServers": {"day1": server}}, indent=2))
    say("7", "Try next")
    print(f"  export DAY1_HOME={HOME}")
    next_steps = ('day1 search "merge conflicts"', "day1 log --graph", "day1 held", "day1 doctor")
    for command in next_steps:
        print(f"  {command}")


def say(number: str, text: str) -> None:
    """A heading of the story."""
    print(f"\n{number}. {text}\n", flush=True)


def day1(env: dict[str, str], *arguments: str) -> None:
    """Run a command as a user would, showing its output."""
    print("  $ day1 " + " ".join(_short(a) for a in arguments), flush=True)
    done = subprocess.run([*DAY1, *arguments], env=env, check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        print(f"    {line}")


def _short(argument: str) -> str:
    return os.path.relpath(argument, ROOT) if argument.startswith(str(ROOT)) else argument


class Agent:
    """An agent with a server process of its own."""

    def __init__(self, name: str, client: Client) -> None:
        self.name, self.client = name, client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; print what was asked and answer what came back."""
        answer = await self.client.call_tool(tool, arguments)
        body = answer.structured_content or {}
        if answer.is_error:
            raise SystemExit(f"{tool}: {body}")
        print(f"  {self.name}: {tool}({_arguments(arguments)})")
        return body


def _arguments(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{k}={_clip(v)}" for k, v in arguments.items())


def _clip(value: Any, most: int = 60) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


async def agent(stack: AsyncExitStack, name: str, env: dict[str, str]) -> Agent:
    """Start a server process and connect to it."""
    server = StdioServerParameters(
        command=DAY1[0],
        args=[*DAY1[1:], "mcp", "--toolsets", "core,review"],
        env={**env, "DAY1_AGENT_ID": name},
    )
    return Agent(name, await stack.enter_async_context(Client(server)))


async def story(env: dict[str, str]) -> None:
    """Two agents, two branches, a correction on each that clashes, a merge, a look back."""
    run = datetime.now(UTC).strftime("%H%M%S")
    async with AsyncExitStack() as stack:
        scout, builder = await agent(stack, "scout", env), await agent(stack, "builder", env)
        say("3", "Two agents, each with its own server process, work on branches of their own")
        fact = await scout.call(
            "memory_write_fact",
            fact_text=f"Run {run}: the write lock of a store waits 10 seconds before it gives up.",
            category="architecture",
        )
        mine, theirs = f"story/{run}/scout", f"story/{run}/builder"
        for who, branch in ((scout, mine), (builder, theirs)):
            await who.call("memory_branch_create", branch_name=branch)
            await who.call("memory_branch_switch", branch_name=branch)
        await builder.call(
            "memory_write_observation",
            observation_type="discovery",
            summary=f"Run {run}: DAY1_STORE__WAIT_S sets how long a writer waits; 10 by default.",
        )
        await scout.call(
            "memory_update_fact",
            fact_id=fact["id"],
            fact_text=f"Run {run}: the write lock of a store waits 30 seconds before it gives up.",
        )
        await builder.call(
            "memory_update_fact",
            fact_id=fact["id"],
            fact_text=f"Run {run}: the write lock of a store waits 60 seconds before it gives up.",
        )
        await builder.call(
            "memory_write_relation",
            source_entity="write lock",
            relation_type="guards",
            target_entity="memory.db",
        )
        before = datetime.now(UTC).isoformat()
        say("4", "Both merge into main: the clash is shown, held, and decided later")
        await merge(scout, mine)
        await merge(builder, theirs)
        held = await scout.call("memory_held", action="list", branch="main")
        for item in held["items"]:
            print(f"      held {item['cell']} of {item['row_id']}:")
            print(f"        main has {_clip(item['present'], 100)}")
            print(f"        offered  {_clip(item['offered'], 100)}")
        say("5", "The same question on each branch, and to the past")
        question = f"Run {run}: how long does the write lock wait?"
        for branch in ("main", mine, theirs):
            hits = await builder.call("memory_search", query=question, branch=branch, limit=1)
            print(f"      {branch}: {hits['result'][0]['fact_text']}  ({hits['read']['mode']})")
        past = await builder.call(
            "memory_time_travel", timestamp=before, query=question, branch="main", limit=1
        )
        print(f"      main before the merges: {past['result'][0]['fact_text']}")


async def merge(who: Agent, branch: str) -> None:
    """Preview a merge into main, then merge exactly what was previewed."""
    plan = await who.call("memory_merge_preview", source_branch=branch)
    for row in plan["rows"]:
        state = f"held: {', '.join(row['held'])}" if row["held"] else row["effect"]
        print(f"      {state:18} {row['type']}: {_clip(row['text'], 80)}")
    done = await who.call(
        "memory_branch_merge", source_branch=branch, strategy="auto", expect=plan["digest"]
    )
    print(f"      merged {done['merged_count']}, held {done['rejected_count']}")


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"\n({time.perf_counter() - started:.0f} s)")
