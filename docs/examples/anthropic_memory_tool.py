"""Two agents edit one memory file on two branches; both edits are merged, and blame names who.

    pip install 'day1[anthropic]'
    python anthropic_memory_tool.py

It needs no model and no network, and leaves no file behind.
"""

import tempfile

import httpx2
from anthropic import Anthropic

import day1
from day1.integrations.anthropic import Day1MemoryTool

PATH = "/memories/lathe.md"
TEXT = "Oil: Friday.\nBelt: May.\nSpeed: 900.\n"


def model(command):
    """Stand in for Claude: it calls the memory tool with a command, then it is done."""
    call = {"type": "tool_use", "id": "t1", "name": "memory", "input": command}
    turns = iter([("tool_use", [call]), ("end_turn", [])])

    def answer(_):
        reason, content = next(turns)
        usage = {"input_tokens": 1, "output_tokens": 1}
        said = {"role": "assistant", "stop_reason": reason, "content": content, "usage": usage}
        return httpx2.Response(200, json={"id": "m", "type": "message", "model": "m", **said})

    transport = httpx2.MockTransport(answer)
    return Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))


def work(folder, agent, branch=None, **command):
    """Let an agent work with the memory tool; print the file."""
    with day1.connect(folder, agent=agent, settings={"embedder": {"kind": "none"}}) as memory:
        tool = Day1MemoryTool(memory, branch=branch)
        talk = [{"role": "user", "content": "Look after the lathe."}]
        options = {"model": "m", "max_tokens": 99, "messages": talk, "tools": [tool]}
        model({"path": PATH, **command}).beta.messages.tool_runner(**options).until_done()
        text = tool.call({"command": "view", "path": PATH}).partition("\n")[2]
        print(f"{agent} on {tool.branch.name}:\n{text}")


with tempfile.TemporaryDirectory() as folder:
    work(folder, "ann", command="create", file_text=TEXT)
    work(folder, "ann", "ann", command="str_replace", old_str="Friday", new_str="Monday")
    work(folder, "bob", "bob", command="insert", insert_line=3, insert_text="Chuck: new.")
    with day1.connect(folder, agent="carla", settings={"embedder": {"kind": "none"}}) as memory:
        held = [len(memory.branch(name).merge().held()) for name in ("ann", "bob")]
        print("held:", held)
        tool = Day1MemoryTool(memory)
        print(tool.call({"command": "view", "path": PATH}).partition("\n")[2])
        for part in tool.blame(PATH).lines:
            print(f"lines {part.first} to {part.last}: {part.agent_id} on {part.branch}")
