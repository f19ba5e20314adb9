"""Values of entries: a get of 8 MiB beside a file of that size, and of 32 KB beside one of 1 KB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import day1
from benchmarks.bench import Bench
from benchmarks.report import Row, quotient

_LONGEST: Final = 8 * 1024 * 1024
_ROUNDS: Final = 15
"""Reads of each kind, by turns."""
_LINE: Final = "The lathe needs oil. "
_SPACE: Final = "bench:values"


def rows(bench: Bench, memory: day1.Memory) -> Iterator[Row]:
    """A value of 32 KB beside one of 1 KB, and one of 8 MiB beside a file with its JSON.

    The longest is put last, since a few rows beside it are read with it.
    """
    _put(memory, "32 KB", 32_000)
    _put(memory, "1 KB", 1_000)
    count = bench.sizes.calls
    above, below = bench.few_by_turns(
        count, lambda _: _get(memory, "32 KB"), lambda _: _get(memory, "1 KB")
    )
    yield quotient("get of a value of 32 KB", above, below, 2, "that of 1 KB")
    file = bench.folder / "value.json"
    file.write_text(json.dumps(_put(memory, "8 MiB", _LONGEST)), encoding="utf-8")
    above, below = bench.few_by_turns(
        _ROUNDS, lambda _: _get(memory, "8 MiB"), lambda _: file.read_text(encoding="utf-8")
    )
    yield quotient("get of a value of 8 MiB", above, below, 10, "a file's of that size")


def _put(memory: day1.Memory, key: str, size: int) -> dict[str, str]:
    """Put a value whose JSON has so many bytes, and return it."""
    text = (_LINE * (size // len(_LINE) + 1))[: size - len('{"text":""}')]
    memory.set(key, {"text": text}, space=_SPACE)
    return {"text": text}


def _get(memory: day1.Memory, key: str) -> object:
    return memory.get(key, space=_SPACE)
