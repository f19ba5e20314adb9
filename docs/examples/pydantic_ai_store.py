"""A conversation of an agent, forked on a branch of the memory, looked at, then merged.

    pip install 'day1[pydantic-ai]'
    python pydantic_ai_store.py

It needs no model and no network, and leaves no file behind.
"""

import asyncio
import tempfile

from pydantic_ai import Agent, Conversation, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

import day1
from day1.integrations.pydantic_ai import Day1ConversationStore

ANSWERS = {"When do I oil the lathe?": "Every Friday.", "And with which oil?": "Any machine oil."}


def answer(messages, _info):
    """Stand in for a model."""
    question = messages[-1].parts[-1].content
    return ModelResponse(parts=[TextPart(ANSWERS.get(question, "Ten drops."))])


agent = Agent(FunctionModel(answer))


async def ask(store, name, question):
    """Run the agent in a conversation, and save what was said."""
    conversation = await store.load(name) or Conversation(conversation_id=name)
    await store.save(await agent.run(question, conversation=conversation))


async def said(store, name):
    """Return what was said."""
    return [part.content for each in (await store.load(name)).messages for part in each.parts]


async def main(memory):
    """Talk, fork the conversation on a branch, look at what it would bring, and merge."""
    store = Day1ConversationStore(memory)
    await ask(store, "lathe", "When do I oil the lathe?")
    await ask(store, "lathe", "And with which oil?")

    trial = Day1ConversationStore(memory, branch="trial")
    await trial.fork("lathe", at=2, new_conversation_id="again")
    await ask(trial, "again", "And how much oil?")
    print("not there yet:", await store.load("again"))
    print("would bring:", sorted(row["text"] for row in trial.memory_branch.preview().rows)[:2])
    trial.memory_branch.merge()
    print("after the merge:", await said(store, "again"))


with (
    tempfile.TemporaryDirectory() as folder,
    day1.connect(folder, agent="workshop", settings={"embedder": {"kind": "none"}}) as memory,
):
    asyncio.run(main(memory))
