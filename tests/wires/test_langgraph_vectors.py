"""LangGraph's store with an embedding of the graph: its vectors are kept, and `score` is the cosine."""

import asyncio
import math
import random
from typing import Any

import pytest

pytest.importorskip("langgraph.store.memory", reason="the extra `langgraph` is not installed")

from langgraph.store.base import PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import day1
from day1 import errors
from day1.integrations.langgraph import Day1Store

DOCS = ("docs",)
LETTERS = "abcde"


def embed(texts: list[str]) -> list[list[float]]:
    """Vectors of the numbers of a few letters; a text without them has the direction of none."""
    return [[*(float(text.count(letter)) for letter in LETTERS), 0.1] for text in texts]


async def aembed(texts: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return embed(texts)


def index(**more: Any) -> Any:
    return {"dims": len(LETTERS) + 1, "embed": embed, **more}


def found(store: Any, query: str | None, **more: Any) -> list[tuple[str, float | None]]:
    return [
        (item.key, None if item.score is None else round(item.score, 5))
        for item in store.search(DOCS, query=query, **more)
    ]


@pytest.mark.parametrize("fields", [None, ["text"], ["text", "parts[*].t"]])
def test_answers_are_those_of_the_store_in_memory(
    memory: day1.Memory, fields: list[str] | None
) -> None:
    given = index() if fields is None else index(fields=fields)
    ours, theirs = Day1Store(memory, index=given), InMemoryStore(index=given)
    drawn = random.Random(4)

    def text() -> str:
        return "".join(drawn.choices(LETTERS, k=drawn.randint(1, 9)))

    for number in range(25):
        value = {"text": text(), "n": number, "parts": [{"t": text()} for _ in range(number % 3)]}
        kinds: list[Any] = [None, None, False, ["text"], ["parts[*].t", "text"]]
        indexed = drawn.choice(kinds)
        for store in (ours, theirs):
            store.put((*DOCS, str(number % 2)), f"k{number % 15}{number % 2}", value, index=indexed)
    for query in ("a", "bbc", "edcba", "aaaaae"):
        for more in ({}, {"filter": {"n": {"$gt": 12}}}):
            expected = dict(found(theirs, query, limit=50, **more))
            answer = found(ours, query, limit=50, **more)
            assert dict(answer) == pytest.approx(expected, abs=1e-4)
            scores = [score for _, score in answer if score is not None]
            assert scores == sorted(scores, reverse=True)
            assert all(score is None for _, score in answer[len(scores) :])
            pages = [found(ours, query, limit=4, offset=n, **more) for n in range(0, 40, 4)]
            assert [one for page in pages for one in page] == answer


def test_vectors_go_with_their_branch_and_their_past(memory: day1.Memory) -> None:
    store = Day1Store(memory, index=index())
    store.put(DOCS, "a", {"text": "aaa"}, index=["text"])
    before = store.get(DOCS, "a")
    assert before is not None
    trial = store.on(f"{memory.name}/trial")
    trial.put(DOCS, "a", {"text": "bbb"}, index=["text"])
    trial.put(DOCS, "b", {"text": "ccc"}, index=["text"])
    assert found(trial, "b")[0][0] == "a"
    near, far = found(trial, "b")[0][1], found(store, "b")[0][1]
    assert near is not None
    assert far is not None
    assert near > 0.9 > 0.1 > far
    assert store.merge(f"{memory.name}/trial").held_count == 0
    assert found(store, "b") == found(trial, "b")
    assert found(store.as_of(before.updated_at), "b") == [("a", far)]


def test_an_embedding_that_is_awaited_is_awaited(memory: day1.Memory) -> None:
    store = Day1Store(memory, index=index(embed=aembed))

    async def used() -> list[Any]:
        await store.abatch(
            [PutOp(DOCS, f"k{letter}", {"text": letter * 3}, ["text"]) for letter in LETTERS]
        )
        items: Any = (await store.abatch([SearchOp(DOCS, query="ccc", limit=1)]))[0]
        return list(items)

    assert [item.key for item in asyncio.run(used())] == ["kc"]


def test_what_an_embedding_gives_wrongly_is_said_and_nothing_is_written(
    memory: day1.Memory,
) -> None:
    for wrong, says in (
        (lambda texts: [[1.0, 2.0] for _ in texts], "`dims` is 6"),
        (lambda texts: embed(texts)[1:], "0 vectors for 1 texts"),
    ):
        store = Day1Store(memory, index=index(embed=wrong))
        with pytest.raises(ValueError, match=says):
            store.put(DOCS, "a", {"text": "aaa"})
    for number in (math.nan, math.inf, 1e300):
        store = Day1Store(
            memory, index={"dims": 1, "embed": lambda ts, n=number: [[n] for _ in ts]}
        )
        with pytest.raises(errors.InvalidRequest):
            store.put(DOCS, "a", {"text": "aaa"})
    assert Day1Store(memory).get(DOCS, "a") is None
    assert not Day1Store(memory).search(())


def test_a_text_without_a_direction_has_no_vector(memory: day1.Memory) -> None:
    given: Any = {"dims": 1, "embed": lambda texts: [[float(text.count("a"))] for text in texts]}
    store = Day1Store(memory, index=given)
    store.put(DOCS, "a", {"text": "aaa"}, index=["text"])
    store.put(DOCS, "b", {"text": "bbb"}, index=["text"])
    assert found(store, "a") == [("a", 1.0), ("b", None)]
    assert dict(found(store, "nothing")) == {"a": None, "b": None}


def test_a_persons_text_and_a_redaction_take_the_vector_away(memory: day1.Memory) -> None:
    store = Day1Store(memory, index=index())
    for key in "ab":
        store.put(DOCS, key, {"text": f"aaa{key}"}, index=["text"])
    rows = {entry.key: entry.id for entry in memory.entries()}
    memory.redact(rows["a"], reason="a secret", confirm=rows["a"])
    assert [key for key, _ in found(store, "a")] == ["b"]
    trial = memory.create_branch(f"{memory.name}/trial")
    store.put(DOCS, "b", {"text": "bbb"}, index=["text"])
    Day1Store(trial, index=index()).put(DOCS, "b", {"text": "ccc"}, index=["text"])
    (held,) = trial.merge().held()
    held.decide("value", {"summary": "Something else."})
    assert found(store, "a") == [("b", None)]


def test_entries_are_found_by_a_query_or_a_vector(memory: day1.Memory) -> None:
    memory.set("k", {"n": 1}, space="shop", vectors=[[1.0, 0.0], [0.0, 1.0]])
    with memory.batch() as batch:
        batch.set("l", {"n": 2}, space="shop", vectors=[[-1.0, 1.0]])
    entries = memory.entries(under="shop", vector=[1.0, 0.0])
    assert [(entry.key, round(entry.score or 0, 3)) for entry in entries] == [
        ("k", 1.0),
        ("l", -0.707),
    ]
    assert entries.total == 2
    with pytest.raises(errors.InvalidRequest, match="cannot be given together"):
        memory.entries(query="n", vector=[1.0, 0.0])
    wrong: list[list[list[float]]] = [[[1.0], [1.0, 2.0]], [], [[]], [[0.0, 0.0]], [[1.0] * 4_097]]
    for vectors in wrong:
        with pytest.raises(errors.InvalidRequest):
            memory.set("k", {"n": 1}, space="shop", vectors=vectors)
