"""An agent that is told what the memory knows, goes on with a session on a branch, and is merged.

    pip install 'day1[agent-framework]'
    python agent_framework_history.py

It needs no model and no network, and leaves no file behind.
"""

import asyncio
import tempfile

import agent_framework as af

import day1
from day1.integrations.agent_framework import Day1Context, Day1History


class StandIn(af.FunctionInvocationLayer, af.BaseChatClient):
    """Stand in for a model: it repeats the first fact that it was told."""

    def _inner_get_response(self, *, messages, **_):
        async def respond():
            lines = [line for message in messages for line in message.text.splitlines()]
            fact = next(line for line in lines if line.startswith("- ")).partition(" (")[0]
            return af.ChatResponse(messages=[af.Message("assistant", [f"I know: {fact[2:]}"])])

        return respond()


def helper(memory, branch=None):
    """Make an agent whose history and knowledge are on a branch of the memory."""
    providers = [Day1History(memory, branch=branch), Day1Context(memory, branch=branch)]
    return af.Agent(StandIn(), name="helper", context_providers=providers)


async def main(memory):
    """Ask twice, the second time on a branch, look at what it would bring, and merge."""
    memory.add("The lathe needs oil every Friday.")
    answer = await helper(memory).run("When?", session=af.AgentSession(session_id="lathe"))
    print(answer.text)

    trial = helper(memory, branch="trial")
    await trial.run("And the drill?", session=af.AgentSession(session_id="lathe"))
    history, branch = Day1History(memory), memory.branch("trial")
    print("not there yet:", len(await history.get_messages("lathe")), "messages")
    print("would bring:", [row["text"] for row in branch.preview().rows])
    branch.merge()
    print("after the merge:", [message.text for message in await history.get_messages("lathe")])


with (
    tempfile.TemporaryDirectory() as folder,
    day1.connect(folder, settings={"embedder": {"kind": "none"}}) as memory,
):
    asyncio.run(main(memory))
