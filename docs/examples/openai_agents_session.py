"""A conversation of an agent, forked at its second turn; both ends are searched, then merged.

    pip install 'day1[openai-agents]'
    python openai_agents_session.py

It needs no model and no network, and leaves no file behind.
"""

import asyncio
import tempfile

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

import day1
from day1.integrations.openai_agents import Day1Session

set_tracing_disabled(True)  # else the SDK asks for a key of its traces
model = ScriptedModel()
agent = Agent(name="workshop", model=model)


async def ask(session, question, answer):
    """Run the agent; the stand-in for a model gives the answer."""
    model.enqueue([assistant_message(answer)])
    await Runner.run(agent, question, session=session)


def texts(items):
    """Return what was said."""
    return [
        item["content"] if isinstance(item["content"], str) else item["content"][0]["text"]
        for item in items
    ]


async def main(memory):
    """Talk, fork the conversation, search both ends, and merge."""
    session = Day1Session("lathe", memory)
    await ask(session, "When do I oil the lathe?", "Every Friday.")
    await ask(session, "And with which oil?", "Any machine oil.")

    await session.create_branch_from_turn(2, "again")
    await ask(session, "And with how much oil?", "Ten drops.")
    print("on the branch:", texts(await session.get_items()))
    print("would bring:", sorted(row["text"] for row in session.branch.preview().rows))

    hits = [memory.search_messages("oil"), session.branch.search_messages("oil")]
    print("found:", [sorted(hit.content for hit in some) for some in hits])

    session.branch.merge()
    await session.switch_to_branch("main")
    print("after the merge:", texts(await session.get_items()))


with (
    tempfile.TemporaryDirectory() as folder,
    day1.connect(folder, agent="workshop", settings={"embedder": {"kind": "none"}}) as memory,
):
    asyncio.run(main(memory))
