"""Adapters of agent frameworks whose process is killed: each write is whole or was not begun."""

import asyncio
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import day1
from tests.engine import needs_files
from tests.flows.test_python_processes import QUIET, environment
from tests.forkserver import python

PROCESSES, THREADS, WRITES = 4, 4, 8
ADAPTERS = {
    "agent_framework": "day1.integrations.agent_framework",
    "agents": "day1.integrations.openai_agents",
    "anthropic": "day1.integrations.anthropic",
    "langgraph": "day1.integrations.langgraph",
    "pydantic_ai": "day1.integrations.pydantic_ai",
}
ENGINE = (
    "day1.adapters.file_lease",
    "day1.adapters.index.index",
    "day1.app.background",
    "day1.app.library",
    "day1.app.noticing",
    "day1.interfaces.python.local",
)
"""What they import when they open a store."""
pytestmark = pytest.mark.xdist_group("killed_adapters")

SESSION_WRITES = """
import asyncio, sys
import day1
from day1.integrations.openai_agents import Day1Session

def say(text):
    return {"role": "user", "content": text}

memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}})
session = Day1Session("talk", memory)
asyncio.run(session.WRITE)
"""
LANGGRAPH_WRITES = """
import sys
import day1
from day1.integrations.langgraph import Day1Store
from langgraph.store.base import PutOp

memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}})
store = Day1Store(memory)
store.WRITE
"""
MEMORY_TOOL_WRITES = """
import sys
import day1
from day1.integrations.anthropic import Day1MemoryTool

memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}})
Day1MemoryTool(memory).call(COMMAND)
"""
STORE_WRITES = """
import asyncio, sys
import day1
from day1.integrations.pydantic_ai import Day1ConversationStore
from pydantic_ai import Conversation
from pydantic_ai.messages import ModelResponse, TextPart

memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}})
store = Day1ConversationStore(memory)

async def save(of, *texts):
    conversation = await store.load(of) or Conversation(conversation_id=of)
    conversation.messages += [ModelResponse(parts=[TextPart(text)]) for text in texts]
    await store.save(conversation)

async def branch(of, at):
    revision = (await store.load(of)).revision
    await store.branch(of, at=at, expected_revision=revision)

asyncio.run(WRITE)
"""
TOGETHER = f"""
import asyncio, sys, threading
import day1
from day1.integrations.openai_agents import Day1Session

folder, name = sys.argv[1:]
memory = day1.connect(folder, settings={QUIET!r})
session = Day1Session("talk", memory)

def write(thread):
    for number in range({WRITES}):
        texts = [f"{{name}} {{thread}} {{number}} {{part}}" for part in ("first", "second")]
        items = [{{"role": "user", "content": text}} for text in texts]
        asyncio.run(session.add_items(items))
        print(texts[0], flush=True)

threads = [threading.Thread(target=write, args=(each,)) for each in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
ADDED = [("add.before_commit", False), ("add.after_commit", True)]
CHANGED = [("change.before_commit", False), ("change.after_commit", True)]
FILES: dict[str, Any] = {"d/": "", "d/a": "1", "d/b": "2"}
FORKED = [("fork.after_intent", False), ("fork.after_engine", False), ("fork.after_ledger", True)]


def adapters_python() -> list[str]:
    """A Python that has imported every adapter whose framework is installed, and the engine.

    The imports take ten seconds, so the tests that call this run in one process.
    """
    installed = [module for package, module in ADAPTERS.items() if find_spec(package)]
    return python(*installed, *ENGINE)


def run_killed(script: str, folder: Path, point: str) -> None:
    killed = subprocess.run(
        [*adapters_python(), "-c", script, str(folder)],
        env=environment(DAY1_KILL_AT=point),
        timeout=120,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()


def contents(memory: day1.Memory, branch: str | None = None) -> list[Any]:
    from day1.integrations.openai_agents import Day1Session

    items: Any = asyncio.run(Day1Session("talk", memory).get_items(branch_id=branch))
    return [item["content"] for item in items]


@pytest.mark.parametrize(
    ("write", "point", "done", "after"),
    [
        *[
            ('add_items([say("c"), say("d")])', point, done, ["a", "b", "c", "d"])
            for point, done in ADDED
        ],
        *[("pop_item()", point, done, ["a"]) for point, done in CHANGED],
        *[("clear_session()", point, done, []) for point, done in CHANGED],
    ],
)
def test_a_write_of_a_session_is_whole_or_not_there(
    tmp_path: Path, write: str, point: str, done: bool, after: list[str]
) -> None:
    needs_files()
    agents = pytest.importorskip("day1.integrations.openai_agents")
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        before = [{"role": "user", "content": text} for text in ("a", "b")]
        asyncio.run(agents.Day1Session("talk", memory).add_items(before))
    run_killed(SESSION_WRITES.replace("WRITE", write), folder, point)
    with day1.connect(folder, settings=QUIET) as memory:
        assert contents(memory) == (after if done else ["a", "b"])
        asyncio.run(agents.Day1Session("talk", memory).add_items(before))
        assert contents(memory)[-2:] == ["a", "b"]


@pytest.mark.parametrize(("point", "done"), FORKED)
def test_a_branch_of_a_session_is_whole_or_can_be_made_again(
    tmp_path: Path, point: str, done: bool
) -> None:
    needs_files()
    agents = pytest.importorskip("day1.integrations.openai_agents")
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        session = agents.Day1Session("talk", memory)
        for text in ("a", "b"):
            asyncio.run(session.add_items([{"role": "user", "content": text}]))
    script = SESSION_WRITES.replace("WRITE", 'create_branch_from_turn(2, "other")')
    run_killed(script, folder, point)
    with day1.connect(folder, settings=QUIET) as memory:
        session = agents.Day1Session("talk", memory)
        branches = [each["branch_id"] for each in asyncio.run(session.list_branches())]
        assert branches == (["main", "other"] if done else ["main"])
        if not done:
            asyncio.run(session.create_branch_from_turn(2, "other"))
        assert (contents(memory), contents(memory, "other")) == (["a", "b"], ["a"])


@pytest.mark.parametrize(
    ("write", "point", "done", "after"),
    [
        *[
            ('put(("users",), "new", {"n": 2})', point, done, {"old": 1, "new": 2})
            for point, done in ADDED
        ],
        *[('put(("users",), "old", {"n": 3})', point, done, {"old": 3}) for point, done in CHANGED],
        *[('delete(("users",), "old")', point, done, {}) for point, done in CHANGED],
        *[
            (
                'batch([PutOp(("users",), key, value) for key, value in '
                '(("old", None), ("x", {"n": 4}), ("y", {"n": 5}))])',
                point,
                done,
                {"x": 4, "y": 5},
            )
            for point, done in CHANGED
        ],
    ],
)
def test_a_write_of_a_langgraph_store_is_whole_or_not_there(
    tmp_path: Path, write: str, point: str, done: bool, after: dict[str, int]
) -> None:
    needs_files()
    langgraph = pytest.importorskip("day1.integrations.langgraph")
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        langgraph.Day1Store(memory).put(("users",), "old", {"n": 1})
    run_killed(LANGGRAPH_WRITES.replace("WRITE", write), folder, point)
    with day1.connect(folder, settings=QUIET) as memory:
        items = langgraph.Day1Store(memory).search(("users",))
        assert {item.key: item.value["n"] for item in items} == (after if done else {"old": 1})


@pytest.mark.parametrize(
    ("command", "point", "done", "after"),
    [
        (command, *point, {key: text for key, text in after.items() if text is not None})
        for points, command, after in (
            (
                ADDED,
                {"command": "create", "path": "/memories/new/a", "file_text": "x"},
                {**FILES, "new/": "", "new/a": "x"},
            ),
            (
                CHANGED,
                {"command": "str_replace", "path": "/memories/d/a", "old_str": "1", "new_str": "x"},
                {**FILES, "d/a": "x"},
            ),
            (
                CHANGED,
                {
                    "command": "insert",
                    "path": "/memories/d/b",
                    "insert_line": 1,
                    "insert_text": "x",
                },
                {**FILES, "d/b": "2\nx\n"},
            ),
            (CHANGED, {"command": "delete", "path": "/memories/d/a"}, {**FILES, "d/a": None}),
            (CHANGED, {"command": "delete", "path": "/memories/d"}, {}),
            (
                CHANGED,
                {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e/f"},
                {"e/": "", "e/f/": "", "e/f/a": "1", "e/f/b": "2"},
            ),
        )
        for point in points
    ],
)
def test_a_command_of_the_memory_tool_is_whole_or_not_there(
    tmp_path: Path, command: dict[str, Any], point: str, done: bool, after: dict[str, str]
) -> None:
    needs_files()
    adapter = pytest.importorskip("day1.integrations.anthropic")
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        for name, text in (("a", "1"), ("b", "2")):
            made = {"command": "create", "path": f"/memories/d/{name}", "file_text": text}
            adapter.Day1MemoryTool(memory).call(made)
    run_killed(MEMORY_TOOL_WRITES.replace("COMMAND", repr(command)), folder, point)
    with day1.connect(folder, settings=QUIET) as memory:
        entries = memory.entries(under=("files", "memories"))
        texts = {entry.key: entry.value.get("text", "") for entry in entries}
        assert texts == (after if done else FILES)


@pytest.mark.parametrize(("point", "is_done"), CHANGED)
@pytest.mark.parametrize(
    ("write", "after"),
    [
        ('save("talk", "c", "d")', {"talk": "abcd"}),
        ('save("new", "c", "d")', {"talk": "ab", "new": "cd"}),
        ('branch("talk", 1)', {"talk": "a"}),
        ('store.fork("talk", at=1, new_conversation_id="fork")', {"talk": "ab", "fork": "a"}),
        ('store.delete("talk")', {}),
    ],
)
def test_a_write_of_a_store_of_conversations_is_whole_or_not_there(
    tmp_path: Path, point: str, is_done: bool, write: str, after: dict[str, str]
) -> None:
    needs_files()
    adapter = pytest.importorskip("day1.integrations.pydantic_ai")
    folder = tmp_path / "store"
    from tests.wires.pydantic_ai_talk import add, say

    with day1.connect(folder, settings=QUIET) as memory:
        asyncio.run(add(adapter.Day1ConversationStore(memory), "talk", say("a"), say("b")))
    run_killed(STORE_WRITES.replace("WRITE", write), folder, point)
    with day1.connect(folder, settings=QUIET) as memory:
        assert kept(memory) == (after if is_done else {"talk": "ab"})
        texts = "".join(after.values() if is_done else ["ab"])
        said = [
            row["content"]
            for conversation in memory.conversations()
            for row in memory.messages(conversation.conversation_id)
        ]
        # No message without a record that leads to it, but for the end that a branch left.
        assert set(said) - {"b"} == set(texts) - {"b"}


def kept(memory: day1.Memory) -> dict[str, str]:
    """What the conversations of a store of Pydantic AI have."""
    from day1.integrations.pydantic_ai import Day1ConversationStore

    store = Day1ConversationStore(memory)

    async def read() -> dict[str, str]:
        found = {}
        for record in await store.list_conversations():
            conversation = await store.load(record.conversation_id)
            assert conversation is not None
            parts = [part for message in conversation.messages for part in message.parts]
            found[record.conversation_id] = "".join(str(part.content) for part in parts)  # type: ignore[union-attr]  # every part here has content
        return found

    return asyncio.run(read())


def test_processes_with_threads_share_a_session_while_one_is_killed(tmp_path: Path) -> None:
    needs_files()
    pytest.importorskip("day1.integrations.openai_agents")
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        running = [
            subprocess.Popen(
                [*adapters_python(), "-c", TOGETHER, str(folder), str(number)],
                env=environment(),
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(PROCESSES)
        ]
        victim = running[0]
        assert victim.stdout is not None
        said = [victim.stdout.readline().strip() for _ in range(THREADS)]
        victim.kill()
        # Of the victim, `communicate` would leave out lines that were read together with those above.
        outputs = [
            victim.stdout.read(),
            *(each.communicate(timeout=300)[0] for each in running[1:]),
        ]
        victim.wait(timeout=300)
        assert [each.returncode for each in running] == [-signal.SIGKILL] + [0] * (PROCESSES - 1)
        acknowledged = [*said, *(line for output in outputs for line in output.split("\n") if line)]
        texts = contents(memory)
        assert len(texts) == len(set(texts))
        assert set(acknowledged) <= set(texts)
        pairs = list(zip(texts[::2], texts[1::2], strict=True))
        assert all(one.replace("first", "second") == other for one, other in pairs)
        assert len(pairs) - len(acknowledged) <= THREADS  # whole, but not acknowledged
