"""`Day1MemoryTool` against the Anthropic SDK's own tool on a folder, by turns in one process."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any, Final

import day1
from benchmarks.bench import Bench
from benchmarks.report import Row, quotient, skipped

_MOST: Final = 100
"""Calls of each kind: each is durable before it ends, which the disk takes its time for."""
_TEXT: Final = "The lathe needs oil.\n" * 40
_WHAT: Final = "the SDK's folder's"

Command = Callable[[int], dict[str, Any]]
"""A command; the number makes it another one each time."""

_COMMANDS: Final[dict[str, tuple[Command, float | None]]] = {
    "a file created": (
        lambda n: {"command": "create", "path": f"/memories/new/{n}.txt", "file_text": _TEXT},
        1.5,
    ),
    "a line inserted": (
        lambda n: {
            "command": "insert", "path": "/memories/kept/7.txt", "insert_line": 0,
            "insert_text": f"Note {n}.",
        },
        3,
    ),
    "a text replaced": (
        lambda n: {
            "command": "str_replace", "path": "/memories/kept/8.txt", "old_str": f"Number {n}.",
            "new_str": f"Number {n + 1}.",
        },
        3,
    ),
    "a file viewed": (lambda n: {"command": "view", "path": f"/memories/kept/{n}.txt"}, None),
}  # fmt: skip
"""The command, and the most of its time by the time of the same command of the SDK's tool."""


def rows(bench: Bench, memory: day1.Memory) -> Iterator[Row]:
    """A row for each command, on two tools with the same files."""
    try:
        sdk = importlib.import_module("anthropic.lib.tools._beta_builtin_memory_tool")
        adapter = importlib.import_module("day1.integrations.anthropic")
    except ImportError as exc:
        yield skipped("the memory tool of the Anthropic SDK", "stated", f"{exc.name} is missing")
        return
    folder = bench.folder / "memory-files"
    shutil.rmtree(folder, ignore_errors=True)
    tools = (adapter.Day1MemoryTool(memory), sdk.BetaLocalFilesystemMemoryTool(str(folder)))
    count = min(_MOST, bench.sizes.calls)
    for tool in tools:
        for number in range(count + 1):
            path, text = f"/memories/kept/{number}.txt", f"Number 0.\n{_TEXT}"
            tool.call({"command": "create", "path": path, "file_text": text})
    for name, (command, limit) in _COMMANDS.items():
        numbers = [0, 0]

        def call(side: int, command: Command = command, numbers: list[int] = numbers) -> object:
            numbers[side] += 1
            return tools[side].call(command(numbers[side] - 1))

        above, below = bench.few_by_turns(count, lambda _: call(0), lambda _: call(1))
        yield quotient(f"memory tool, {name}", above, below, limit, _WHAT)
