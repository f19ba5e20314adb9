"""Agent Framework's providers in a process that is killed: each write is whole or was not begun."""

import asyncio
from pathlib import Path

import pytest

import day1
from tests.engine import needs_files
from tests.flows.test_killed_adapters import ADDED, run_killed
from tests.flows.test_python_processes import QUIET

pytestmark = pytest.mark.xdist_group("killed_adapters")

SAVES = """
import asyncio, sys
import day1
from agent_framework import Message
from day1.integrations.agent_framework import Day1History

memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}})
messages = [Message("user", ["c"]), Message("assistant", ["d"])]
asyncio.run(Day1History(memory).save_messages(SESSION, messages))
"""
RECORDS = """
import asyncio, sys
import day1
from agent_framework import Agent, AgentSession
from day1.integrations.agent_framework import PROVIDER
from tests.wires.agent_framework_talk import StandIn

memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}})
agent = Agent(StandIn(), context_providers=[PROVIDER(memory)])
asyncio.run(agent.run("c", session=AgentSession(session_id="talk")))
"""


@pytest.mark.parametrize(("point", "is_done"), ADDED)
@pytest.mark.parametrize(
    ("script", "after"),
    [
        (SAVES.replace("SESSION", "'talk'"), {"talk": ["a", "b", "c", "d"]}),
        (SAVES.replace("SESSION", "'new'"), {"talk": ["a", "b"], "new": ["c", "d"]}),
        (RECORDS.replace("PROVIDER", "Day1History"), {"talk": ["a", "b", "c", "told"]}),
        (RECORDS.replace("PROVIDER", "Day1Context"), {"talk": ["a", "b", "c", "told"]}),
    ],
    ids=["save", "save a new one", "run with history", "run with context"],
)
def test_what_a_provider_writes_is_whole_or_not_there(
    tmp_path: Path, point: str, is_done: bool, script: str, after: dict[str, list[str]]
) -> None:
    needs_files()
    adapter = pytest.importorskip("day1.integrations.agent_framework")
    from tests.wires.agent_framework_talk import say, texts

    folder = tmp_path / "store"
    before = [say("a"), say("b", "assistant")]
    with day1.connect(folder, settings=QUIET) as memory:
        asyncio.run(adapter.Day1History(memory).save_messages("talk", before))
    run_killed(script, folder, point)
    with day1.connect(folder, settings=QUIET) as memory:
        history = adapter.Day1History(memory)
        for session, whole in after.items():
            saved = texts(asyncio.run(history.get_messages(session)))
            saved = ["told" if text.startswith("I was told") else text for text in saved]
            assert saved == (whole if is_done else ["a", "b"] if session == "talk" else [])
        asyncio.run(history.save_messages("talk", [say("once more")]))
        assert texts(asyncio.run(history.get_messages("talk")))[-1] == "once more"
