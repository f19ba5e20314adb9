"""`Day1MemoryTool` answers as the SDK's own tool on a folder, word for word."""

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.lib.tools", reason="the extra `anthropic` is not installed")

import httpx2
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import day1
from day1.integrations.anthropic import Day1AsyncMemoryTool, Day1MemoryTool
from tests.wires.anthropic_commands import (
    Command,
    answer,
    create,
    delete,
    insert,
    rename,
    str_replace,
    view,
)
from tests.wires.python_places import QUIET

_numbers = itertools.count(1)

NAME = st.sampled_from(
    ["a", "b", "A", "a.txt", ".hidden", "%2e%2e", "b\\c", "é", "e\u0301", "漢 🐦", " ", "-", "~", "a\tb"]
)  # fmt: skip
PART = NAME | st.sampled_from(["a", "b", "..", ".", ""])
PATH = st.lists(PART, max_size=3).map(lambda parts: "/".join(["/memories", *parts]))
LINE = st.sampled_from(
    ["", "x", "xx", "yes\r", "\t", " ", "e\u0301", "\u2028", "\ufeff", "漢🐦", "\x85", "\x0c", "\r"]
)
TEXT = st.lists(LINE, max_size=5).map("\n".join)
RANGE = st.none() | st.lists(st.integers(-3, 8), max_size=3)
COMMAND = (
    st.builds(create, PATH, TEXT)
    | st.builds(create, PATH, TEXT)
    | st.builds(view, PATH, RANGE)
    | st.builds(str_replace, PATH, TEXT, TEXT)
    | st.builds(insert, PATH, st.integers(-1, 6), TEXT)
    | st.builds(delete, PATH)
    | st.builds(rename, PATH, PATH)
)


class Folder:
    """The SDK's tool on a folder, without what it leaves or raises where a disk refuses.

    The page lists these differences: a refused command changes nothing, and says what to do.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tool = BetaLocalFilesystemMemoryTool(str(folder))

    def call(self, command: dict[str, Any]) -> str:
        before = files(self.folder)
        try:
            return str(self._tool.call(command))
        except ToolError:
            self._restore(before)
            raise
        except OSError as exc:
            self._restore(before)
            raise ToolError(f"a disk refuses: {exc.errno}") from exc

    def _restore(self, before: dict[str, str | None]) -> None:
        for path in sorted(set(files(self.folder)) - set(before), reverse=True):
            (self.folder / "memories" / path).rmdir()
        assert files(self.folder) == before


def files(folder: Path) -> dict[str, str | None]:
    """The texts of the files of the SDK's tool by their paths; None of directories."""
    root = folder / "memories"
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes().decode()
        for path in root.rglob("*")
    }


def entries(memory: day1.Branch, name: str) -> dict[str, str | None]:
    """The same of the adapter's."""
    return {
        entry.key.removesuffix("/"): None if entry.key.endswith("/") else entry.value["text"]
        for entry in memory.entries(under=("files", name), limit=1_000)
    }


def comparable(said: str) -> str:
    """An answer without the sizes of directories, which are those of a disk."""
    if said.startswith("Here're the files"):
        head, first, *lines = said.split("\n")
        listed = [
            f"?\t{line.partition(chr(9))[2]}" if line.endswith("/") else line for line in lines
        ]
        return "\n".join([head, f"?\t{first.partition(chr(9))[2]}", *listed])
    return said


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    with day1.connect(tmp_path_factory.mktemp("tried") / "store", settings=QUIET) as memory:
        yield memory


REFUSED_BY_A_DISK = re.compile(
    r"error: (/memories/\S.* is a file, so .* cannot be in it: use another path\."
    r"|Cannot move .* into itself: give a path outside it\."
    r"|The path .* does not exist)",
    re.DOTALL,
)


def compare(memory: day1.Memory, folder: Path, commands: list[Command]) -> None:
    name = f"n{next(_numbers)}"
    ours, theirs = Day1MemoryTool(memory, name=name), Folder(folder / name)
    for command in (*commands, view("/memories")):
        our, their = answer(ours, command), answer(theirs, command)
        if their.startswith("error: a disk refuses"):
            assert REFUSED_BY_A_DISK.fullmatch(our), (command, our, their)
        else:
            assert comparable(our) == comparable(their), command
        assert entries(memory, name) == files(folder / name), command


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(COMMAND, min_size=1, max_size=10))
@example([create("/memories/a/b", "x"), delete("/memories/a/b"), view("/memories/a")])
@example([create("/memories/a/b/c", "x"), rename("/memories/a", "/memories/d/e")])
@example(
    [create("/memories/a", "x"), create("/memories/a/b"), rename("/memories/a", "/memories/a/c")]
)
@example([create("/memories/a/b"), rename("/memories/a", "/memories/a/c"), delete("/memories/a/")])
@example([create("/memories/a", "aaaa"), str_replace("/memories/a", "aa", "b")])
@example([create("/memories/a", ""), str_replace("/memories/a", "", "b")])
@example([create("/memories/../memories/./a//b/", "x"), view("/memories//"), view("/memories/..")])
def test_the_same_commands_have_the_same_answers_and_files(
    tried: day1.Memory, tmp_path: Path, commands: list[Command]
) -> None:
    compare(tried, tmp_path, commands)


STORY: list[Command] = [
    create("/memories/notes/lathe.txt", "Oil: Friday.\r\n\tBelt: May.\nZürich 漢 🐦 e\u0301"),
    create("/memories/notes/lathe.txt", "again"),
    create("/memories/notes", "a directory"),
    view("/memories"),
    view("/memories/notes/", [1, 2]),
    view("/memories/notes/lathe.txt", [2, -1]),
    str_replace("/memories/notes/lathe.txt", "Friday", "Monday"),
    str_replace("/memories/notes/lathe.txt", "o", "0"),
    str_replace("/memories/notes", "o", "0"),
    insert("/memories/notes/lathe.txt", 1, "Ten drops.\n\n"),
    insert("/memories/notes/lathe.txt", 9, "x"),
    rename("/memories/notes", "/memories/old/workshop"),
    rename("/memories/old", "/memories/old"),
    view("/memories/old/workshop"),
    delete("/memories/old/workshop/lathe.txt"),
    view("/memories"),
    delete("/memories/old"),
    delete("/memories/old"),
    delete("/memories/./"),
    rename("/memories", "/memories/x"),
    rename("/memories/x", "/memories"),
    view("/etc/passwd"),
    view("/memories/../etc"),
    view("/memories"),
]


def test_the_same_story_is_the_same_in_a_folder_and_over_http(
    memory: day1.Memory, tmp_path: Path
) -> None:
    compare(memory, tmp_path, STORY)


def test_the_async_tool_answers_as_the_other_one(memory: day1.Memory) -> None:
    sync_tool = Day1MemoryTool(memory, name="sync")
    async_tool = Day1AsyncMemoryTool(memory, name="async")

    async def said(command: Command) -> str:
        try:
            return str(await async_tool.call(dict(command)))
        except ToolError as exc:
            return f"error: {exc}"

    async def compare_all() -> None:
        for command in STORY:
            assert await said(command) == answer(sync_tool, command)
        assert await async_tool.clear_all_memory() == sync_tool.clear_all_memory()

    asyncio.run(compare_all())
    assert [async_tool.to_dict(), sync_tool.to_dict()] == [
        {"type": "memory_20250818", "name": "memory"}
    ] * 2


def test_a_cancelled_command_is_done_when_the_cancellation_comes(memory: day1.Memory) -> None:
    tool = Day1AsyncMemoryTool(memory)

    async def work() -> str:
        task = asyncio.create_task(tool.call(dict(create("/memories/a", "x"))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return str(await tool.call(dict(view("/memories/a"))))

    assert asyncio.run(work()).endswith("\n     1\tx")


@pytest.mark.parametrize("client", ["sync", "async"])
def test_the_tool_runner_gives_answers_and_refusals_to_the_model(
    memory: day1.Memory, client: str
) -> None:
    commands = [create("/memories/a", "x"), create("/memories/a", "y"), view("/memories/a")]
    calls: list[Any] = [
        {"type": "tool_use", "id": f"t{number}", "name": "memory", "input": command}
        for number, command in enumerate(commands)
    ]
    turns = iter([*(("tool_use", [call]) for call in calls), ("end_turn", [])])
    heard: list[Any] = []

    def said(request: httpx2.Request) -> httpx2.Response:
        heard.extend(json.loads(request.content)["messages"][-1:])
        reason, content = next(turns)
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"role": "assistant", "stop_reason": reason, "content": content, "usage": usage}
        return httpx2.Response(200, json={"id": "m", "type": "message", "model": "m", **message})

    transport = httpx2.MockTransport(said)
    options: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
    if client == "sync":
        http = httpx2.Client(transport=transport)
        runner = Anthropic(api_key="none", http_client=http).beta.messages.tool_runner(
            tools=[Day1MemoryTool(memory)], **options
        )
        runner.until_done()
    else:

        async def work() -> None:
            http = httpx2.AsyncClient(transport=transport)
            runner = AsyncAnthropic(api_key="none", http_client=http).beta.messages.tool_runner(
                tools=[Day1AsyncMemoryTool(memory)], **options
            )
            await runner.until_done()

        asyncio.run(work())
    results = [message["content"][0] for message in heard[1:]]
    assert [(each["content"], each.get("is_error", False)) for each in results] == [
        ("File created successfully at: /memories/a", False),
        ("File /memories/a already exists", True),
        ("Here's the content of /memories/a with line numbers:\n     1\tx", False),
    ]
